//! The CPU's cache instructions, and the choice of those to use.
#![deny(unsafe_code)]

use std::ffi::{OsStr, OsString};
use std::sync::OnceLock;

use super::LineOp;
use super::cpu::Cpu;
use super::span::LastLine;
use crate::error::{OpenError, Result};
use crate::units::LINE_BYTES;
use crate::vocabulary::words;
use gem_coherency_rules::Unknown;

/// The environment variable that limits the instructions: at most one word each of [`Instruction`],
/// [`StoreInstruction`] and [`LoadInstruction`], separated by commas: `clflushopt,movntdq`.
pub const OVERRIDE: &str = "GEM_COHERENCY_CACHEOPS";

words! {
    /// A cache-line instruction, in ascending order of preference.
    Instruction, "cache instruction in GEM_COHERENCY_CACHEOPS" {
        /// Flushes a line, ordered with other CLFLUSHes; every x86_64 CPU has it.
        Clflush = "clflush",
        /// Flushes a line, unordered with other lines.
        Clflushopt = "clflushopt",
        /// Writes a line back; the line may stay cached.
        Clwb = "clwb",
    }
}

words! {
    /// The instruction that stores whole lines around the cache, in ascending order of preference.
    StoreInstruction, "store instruction in GEM_COHERENCY_CACHEOPS" {
        /// None: ordinary stores, and every line is written back.
        Mov = "mov-store",
        /// Non-temporal stores of 16 bytes (SSE2).
        Sse2 = "movntdq",
        /// Non-temporal stores of 32 bytes (AVX).
        Avx = "vmovntdq-ymm",
        /// Non-temporal stores of a line (AVX-512F).
        Avx512 = "vmovntdq-zmm",
    }
}

words! {
    /// The instruction that loads from write-combining memory, in ascending order of preference.
    LoadInstruction, "load instruction in GEM_COHERENCY_CACHEOPS" {
        /// Ordinary loads, each a separate memory read.
        Mov = "mov-load",
        /// Streaming loads, which read memory by lines (SSE4.1).
        Movntdqa = "movntdqa",
    }
}

/// The instructions that the CPU has, and those that are used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Support {
    /// Bytes per cache line, as reported by the CPU.
    pub line_bytes: u64,
    /// The CPU has CLFLUSHOPT.
    pub clflushopt: bool,
    /// The CPU has CLWB.
    pub clwb: bool,
    /// The limit of [`OVERRIDE`] for cache-line instructions, if any.
    pub overridden: Option<Instruction>,
    /// The instruction that flushes and invalidates.
    pub flush_by: Instruction,
    /// The instruction that writes back.
    pub write_back_by: Instruction,
    /// An invalidate touches the last line twice, as Atoms require.
    pub repeats_last_line: bool,
    /// The limit of [`OVERRIDE`] for stores, if any.
    pub store_overridden: Option<StoreInstruction>,
    /// The instruction that stores around the cache.
    pub store_by: StoreInstruction,
    /// The limit of [`OVERRIDE`] for loads, if any.
    pub load_overridden: Option<LoadInstruction>,
    /// The instruction that loads from write-combining memory.
    pub load_by: LoadInstruction,
}

/// The limits set by the environment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Limits {
    line: Option<Instruction>,
    store: Option<StoreInstruction>,
    load: Option<LoadInstruction>,
}

/// The words that [`OVERRIDE`] accepts.
const WORDS: &[&str] = &[
    Instruction::Clflush.name(),
    Instruction::Clflushopt.name(),
    Instruction::Clwb.name(),
    StoreInstruction::Mov.name(),
    StoreInstruction::Sse2.name(),
    StoreInstruction::Avx.name(),
    StoreInstruction::Avx512.name(),
    LoadInstruction::Mov.name(),
    LoadInstruction::Movntdqa.name(),
];

impl Limits {
    /// Parses the variable's value.
    fn parse(value: &OsStr, cpu: &Cpu) -> Result<Self> {
        let value = value.to_string_lossy();
        let mut limits = Self::default();
        for word in value.split(',') {
            if let Ok(instruction) = word.parse() {
                set(&mut limits.line, instruction, instruction.name(), cpu.has(instruction))?;
            } else if let Ok(instruction) = word.parse() {
                set(&mut limits.store, instruction, instruction.name(), cpu.has_store(instruction))?;
            } else if let Ok(instruction) = word.parse() {
                set(&mut limits.load, instruction, instruction.name(), cpu.has_load(instruction))?;
            } else {
                let what = "instruction in GEM_COHERENCY_CACHEOPS";
                return Err(Unknown::word(what, word, WORDS).into());
            }
        }
        Ok(limits)
    }
}

/// Sets a limit to an instruction, which the CPU must have.
fn set<T>(limit: &mut Option<T>, instruction: T, name: &'static str, has: bool) -> Result<()> {
    if !has {
        return Err(OpenError::NoCacheInstruction { variable: OVERRIDE, instruction: name }.into());
    }
    match limit.replace(instruction) {
        None => Ok(()),
        Some(_) => Err(OpenError::TwoCacheInstructions { variable: OVERRIDE, instruction: name }.into()),
    }
}

/// Returns the last of `candidates` that the CPU has and that does not exceed `limit`.
fn best<T: Copy + Ord>(candidates: &[T], limit: Option<T>, has: impl Fn(T) -> bool) -> Option<T> {
    let allowed = |one: T| limit.is_none_or(|limit| one <= limit);
    candidates.iter().copied().filter(|&one| allowed(one) && has(one)).max()
}

/// Chooses the instructions for `cpu` with `value` in the environment.
fn choose(cpu: &Cpu, value: Option<&OsStr>) -> Result<Support> {
    let limits = value.map(|value| Limits::parse(value, cpu)).transpose()?.unwrap_or_default();
    if cpu.line_bytes != LINE_BYTES {
        return Err(OpenError::CacheLineSize { bytes: cpu.line_bytes }.into());
    }
    let flushes = &[Instruction::Clflush, Instruction::Clflushopt];
    let line = |candidates| best(candidates, limits.line, |one| cpu.has(one)).unwrap_or(FALLBACK.flush_by);
    let store = best(StoreInstruction::ALL, limits.store, |one| cpu.has_store(one));
    let load = best(LoadInstruction::ALL, limits.load, |one| cpu.has_load(one));
    Ok(Support {
        line_bytes: cpu.line_bytes,
        clflushopt: cpu.clflushopt,
        clwb: cpu.clwb,
        overridden: limits.line,
        flush_by: line(flushes),
        write_back_by: line(Instruction::ALL),
        repeats_last_line: cpu.model.repeats_last_line(),
        store_overridden: limits.store,
        store_by: store.unwrap_or(FALLBACK.store_by),
        load_overridden: limits.load,
        load_by: load.unwrap_or(FALLBACK.load_by),
    })
}

/// The instructions that every CPU has.
const FALLBACK: Support = Support {
    line_bytes: LINE_BYTES,
    clflushopt: false,
    clwb: false,
    overridden: None,
    flush_by: Instruction::Clflush,
    write_back_by: Instruction::Clflush,
    repeats_last_line: true,
    store_overridden: None,
    store_by: StoreInstruction::Mov,
    load_overridden: None,
    load_by: LoadInstruction::Mov,
};

/// Returns the CPU's instructions and those that are used, decided at the first call.
///
/// # Errors
/// [`Unknown::Word`] for a word in [`OVERRIDE`] that is not an instruction;
/// [`OpenError::NoCacheInstruction`] for one that the CPU lacks; [`OpenError::TwoCacheInstructions`] for two of the
/// same kind; [`OpenError::CacheLineSize`] if the CPU's lines do not have [`LINE_BYTES`] bytes.
pub fn support() -> Result<Support> {
    decided().clone()
}

fn decided() -> &'static Result<Support> {
    static SUPPORT: OnceLock<Result<Support>> = OnceLock::new();
    SUPPORT.get_or_init(|| {
        let value: Option<OsString> = std::env::var_os(OVERRIDE);
        let support = choose(&Cpu::detect(), value.as_deref());
        tracing::debug!(?support, "cache instructions");
        support
    })
}

/// Returns the choice; if [`support`] returns an error, that of every CPU.
#[inline]
pub(crate) fn chosen() -> &'static Support {
    decided().as_ref().unwrap_or(&FALLBACK)
}

impl Support {
    /// Returns the instruction that performs `op`.
    pub(super) fn by(&self, op: LineOp) -> Instruction {
        match op {
            LineOp::WriteBack => self.write_back_by,
            LineOp::Flush | LineOp::Invalidate => self.flush_by,
        }
    }

    /// Returns how many times `op` touches the last line of a range.
    pub(super) fn last_line(&self, op: LineOp) -> LastLine {
        match op {
            LineOp::WriteBack | LineOp::Flush => LastLine::Once,
            LineOp::Invalidate if self.repeats_last_line => LastLine::Twice,
            LineOp::Invalidate => LastLine::Once,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::cpu::Model;
    use super::*;
    use Instruction::{Clflush, Clflushopt, Clwb};

    const ATOM: Cpu = Cpu {
        line_bytes: 64,
        clflushopt: false,
        clwb: false,
        sse4_1: true,
        sse4_2: true,
        avx: false,
        avx512f: false,
        model: Model { intel: true, family: 6, model: 0x37, hybrid: false, virtual_machine: false },
    };
    const CORE2: Cpu = Cpu { sse4_1: false, sse4_2: false, ..ATOM };
    const SKYLAKE: Cpu = Cpu { clflushopt: true, avx: true, ..ATOM };
    const TIGERLAKE: Cpu =
        Cpu { clwb: true, avx512f: true, model: Model { model: 0x8c, ..ATOM.model }, ..SKYLAKE };

    fn chosen(cpu: Cpu, value: Option<&str>) -> Support {
        choose(&cpu, value.map(OsStr::new)).unwrap()
    }

    #[track_caller]
    fn case(cpu: Cpu, value: Option<&str>, flush_by: Instruction, write_back_by: Instruction) {
        let support = chosen(cpu, value);
        assert_eq!((support.flush_by, support.write_back_by), (flush_by, write_back_by));
    }

    #[test]
    fn the_best_instruction_is_used_unless_the_override_limits_it() {
        case(ATOM, None, Clflush, Clflush);
        case(SKYLAKE, None, Clflushopt, Clflushopt);
        case(TIGERLAKE, None, Clflushopt, Clwb);
        case(TIGERLAKE, Some("clwb"), Clflushopt, Clwb);
        case(TIGERLAKE, Some("clflushopt"), Clflushopt, Clflushopt);
        case(TIGERLAKE, Some("clflush"), Clflush, Clflush);
        case(TIGERLAKE, Some("movntdq,clflush,mov-load"), Clflush, Clflush);
    }

    #[test]
    fn the_widest_store_and_the_streaming_load_are_used_unless_limited() {
        use LoadInstruction::Movntdqa;
        use StoreInstruction::{Avx, Avx512, Mov, Sse2};
        let case = |cpu, value, store, load| {
            let support = chosen(cpu, value);
            assert_eq!((support.store_by, support.load_by), (store, load), "{value:?}");
        };
        case(CORE2, None, Mov, LoadInstruction::Mov);
        case(ATOM, None, Sse2, Movntdqa);
        case(SKYLAKE, None, Avx, Movntdqa);
        case(TIGERLAKE, None, Avx512, Movntdqa);
        case(TIGERLAKE, Some("vmovntdq-ymm"), Avx, Movntdqa);
        case(TIGERLAKE, Some("clwb,movntdq"), Sse2, Movntdqa);
        case(TIGERLAKE, Some("mov-store,mov-load"), Mov, LoadInstruction::Mov);
    }

    #[test]
    fn clwb_never_flushes_because_it_keeps_a_stale_line() {
        case(Cpu { clflushopt: false, ..TIGERLAKE }, None, Clflush, Clwb);
    }

    #[test]
    fn only_an_invalidate_repeats_the_last_line_and_only_where_an_atom_may_be() {
        for (cpu, invalidate) in [(ATOM, LastLine::Twice), (TIGERLAKE, LastLine::Once)] {
            let support = chosen(cpu, None);
            assert_eq!(support.last_line(LineOp::Invalidate), invalidate);
            assert_eq!(support.last_line(LineOp::Flush), LastLine::Once);
            assert_eq!(support.last_line(LineOp::WriteBack), LastLine::Once);
        }
    }

    #[test]
    fn a_bad_override_is_an_error_that_names_it() {
        let text = |cpu: Cpu, value| choose(&cpu, Some(OsStr::new(value))).unwrap_err().to_string();
        for (value, word) in [
            ("", ""),
            ("CLWB", "CLWB"),
            ("wbinvd", "wbinvd"),
            ("clwb ", "clwb "),
            ("clwb,", ""),
            ("clwb;movntdq", "clwb;movntdq"),
            ("movntdq,avx", "avx"),
        ] {
            let text = text(TIGERLAKE, value);
            assert!(text.contains(&format!("'{word}'")) && text.contains(OVERRIDE), "{text}");
            assert!(WORDS.iter().all(|known| text.contains(known)), "{text}");
        }
        for (cpu, value) in
            [(SKYLAKE, "clwb"), (SKYLAKE, "vmovntdq-zmm"), (CORE2, "movntdq"), (CORE2, "movntdqa")]
        {
            let text = text(cpu, value);
            assert!(
                text.contains("this CPU does not have") && text.contains(value) && text.contains(OVERRIDE),
                "{text}"
            );
        }
        for (value, second) in [("clwb,clflush", "clflush"), ("movntdq,movntdq", "movntdq")] {
            let text = text(TIGERLAKE, value);
            assert!(text.contains(second) && text.contains(OVERRIDE), "{text}");
        }
    }

    #[test]
    fn another_line_size_is_an_error() {
        let error = choose(&Cpu { line_bytes: 32, ..ATOM }, None).unwrap_err();
        assert_eq!(error, OpenError::CacheLineSize { bytes: 32 }.into());
    }
}

//! The instructions that the CPU has, and the choice of those to use, made once per process.
#![deny(unsafe_code)]

use core::sync::atomic::{AtomicU32, Ordering::Relaxed};

use gem_coherency_policy::Unknown;

use super::chosen::Chosen;
use super::cpu::Cpu;
use super::environment::{self, OVERRIDE_C};
use super::error::Error;
use super::{Instruction, LINE_BYTES, LoadInstruction, StoreInstruction};

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
    /// The limit of [`OVERRIDE`](super::OVERRIDE) for cache-line instructions, if any.
    pub overridden: Option<Instruction>,
    /// The instruction that flushes and invalidates.
    pub flush_by: Instruction,
    /// The instruction that writes back.
    pub write_back_by: Instruction,
    /// An invalidate touches the last line twice, as Atoms require.
    pub repeats_last_line: bool,
    /// Large non-temporal copies interleave four pages, because Intel's CPUs prefetch within a page.
    pub interleaves_pages: bool,
    /// The limit of [`OVERRIDE`](super::OVERRIDE) for stores, if any.
    pub store_overridden: Option<StoreInstruction>,
    /// The instruction of non-temporal stores.
    pub store_by: StoreInstruction,
    /// The limit of [`OVERRIDE`](super::OVERRIDE) for loads, if any.
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

/// The words that [`OVERRIDE`](super::OVERRIDE) accepts.
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
    fn parse(value: &[u8], cpu: &Cpu) -> Result<Self, Error> {
        let what = "instruction in GEM_COHERENCY_CACHEOPS";
        let value = core::str::from_utf8(value).map_err(|error| {
            let text = value.get(..error.valid_up_to()).and_then(|valid| core::str::from_utf8(valid).ok());
            Unknown::word(what, text.unwrap_or(""), WORDS)
        })?;
        let mut limits = Self::default();
        for word in value.split(',') {
            if let Ok(instruction) = word.parse() {
                set(&mut limits.line, instruction, instruction.name(), cpu.has(instruction))?;
            } else if let Ok(instruction) = word.parse() {
                set(&mut limits.store, instruction, instruction.name(), cpu.has_store(instruction))?;
            } else if let Ok(instruction) = word.parse() {
                set(&mut limits.load, instruction, instruction.name(), cpu.has_load(instruction))?;
            } else {
                return Err(Unknown::word(what, word, WORDS).into());
            }
        }
        Ok(limits)
    }
}

/// Sets a limit to an instruction, which the CPU must have.
fn set<T>(limit: &mut Option<T>, instruction: T, name: &'static str, has: bool) -> Result<(), Error> {
    if !has {
        return Err(Error::Absent { instruction: name });
    }
    match limit.replace(instruction) {
        None => Ok(()),
        Some(_) => Err(Error::Repeated { instruction: name }),
    }
}

/// Returns the last of `candidates` that the CPU has and that does not exceed `limit`.
fn best<T: Copy + Ord>(candidates: &[T], limit: Option<T>, has: impl Fn(T) -> bool) -> Option<T> {
    let allowed = |one: T| limit.is_none_or(|limit| one <= limit);
    candidates.iter().copied().filter(|&one| allowed(one) && has(one)).max()
}

/// Chooses the instructions for `cpu` with `value` in the environment.
fn choose(cpu: &Cpu, value: Option<&[u8]>) -> Result<Support, Error> {
    let limits = value.map(|value| Limits::parse(value, cpu)).transpose()?.unwrap_or_default();
    if cpu.line_bytes != LINE_BYTES {
        return Err(Error::LineSize { bytes: cpu.line_bytes });
    }
    let flushes = &[Instruction::Clflush, Instruction::Clflushopt];
    let line =
        |candidates| best(candidates, limits.line, |one| cpu.has(one)).unwrap_or(Chosen::FALLBACK.flush_by);
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
        interleaves_pages: cpu.model.intel,
        store_overridden: limits.store,
        store_by: store.unwrap_or(Chosen::FALLBACK.store_by),
        load_overridden: limits.load,
        load_by: load.unwrap_or(Chosen::FALLBACK.load_by),
    })
}

/// Returns the CPU's instructions and those that are used.
///
/// Reads [`OVERRIDE`](super::OVERRIDE) anew; operations read it once, at the process's first operation.
///
/// # Errors
/// [`Error::Word`] for a word in [`OVERRIDE`](super::OVERRIDE) that is not an instruction, [`Error::Absent`] for one that the CPU
/// lacks, [`Error::Repeated`] for two of the same kind; [`Error::LineSize`] if the CPU's lines do not have
/// [`LINE_BYTES`] bytes.
pub fn support() -> Result<Support, Error> {
    environment::with_value(OVERRIDE_C, |value| choose(&Cpu::detect(), value))
}

impl Support {
    /// Returns the instructions that are used.
    pub(super) fn chosen(&self) -> Chosen {
        let &Self {
            flush_by, write_back_by, store_by, load_by, repeats_last_line, interleaves_pages, ..
        } = self;
        Chosen { flush_by, write_back_by, store_by, load_by, repeats_last_line, interleaves_pages }
    }
}

/// The process's choice as a word ([`Chosen::word`]), or 0 before the first operation.
///
/// Threads that choose at the same time choose the same, so no thread waits for another, also not in a child
/// of fork(2).
static CHOSEN: AtomicU32 = AtomicU32::new(0);

/// Returns the choice; if [`support`] returns an error, that of every CPU.
#[inline]
pub(super) fn chosen() -> Chosen {
    match CHOSEN.load(Relaxed) {
        0 => choose_first(),
        word => Chosen::of_word(word),
    }
}

/// Makes the choice of the process.
#[cold]
fn choose_first() -> Chosen {
    let chosen = support().map_or(Chosen::FALLBACK, |support| support.chosen());
    CHOSEN.store(chosen.word(), Relaxed);
    chosen
}

#[cfg(test)]
mod tests {
    use super::super::cpu::Model;
    use super::super::environment::OVERRIDE;
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
        choose(&cpu, value.map(str::as_bytes)).unwrap()
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
    fn the_last_line_is_repeated_where_an_atom_may_be() {
        assert!(chosen(ATOM, None).repeats_last_line);
        assert!(!chosen(TIGERLAKE, None).repeats_last_line);
        let of_amd = Cpu { model: Model { intel: false, ..TIGERLAKE.model }, ..TIGERLAKE };
        assert_eq!([TIGERLAKE, of_amd].map(|cpu| chosen(cpu, None).interleaves_pages), [true, false]);
    }

    #[test]
    fn a_bad_override_is_an_error_that_names_it() {
        let text = |cpu: Cpu, value: &str| choose(&cpu, Some(value.as_bytes())).unwrap_err().to_string();
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
    fn an_override_that_is_not_text_is_an_error() {
        let text = choose(&TIGERLAKE, Some(b"clwb,\xff\xfe")).unwrap_err().to_string();
        assert!(text.contains("'clwb,'") && text.contains(OVERRIDE), "{text}");
    }

    #[test]
    fn both_names_of_the_variable_are_the_same() {
        assert_eq!(OVERRIDE_C.to_str(), Ok(OVERRIDE));
    }

    #[test]
    fn another_line_size_is_an_error() {
        let error = choose(&Cpu { line_bytes: 32, ..ATOM }, None).unwrap_err();
        assert_eq!(error, Error::LineSize { bytes: 32 });
    }
}

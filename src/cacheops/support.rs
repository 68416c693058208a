//! Which instructions this CPU has, and which of them are used.
#![deny(unsafe_code)]

use std::arch::x86_64::{__cpuid, __cpuid_count};
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::str::FromStr;
use std::sync::OnceLock;

use serde::Serialize;

use super::LineOp;
use crate::error::{Error, Result};
use crate::units::LINE_BYTES;
use crate::vocabulary::words;

/// The environment variable that limits the instructions: `clflush`, `clflushopt` or `clwb`.
pub const OVERRIDE: &str = "GEM_COHERENCY_CACHEOPS";

words! {
    /// An instruction on a cache line; each later one is preferred to the earlier ones.
    Instruction, "cache instruction in GEM_COHERENCY_CACHEOPS" {
        /// Flushes a line, one after the other; every x86_64 CPU has it.
        Clflush = "clflush",
        /// Flushes a line, in any order with other lines.
        Clflushopt = "clflushopt",
        /// Writes a line back and may keep it.
        Clwb = "clwb",
    }
}

/// What the CPU has, and what is used of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Support {
    /// Bytes of a cache line, as the CPU says.
    pub line_bytes: u64,
    /// Whether the CPU has CLFLUSHOPT.
    pub clflushopt: bool,
    /// Whether the CPU has CLWB.
    pub clwb: bool,
    /// What [`OVERRIDE`] says, if it is set.
    pub overridden: Option<Instruction>,
    /// What flushes and invalidates.
    pub flush_by: Instruction,
    /// What writes back.
    pub write_back_by: Instruction,
}

/// What CPUID says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Cpu {
    line_bytes: u64,
    clflushopt: bool,
    clwb: bool,
}

impl Cpu {
    /// Asks this CPU.
    ///
    /// Source: Intel SDM vol. 2A, CPUID: leaf 1 EBX bits 15..8 (CLFLUSH line size, in 8 bytes), leaf 7
    /// EBX bit 23 (CLFLUSHOPT) and bit 24 (CLWB).
    fn detect() -> Self {
        let line_bytes = u64::from((__cpuid(1).ebx >> 8) & 0xff) * 8;
        let features = if __cpuid(0).eax >= 7 { __cpuid_count(7, 0).ebx } else { 0 };
        Self { line_bytes, clflushopt: features & (1 << 23) != 0, clwb: features & (1 << 24) != 0 }
    }

    fn has(self, instruction: Instruction) -> bool {
        match instruction {
            Instruction::Clflush => true,
            Instruction::Clflushopt => self.clflushopt,
            Instruction::Clwb => self.clwb,
        }
    }

    /// The last of `wanted` that the CPU has and that does not come after `limit`.
    fn best(self, wanted: &[Instruction], limit: Instruction) -> Instruction {
        let usable = wanted.iter().copied().filter(|&one| one <= limit && self.has(one));
        usable.max().unwrap_or(Instruction::Clflush)
    }

    /// What is used on this CPU with `word` in the environment.
    fn choose(self, word: Option<&OsStr>) -> Result<Support> {
        let overridden = word.map(|word| word.to_string_lossy().parse::<Instruction>()).transpose()?;
        if let Some(instruction) = overridden.filter(|&instruction| !self.has(instruction)) {
            return Err(Error::NoCacheInstruction { variable: OVERRIDE, instruction: instruction.name() });
        }
        if self.line_bytes != LINE_BYTES {
            return Err(Error::CacheLineSize { bytes: self.line_bytes });
        }
        let limit = overridden.unwrap_or(Instruction::Clwb);
        Ok(Support {
            line_bytes: self.line_bytes,
            clflushopt: self.clflushopt,
            clwb: self.clwb,
            overridden,
            flush_by: self.best(&[Instruction::Clflush, Instruction::Clflushopt], limit),
            write_back_by: self.best(Instruction::ALL, limit),
        })
    }
}

/// What the CPU has and what is used of it, decided at the first call.
///
/// # Errors
/// [`Error::UnknownWord`] if [`OVERRIDE`] is no instruction, [`Error::NoCacheInstruction`] if the CPU
/// lacks it, [`Error::CacheLineSize`] if the CPU's lines are not [`LINE_BYTES`] long.
pub fn support() -> Result<Support> {
    decided().clone()
}

fn decided() -> &'static Result<Support> {
    static SUPPORT: OnceLock<Result<Support>> = OnceLock::new();
    SUPPORT.get_or_init(|| {
        let word: Option<OsString> = std::env::var_os(OVERRIDE);
        let support = Cpu::detect().choose(word.as_deref());
        tracing::debug!(?support, "cache instructions");
        support
    })
}

/// What performs `op`; what every CPU has, if [`support`] is an error.
pub(super) fn chosen(op: LineOp) -> Instruction {
    match (decided(), op) {
        (Ok(support), LineOp::WriteBack) => support.write_back_by,
        (Ok(support), LineOp::Flush | LineOp::Invalidate) => support.flush_by,
        (Err(_), LineOp::WriteBack | LineOp::Flush | LineOp::Invalidate) => Instruction::Clflush,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Instruction::{Clflush, Clflushopt, Clwb};

    const ATOM: Cpu = Cpu { line_bytes: 64, clflushopt: false, clwb: false };
    const SKYLAKE: Cpu = Cpu { line_bytes: 64, clflushopt: true, clwb: false };
    const TIGERLAKE: Cpu = Cpu { line_bytes: 64, clflushopt: true, clwb: true };

    #[track_caller]
    fn case(cpu: Cpu, word: Option<&str>, flush_by: Instruction, write_back_by: Instruction) {
        let support = cpu.choose(word.map(OsStr::new)).unwrap();
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
    }

    #[test]
    fn clwb_never_flushes_because_it_keeps_a_stale_line() {
        let clwb_only = Cpu { clflushopt: false, ..TIGERLAKE };
        case(clwb_only, None, Clflush, Clwb);
    }

    #[test]
    fn a_bad_override_is_an_error_that_names_it() {
        let text = |cpu: Cpu, word| cpu.choose(Some(OsStr::new(word))).unwrap_err().to_string();
        for word in ["", "CLWB", "wbinvd", "clwb "] {
            let text = text(TIGERLAKE, word);
            assert!(text.contains(&format!("'{word}'")) && text.contains(OVERRIDE), "{text}");
        }
        let text = text(SKYLAKE, "clwb");
        assert!(text.contains("clwb") && text.contains(OVERRIDE), "{text}");
    }

    #[test]
    fn another_line_size_is_an_error() {
        let error = Cpu { line_bytes: 32, ..ATOM }.choose(None).unwrap_err();
        assert_eq!(error, Error::CacheLineSize { bytes: 32 });
    }
}

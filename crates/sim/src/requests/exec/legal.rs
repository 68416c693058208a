//! The kernel's command parser (`intel_engine_cmd_parser`), with the tables in [`super::legal_table`].
//!
//! Register loads and stores are not checked against the whitelist: all are allowed.

use std::collections::BTreeSet;

use super::legal_table::{self, BATCH_BUFFER_START, Rule};
use gem_coherency::platform::{Engine, Machine};

/// MI_BATCH_BUFFER_END, which the parser accepts only with its lower bits clear.
const END: u32 = 0x0a << 23;
/// MI_BATCH_BUFFER_START of graphics 9: the lower bits of the only accepted form.
const START: u32 = 1 << 8 | 1;
const START_OPERANDS: u32 = (1 << 23) - 1;

/// The parser's verdict on a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// The batch may run.
    Legal,
    /// It contains a forbidden command (EACCES).
    Forbidden,
    /// It is malformed: no end, a truncated command, or an unknown command (EINVAL).
    Invalid,
}

/// The state of a check.
#[derive(Debug)]
pub(super) struct Checker {
    machine: Machine,
    engine: Engine,
    /// The batch's address, as its jumps refer to it.
    start: u64,
    /// The batch's length in dwords.
    len: usize,
    at: usize,
    /// Offsets of the commands that were checked.
    commands: BTreeSet<usize>,
}

impl Checker {
    /// Creates the check of a batch of `len` bytes at `start`.
    pub(super) fn new(machine: Machine, engine: Engine, start: u64, len: u64) -> Self {
        let len = usize::try_from(len / 4).unwrap_or(usize::MAX);
        Self { machine, engine, start, len, at: 0, commands: BTreeSet::new() }
    }

    /// Checks as much of the batch as was read; returns `None` if more bytes are needed.
    pub(super) fn look(&mut self, batch: &[u8]) -> Option<Verdict> {
        let (words, _) = batch.as_chunks::<4>();
        loop {
            if self.at >= self.len {
                return Some(Verdict::Invalid);
            }
            let first = u32::from_le_bytes(*words.get(self.at)?);
            if first == END {
                return Some(Verdict::Legal);
            }
            let len = match legal_table::rule(&self.machine, self.engine.class, first) {
                Rule::Fixed => 1,
                Rule::Long(mask) => (first & mask) as usize + 2,
                Rule::Rejected => return Some(Verdict::Forbidden),
                Rule::Unknown => return Some(Verdict::Invalid),
            };
            if self.len - self.at < len {
                return Some(Verdict::Invalid);
            }
            let operands = words.get(self.at + 1..self.at + len)?;
            let operands: Vec<u32> = operands.iter().map(|word| u32::from_le_bytes(*word)).collect();
            if let Some(verdict) = self.look_at(first, &operands) {
                return Some(verdict);
            }
            self.commands.insert(self.at);
            self.at += len;
        }
    }

    /// Checks a command's operands (`check_cmd`, `check_bbstart`); a jump ends the check.
    fn look_at(&self, first: u32, operands: &[u32]) -> Option<Verdict> {
        let new = self.machine.platform.graphics.major >= 9;
        match (first >> 23, new) {
            (BATCH_BUFFER_START, false) => Some(Verdict::Forbidden),
            (BATCH_BUFFER_START, true) if first & START_OPERANDS != START => Some(Verdict::Forbidden),
            (BATCH_BUFFER_START, true) => Some(self.jump(operands)),
            (_, false) if legal_table::is_forbidden(self.engine.class, first, operands) => {
                Some(Verdict::Forbidden)
            }
            _ => None,
        }
    }

    /// Checks that a jump goes back to a command of the batch, or to itself.
    fn jump(&self, operands: &[u32]) -> Verdict {
        let &[low, high] = operands else { return Verdict::Invalid };
        let target = u64::from(high) << 32 | u64::from(low);
        let index = (target.wrapping_sub(self.start) / 4) as usize;
        let inside = target.wrapping_sub(self.start) < 4 * self.len as u64;
        if inside && (index == self.at || self.commands.contains(&index)) {
            Verdict::Legal
        } else {
            Verdict::Invalid
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gem_coherency::platform::{EngineClass, by_name};
    use gem_coherency::vocabulary::KernelVersion;

    const AT: u64 = 0x10_0000;

    #[track_caller]
    fn case(platform: &str, class: EngineClass, words: &[u32], expected: Verdict) {
        let machine = by_name(platform).unwrap().machine(KernelVersion::new(6, 12), false);
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        let engine = Engine { class, instance: 0 };
        let mut checker = Checker::new(machine, engine, AT, bytes.len() as u64);
        assert_eq!(checker.look(&bytes), Some(expected), "{platform} {class:?} {words:x?}");
    }

    #[test]
    fn a_batch_needs_an_end_and_whole_commands() {
        use EngineClass::*;
        use Verdict::*;
        for (platform, class) in [("hsw", Copy), ("glk", Copy), ("ivb", Render), ("hsw", Video)] {
            case(platform, class, &[0, END], Legal);
            case(platform, class, &[0, 0], Invalid);
        }
        case("glk", Copy, &[0x1000_0002, AT as u32, 0, 7, END], Legal);
        case("glk", Copy, &[0x1000_0002, AT as u32, 0, 7], Invalid);
        case("glk", Copy, &[0x1000_0002, AT as u32, 0], Invalid);
        case("glk", Copy, &[0x7a00_0004, 0, 0, 0, 0, 0, END], Invalid);
        case("ivb", Render, &[0x7a00_0002, 0, 0, 0], Invalid);
        case("ivb", Render, &[0x7a00_0002, 0, 0, 0, END], Legal);
    }

    #[test]
    fn every_engine_has_its_own_lengths() {
        use EngineClass::*;
        use Verdict::*;
        // A command of so many dwords, then an end; and one of a dword more, which swallows the end.
        #[track_caller]
        fn exactly(platform: &str, class: EngineClass, first: u32, len: usize) {
            let mut words = vec![first];
            words.resize(len, 0);
            words.push(END);
            case(platform, class, &words, Legal);
            case(platform, class, &words[..len], Invalid);
            words.remove(1);
            case(platform, class, &words, Invalid);
        }
        for platform in ["ivb", "hsw"] {
            exactly(platform, Render, 0x7917_0100, 0x102);
            exactly(platform, Render, 0x7820_0106, 8);
            exactly(platform, Render, 0x7100_0106, 0x108);
            exactly(platform, Video, 0x7702_033d, 0x33f);
            exactly(platform, Video, 0x7600_1000, 0x1002);
            exactly(platform, Video, 0x7500_1002, 4);
            for (class, first) in [(Render, 0x6904_0010), (Render, 0x680b_0001), (Video, 0x6800_0101)] {
                case(platform, class, &[first, END], Legal);
            }
            for class in [Render, Video] {
                case(platform, class, &[0x5430_0004, 0, 0, 0, 0, 0, END], Invalid);
                case(platform, class, &[0xffff_ffff, END], Invalid);
            }
        }
        exactly("hsw", VideoEnhance, 0x7400_0105, 0x107);
        exactly("hsw", Render, 0x7843_0102, 0x104);
        exactly("hsw", Render, 0x7839_0402, 0x404);
        exactly("ivb", Render, 0x7843_0102, 4);
        exactly("hsw", Render, 0x1500_0001, 3);
    }

    #[test]
    fn generation_7_forbids_writes_that_are_the_kernels() {
        use EngineClass::*;
        use Verdict::*;
        let control = |flags| [0x7a00_0003, flags, 0x2000, 7, 0, END];
        case("hsw", Render, &control(1 << 14 | 1 << 20), Legal);
        case("hsw", Render, &control(1 << 24), Legal);
        for flags in [1 << 8, 1 << 23, 1 << 14 | 1 << 24, 3 << 14 | 1 << 21] {
            case("hsw", Render, &control(flags), Forbidden);
            case("hsw", Video, &control(flags), Legal);
        }
        for words in [
            &[0x1040_0002, 0, 0x2000, 7, END][..],
            &[0x1240_0001, 0x2358, 0x2000, END],
            &[0x0400_0000, END],
            &[0x1180_0001, 0, 0, END],
        ] {
            case("ivb", Render, words, Forbidden);
            case("hsw", Video, words, Forbidden);
        }
        case("ivb", Render, &[0x7000_0006, 0, 0x18, 0, 0, 0, 0, 0, END], Forbidden);
        case("ivb", Render, &[0x7000_0006, 0, 0x7, 0, 0, 0, 0, 0, END], Legal);
        case("ivb", Render, &[0x1400_0001, 0x2000_0001, 0, END], Forbidden);
        case("ivb", Video, &[0x1320_4002, 0x2000, 7, 0, END], Forbidden);
    }

    #[test]
    fn haswell_forbids_what_skylake_leaves_to_the_hardware() {
        use EngineClass::Copy;
        use Verdict::*;
        for words in [
            &[0x1040_0002, 0, 0, 7, END][..],
            &[0x1300_4102, 0, 0, 7, END],
            &[0x1300_4002, 4, 0, 7, END],
            &[0x1320_4002, 0, 0, 7, END],
            &[0x0100_0000, END],
            &[0x1180_0001, 0, 0, END],
        ] {
            case("hsw", Copy, words, Forbidden);
            case("skl", Copy, words, Legal);
        }
        case("hsw", Copy, &[0x1300_0002, 4, 0, 7, END], Legal);
    }

    #[test]
    fn jumps_of_skylake_go_back_within_the_batch() {
        use EngineClass::Copy;
        use Verdict::*;
        let jump = |target: u64| [0, 0x1880_0101, target as u32, 0, END];
        case("skl", Copy, &jump(AT), Legal);
        case("skl", Copy, &jump(AT + 4), Legal);
        case("skl", Copy, &jump(AT + 8), Invalid);
        case("skl", Copy, &jump(AT + 16), Invalid);
        case("skl", Copy, &jump(AT - 4), Invalid);
        case("skl", Copy, &[0x1880_0001, AT as u32, 0, END], Forbidden);
        case("hsw", Copy, &[0x1880_0100, AT as u32, END], Forbidden);
    }
}

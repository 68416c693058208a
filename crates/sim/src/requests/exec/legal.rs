//! The kernel's command parser (`intel_engine_cmd_parser`) for copy engines. For any other engine a batch
//! counts as legal and complete after its first command.
//!
//! Register loads and stores are not checked against the whitelist: all are allowed.

use std::collections::BTreeSet;

use gem_coherency::platform::{Engine, EngineClass, Machine};

/// MI_BATCH_BUFFER_END, which the parser accepts only with its lower bits clear.
const END: u32 = 0x0a << 23;
/// The client bits: MI is 0, the blitter 2.
const CLIENT_SHIFT: u32 = 29;
const BLITTER: u32 = 2;
/// MI opcodes, bits 28:23.
const NOOP: u32 = 0x00;
const USER_INTERRUPT: u32 = 0x02;
const WAIT_FOR_EVENT: u32 = 0x03;
const FLUSH: u32 = 0x04;
const ARB_CHECK: u32 = 0x05;
const REPORT_HEAD: u32 = 0x07;
const ARB_ON_OFF: u32 = 0x08;
const SUSPEND_FLUSH: u32 = 0x0b;
const LOAD_SCAN_LINES: u32 = 0x12;
const LOAD_SCAN_LINES_EXCLUDING: u32 = 0x13;
const DISPLAY_FLIP: u32 = 0x14;
const SEMAPHORE_MBOX: u32 = 0x16;
const STORE_DWORD_IMM: u32 = 0x20;
const STORE_DWORD_INDEX: u32 = 0x21;
const UPDATE_GTT: u32 = 0x23;
const FLUSH_DW: u32 = 0x26;
const BATCH_BUFFER_START: u32 = 0x31;
/// MI_STORE_DWORD_IMM: the address is in the global GTT.
const GLOBAL: u32 = 1 << 22;
/// MI_FLUSH_DW: interrupt; status page index; post-sync operation; global GTT address (dword 1).
const NOTIFY: u32 = 1 << 8;
const INDEX: u32 = 1 << 21;
const OPERATION: u32 = 3 << 14;
const FLUSH_GLOBAL: u32 = 1 << 2;
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

/// The length of a command, and whether it is allowed.
enum Rule {
    Fixed,
    /// The length is in the bits of this mask.
    Long(u32),
    Rejected,
    /// Unknown, even its length.
    Unknown,
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
            let rule = self.rule(first);
            let len = match rule {
                Rule::Fixed => 1,
                Rule::Long(mask) => (first & mask) as usize + 2,
                Rule::Rejected => return Some(Verdict::Forbidden),
                Rule::Unknown => return Some(Verdict::Invalid),
            };
            if self.engine.class != EngineClass::Copy && first != NOOP {
                return Some(Verdict::Legal);
            }
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

    /// Returns the command's table entry (`gen7_common_cmds`, `gen7_blt_cmds`, `hsw_blt_cmds`,
    /// `gen9_blt_cmds`), or that of an unknown command (`get_cmd_length_mask`).
    fn rule(&self, first: u32) -> Rule {
        let new = self.machine.platform.graphics.major >= 9;
        let haswell = self.machine.platform.name == "hsw";
        match first >> CLIENT_SHIFT {
            0 => {}
            BLITTER => return Rule::Long(0xff),
            _ if self.engine.class == EngineClass::Copy => return Rule::Unknown,
            _ => return Rule::Fixed,
        }
        match first >> 23 {
            NOOP | ARB_CHECK | REPORT_HEAD | SUSPEND_FLUSH => Rule::Fixed,
            USER_INTERRUPT | WAIT_FOR_EVENT | FLUSH | ARB_ON_OFF if new => Rule::Fixed,
            USER_INTERRUPT | WAIT_FOR_EVENT => Rule::Rejected,
            DISPLAY_FLIP | SEMAPHORE_MBOX | STORE_DWORD_INDEX | UPDATE_GTT if !new => Rule::Rejected,
            LOAD_SCAN_LINES | LOAD_SCAN_LINES_EXCLUDING if haswell => Rule::Rejected,
            STORE_DWORD_IMM => Rule::Long(0x3ff),
            UPDATE_GTT => Rule::Long(0x3ff),
            FLUSH_DW => Rule::Long(0x3f),
            BATCH_BUFFER_START => Rule::Long(0xff),
            _ if new => Rule::Long(0xff),
            _ => Rule::Long(0x3f),
        }
    }

    /// Checks a command's operands (`check_cmd`, `check_bbstart`); a jump ends the check.
    fn look_at(&self, first: u32, operands: &[u32]) -> Option<Verdict> {
        let new = self.machine.platform.graphics.major >= 9;
        let writes = first & OPERATION != 0;
        let global = operands.first().is_some_and(|address| address & FLUSH_GLOBAL != 0);
        match (first >> 23, new) {
            (STORE_DWORD_IMM, false) if first & GLOBAL != 0 => Some(Verdict::Forbidden),
            (FLUSH_DW, false) if first & NOTIFY != 0 || writes && (global || first & INDEX != 0) => {
                Some(Verdict::Forbidden)
            }
            (BATCH_BUFFER_START, false) => Some(Verdict::Forbidden),
            (BATCH_BUFFER_START, true) if first & START_OPERANDS != START => Some(Verdict::Forbidden),
            (BATCH_BUFFER_START, true) => Some(self.jump(operands)),
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
    use gem_coherency::platform::by_name;
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
        case("ivb", Render, &[0x7a00_0002, 0, 0, 0], Legal);
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

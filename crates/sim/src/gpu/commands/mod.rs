//! Decodes the command streamer's commands; the blitter's are in [`blits`].
//!
//! A copy engine hangs at a command that is not simulated. Any other engine skips it: most commands of its
//! batches set up the 3D, media and video pipelines ([`super::pipeline`] follows what they read, and runs shaders).

pub(super) mod alu;
pub(super) mod atomic;
pub(super) mod blits;
pub(super) mod encoding;
pub(super) mod lengths;
pub(super) mod memory_commands;
pub(super) mod post_sync;
pub(super) mod posted;
pub(super) mod registers;
pub(super) mod work;

use super::fault_log::HangCause;
use super::times::Arbitration;
use atomic::Atomic;
use blits::Blit;
use encoding::*;
use gem_coherency::platform::{EngineClass, Machine};
use memory_commands::Comparison;
use registers::Transfer;

/// The effect of a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Command {
    /// No visible effect.
    Nothing,
    /// Ends the batch, or returns to the batch that started it.
    End,
    /// Jumps to another batch or another address of this one.
    Start { target: u64, level: Level, is_predicated: bool },
    /// Sets whether the engine may preempt the batch from here on.
    Arbitrate(Arbitration),
    /// Writes dwords to memory.
    Store { address: u64, data: Vec<u32> },
    /// Writes the timestamp to memory, as two dwords.
    StoreTimestamp { address: u64 },
    /// Copies a dword of memory.
    Copy { to: u64, from: u64 },
    /// Changes a dword or a qword of memory.
    Atomic(Atomic),
    /// Transfers registers.
    Registers(Transfer),
    /// Computes with registers.
    Math(Vec<u32>),
    /// Sets the predicate's result by a comparison that is not simulated.
    Compare,
    /// Makes the commands after it no-ops, or not, by this number.
    Predicate(u32),
    /// Waits until the comparison holds.
    Wait(Comparison),
    /// Ends batches unless the comparison holds.
    EndUnless(Comparison, Ends),
    /// Fills or copies.
    Blit(Blit),
}

impl Command {
    /// Returns the address and the number of the bytes of memory that the command streamer reads by itself, once: it waits for others.
    pub(super) fn reads(&self) -> Option<(u64, u64)> {
        match self {
            &Self::Copy { from, .. } => Some((from, 4)),
            Self::Atomic(atomic) => Some((atomic.address, atomic.bytes as u64)),
            &Self::Registers(Transfer::Fetch { address, .. }) => Some((address, 4)),
            Self::EndUnless(comparison, _) => {
                Some((comparison.address, if comparison.masked { 8 } else { 4 }))
            }
            Self::Nothing
            | Self::End
            | Self::Start { .. }
            | Self::Arbitrate(_)
            | Self::Store { .. }
            | Self::StoreTimestamp { .. }
            | Self::Registers(Transfer::Load(_) | Transfer::Copy { .. } | Transfer::Store { .. })
            | Self::Math(_)
            | Self::Compare
            | Self::Predicate(_)
            | Self::Wait(_)
            | Self::Blit(_) => None,
        }
    }

    /// Returns whether it can change what later commands do, apart from the place where they are.
    pub(super) fn has_effect(&self) -> bool {
        match self {
            Self::Nothing
            | Self::End
            | Self::Start { .. }
            | Self::Arbitrate(_)
            | Self::Wait(_)
            | Self::EndUnless(..) => false,
            Self::Math(_) | Self::Compare | Self::Predicate(_) => true,
            Self::Store { .. }
            | Self::StoreTimestamp { .. }
            | Self::Copy { .. }
            | Self::Atomic(_)
            | Self::Registers(_)
            | Self::Blit(_) => true,
        }
    }
}

/// The return behaviour of a started batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Level {
    /// Replaces the current batch.
    Chained,
    /// Returns to the current batch at its end.
    Second,
}

/// The batches that a conditional end ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ends {
    /// The current one; it returns to the batch that started it.
    Current,
    /// All levels.
    All,
}

/// The privilege of a batch, which limits its commands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Privilege {
    /// A batch of userspace, which may not use the global GTT.
    User,
    /// A batch that the master submitted as secure (`I915_EXEC_SECURE`).
    Secure,
}

/// The engine that runs a batch.
#[derive(Clone, Copy, Debug)]
pub(super) struct Streamer {
    pub(super) machine: Machine,
    pub(super) engine: EngineClass,
    pub(super) privilege: Privilege,
}

/// Combines the two dwords of an address.
pub(super) const fn wide(low: u32, high: u32) -> u64 {
    (high as u64) << 32 | low as u64
}

impl Streamer {
    /// Returns the major graphics version.
    pub(super) fn graphics(&self) -> u8 {
        self.machine.platform.graphics.major
    }

    /// Returns whether addresses in commands have 64 bits.
    pub(super) fn is_wide(&self) -> bool {
        self.graphics() >= 8
    }

    /// Returns the length in dwords of the command that starts with `first`.
    ///
    /// # Errors
    /// The cause of the hang for a command that the engine cannot execute.
    pub(super) fn dwords(&self, first: u32) -> Result<usize, HangCause> {
        if self.engine != EngineClass::Copy {
            return lengths::dwords(self, first);
        }
        let long = |mask: u32| Ok((first & mask) as usize + 2);
        match first >> CLIENT_SHIFT {
            CLIENT_MI => match mi_opcode(first) {
                ..MI_FIRST_LONG => Ok(1),
                MI_STORE_DATA_IMM if self.is_wide() => long(STORE_LENGTH),
                MI_FLUSH_DW => long(FLUSH_LENGTH),
                _ => long(LENGTH),
            },
            CLIENT_BLITTER => long(LENGTH),
            CLIENT_PIPELINES if self.is_fence_address(first) => long(LENGTH),
            // Commands of the 3D and media pipelines.
            _ => Err(HangCause::Unsupported),
        }
    }

    /// Returns whether the command says where fences of system memory are stored, which any engine takes from Xe2 on; nothing here stores there.
    fn is_fence_address(&self, first: u32) -> bool {
        first >> 16 == STATE_SYSTEM_MEM_FENCE_ADDRESS && self.graphics() >= 20
    }

    /// Decodes a command from its dwords, or as many as [`Self::reads`] returns.
    ///
    /// # Errors
    /// The cause of the hang for a command that the engine cannot execute.
    pub(super) fn decode(&self, words: &[u32]) -> Result<Command, HangCause> {
        let Some((&first, operands)) = words.split_first() else { return Err(HangCause::Unknown) };
        let skips = self.engine != EngineClass::Copy;
        match first >> CLIENT_SHIFT {
            CLIENT_BLITTER => {
                return match blits::decode(self, first, operands) {
                    Err(HangCause::Unsupported) if skips => Ok(Command::Nothing),
                    decoded => decoded.map(Command::Blit),
                };
            }
            CLIENT_PIPELINES if first >> 16 == PIPE_CONTROL && self.renders() => {
                return post_sync::pipe_control(self, words);
            }
            CLIENT_PIPELINES | CLIENT_BARRIERS => return Ok(Command::Nothing),
            _ => {}
        }
        match mi_opcode(first) {
            MI_NOOP | MI_USER_INTERRUPT | MI_FLUSH | MI_ARB_CHECK | MI_REPORT_HEAD | MI_SUSPEND_FLUSH => {
                Ok(Command::Nothing)
            }
            MI_MEM_FENCE if self.graphics() >= 20 => Ok(Command::Nothing),
            MI_ARB_ON_OFF if first & 1 != 0 => Ok(Command::Arbitrate(Arbitration::On)),
            MI_ARB_ON_OFF => Ok(Command::Arbitrate(Arbitration::Off)),
            MI_BATCH_BUFFER_END => Ok(Command::End),
            MI_BATCH_BUFFER_START => self.start(first, operands),
            // Graphics 2 stores only to physical addresses.
            MI_STORE_DATA_IMM if self.graphics() < 3 && skips => Ok(Command::Nothing),
            MI_STORE_DATA_IMM if self.graphics() < 3 => Err(HangCause::Unsupported),
            MI_STORE_DATA_IMM => self.store(first, operands),
            // MI_FLUSH_DW was introduced with the copy engine.
            MI_FLUSH_DW if self.graphics() < 6 => Err(HangCause::Unknown),
            MI_FLUSH_DW => post_sync::flush(self, first, operands),
            _ if skips => memory_commands::decode(self, first, operands),
            MI_SEMAPHORE_WAIT
            | MI_ATOMIC
            | MI_COPY_MEM_MEM
            | MI_MATH
            | MI_CONDITIONAL_BATCH_BUFFER_END
            | MI_LOAD_REGISTER_IMM
            | MI_LOAD_REGISTER_REG
            | MI_LOAD_REGISTER_MEM
            | MI_STORE_REGISTER_MEM
                if self.is_wide() =>
            {
                memory_commands::decode(self, first, operands)
            }
            ..MI_FIRST_LONG => Err(HangCause::Unknown),
            // Predicate commands; before graphics 8, registers and comparisons, too.
            _ => Err(HangCause::Unsupported),
        }
    }

    /// Decodes MI_BATCH_BUFFER_START.
    fn start(&self, first: u32, operands: &[u32]) -> Result<Command, HangCause> {
        let target = match (operands, self.is_wide()) {
            (&[low, high], true) => wide(low, high),
            (&[low], false) => low.into(),
            _ => return Err(HangCause::Unknown),
        };
        if first & START_PPGTT == 0 && self.graphics() >= 6 {
            self.global()?;
        }
        let has_levels = match self.engine {
            EngineClass::Copy => self.is_wide(),
            EngineClass::Render | EngineClass::Video | EngineClass::VideoEnhance | EngineClass::Compute => {
                lengths::generation(&self.machine) >= 75
            }
        };
        let second = has_levels && first & START_SECOND_LEVEL != 0;
        let level = if second { Level::Second } else { Level::Chained };
        let is_predicated = self.has_predicates() && first & START_PREDICATED != 0;
        Ok(Command::Start { target: target & !3, level, is_predicated })
    }

    /// Decodes MI_STORE_DATA_IMM.
    fn store(&self, first: u32, operands: &[u32]) -> Result<Command, HangCause> {
        // Before graphics 6 the global GTT is the only address space, and the bit means a virtual address.
        if first & STORE_GLOBAL != 0 && self.graphics() >= 6 {
            self.global()?;
        }
        let (address, data) = match (operands, self.graphics()) {
            ([low, data @ ..], ..=3) => ((*low).into(), data),
            // The first dword is reserved.
            ([_, low, data @ ..], 4..=7) => ((*low).into(), data),
            ([low, high, data @ ..], 8..) => (wide(*low, *high), data),
            _ => return Err(HangCause::Unknown),
        };
        let unit = if first & STORE_QWORD != 0 && self.graphics() > 3 { 2 } else { 1 };
        // Up to graphics 7 it stores a single value.
        if data.is_empty() || !data.len().is_multiple_of(unit) || (!self.is_wide() && data.len() != unit) {
            return Err(HangCause::Unknown);
        }
        // Graphics 4 and 5 store in secure batches only: those of IGT's `gem_exec_store` are secure ones there.
        if matches!(self.graphics(), 4..=5) && self.privilege == Privilege::User {
            return Ok(Command::Nothing);
        }
        Ok(Command::Store { address: address & !(4 * unit as u64 - 1), data: data.to_vec() })
    }

    /// Returns whether the streamer computes (IGT's `has_mi_math`).
    pub(super) fn computes(&self) -> bool {
        self.is_wide() || self.has_predicates()
    }

    /// Returns whether commands can depend on the predicate's result.
    pub(super) fn has_predicates(&self) -> bool {
        lengths::generation(&self.machine) >= 75 && self.engine != EngineClass::Copy
    }

    /// Checks that the batch may use the global GTT.
    pub(super) fn global(&self) -> Result<(), HangCause> {
        match self.privilege {
            Privilege::User => Err(HangCause::Privileged),
            // A secure batch is bound at the same address in both spaces.
            Privilege::Secure => Ok(()),
        }
    }

    /// Returns whether the engine has the 3D or the compute pipeline.
    pub(super) fn renders(&self) -> bool {
        match self.engine {
            EngineClass::Render | EngineClass::Compute => true,
            EngineClass::Copy | EngineClass::Video | EngineClass::VideoEnhance => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gem_coherency::platform::by_name;
    use gem_coherency::vocabulary::KernelVersion;

    pub(super) fn streamer(platform: &str) -> Streamer {
        let machine = by_name(platform).unwrap().machine(KernelVersion::new(6, 12), false);
        Streamer { machine, engine: EngineClass::Copy, privilege: Privilege::User }
    }

    #[track_caller]
    fn case(platform: &str, words: &[u32], expected: Result<Command, HangCause>) {
        let streamer = streamer(platform);
        let len = streamer.dwords(words[0]);
        assert_eq!(len, Ok(words.len()), "{platform} {words:x?}");
        assert_eq!(streamer.decode(words), expected, "{platform} {words:x?}");
    }

    #[test]
    fn addresses_get_a_dword_more_with_graphics_4_and_a_second_one_with_8() {
        let store = |address, data: &[u32]| Ok(Command::Store { address, data: data.to_vec() });
        case("snb", &[0x1000_0002, 0, 0x2007, 7], store(0x2004, &[7]));
        case("hsw", &[0x1020_0003, 0, 0x200f, 7, 8], store(0x2008, &[7, 8]));
        case("bdw", &[0x1000_0002, 0x2000, 1, 7], store(0x1_0000_2000, &[7]));
        case("mtl", &[0x1020_0003, 0x2000, 1, 7, 8], store(0x1_0000_2000, &[7, 8]));
        case("glk", &[0x1000_0003, 0x2000, 1, 7, 8], store(0x1_0000_2000, &[7, 8]));
        case("ivb", &[0x1300_4001, 0x2000, 7], store(0x2000, &[7]));
        case("icl", &[0x1300_4003, 0x2000, 1, 7, 8], store(0x1_0000_2000, &[7, 8]));
        // Before graphics 6, bit 22 marks a virtual address; graphics 3 has no reserved dword.
        case("i915g", &[0x1040_0001, 0x2006, 7], store(0x2004, &[7]));
        for (platform, words, stored) in [
            ("i965gm", &[0x1040_0002, 0, 0x2007, 7][..], store(0x2004, &[7])),
            ("ilk", &[0x1060_0003, 0, 0x200f, 7, 8], store(0x2008, &[7, 8])),
        ] {
            case(platform, words, Ok(Command::Nothing));
            let secure = Streamer { privilege: Privilege::Secure, ..streamer(platform) };
            assert_eq!(secure.decode(words), stored, "{platform}");
        }
        let jump = |target, level| Ok(Command::Start { target, level, is_predicated: false });
        case("hsw", &[0x1880_0100, 0x3000], jump(0x3000, Level::Chained));
        case("skl", &[0x18c0_0101, 0x3000, 2], jump(0x2_0000_3000, Level::Second));
    }

    #[test]
    fn what_is_the_kernels_is_refused_and_what_is_not_here_told_apart() {
        use HangCause::*;
        case("tgl", &[0x1040_0002, 0, 0, 7], Err(Privileged));
        case("tgl", &[0x1300_4002, 4, 0, 7], Err(Privileged));
        case("tgl", &[0x1880_0001, 0, 0], Err(Privileged));
        case("tgl", &[0x1300_c002, 0, 0, 7], Err(Unsupported));
        case("hsw", &[0x1100_0001, 0x2000, 7], Err(Unsupported));
        case("tgl", &[0x1100_0000, 0x2000], Err(Unknown));
        case("tgl", &[0x0780_0000], Err(Unknown));
        case("tgl", &[0x1000_0001, 0, 0], Err(Unknown));
        case("hsw", &[0x1000_0003, 0, 0, 7, 8], Err(Unknown));
        case("i830", &[0x1040_0001, 0x2000, 7], Err(Unsupported));
        case("ilk", &[0x1300_4002, 0x2000, 7, 8], Err(Unknown));
        case("i945gm", &[0x1040_0002, 0, 0x2000, 7], Err(Unknown));
        case("gm45", &[0x1040_0001, 0x2000, 7], Err(Unknown));
    }
}

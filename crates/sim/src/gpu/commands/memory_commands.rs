//! Decodes the MI commands that compare and copy dwords of memory, move them to and from registers, or compute with registers.
//!
//! Copy engines execute all but predicates, from graphics 8 on.

use super::atomic::Atomic;
use super::encoding::*;
use super::registers::{self, Transfer};
use super::{Command, Ends, Streamer, wide};
use crate::gpu::fault_log::HangCause;

/// A comparison of a dword in memory with a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::gpu) struct Comparison {
    /// The address of the dword.
    pub(in crate::gpu) address: u64,
    pub(in crate::gpu) value: u32,
    pub(in crate::gpu) relation: Relation,
    /// The dword at the address is a mask of the one after it, which is compared.
    pub(in crate::gpu) masked: bool,
}

/// The relation of the dword in memory to the value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::gpu) enum Relation {
    Greater,
    GreaterOrEqual,
    Less,
    LessOrEqual,
    Equal,
    Unequal,
}

impl Relation {
    /// Decodes bits 14:12 of the first dword.
    ///
    /// # Errors
    /// [`HangCause::Unknown`] for a reserved value.
    fn new(first: u32) -> Result<Self, HangCause> {
        Ok(match first >> COMPARE_SHIFT & 7 {
            0 => Self::Greater,
            1 => Self::GreaterOrEqual,
            2 => Self::Less,
            3 => Self::LessOrEqual,
            4 => Self::Equal,
            5 => Self::Unequal,
            _ => return Err(HangCause::Unknown),
        })
    }

    /// Returns whether the relation holds.
    pub(in crate::gpu) fn holds(self, memory: u32, value: u32) -> bool {
        match self {
            Self::Greater => memory > value,
            Self::GreaterOrEqual => memory >= value,
            Self::Less => memory < value,
            Self::LessOrEqual => memory <= value,
            Self::Equal => memory == value,
            Self::Unequal => memory != value,
        }
    }
}

/// Decodes an MI command; commands without a simulated effect do nothing. Of a copy engine's, the caller passes
/// only comparisons, copies of dwords, and those of registers.
///
/// # Errors
/// The cause of the hang for a wrong length, or an address in the global GTT.
pub(in crate::gpu) fn decode(on: &Streamer, first: u32, operands: &[u32]) -> Result<Command, HangCause> {
    let transfer = |transfer| Ok(Command::Registers(transfer));
    let register = |word: u32, of_engine: u32| match word & REGISTER {
        offset if first & of_engine != 0 && on.graphics() >= 11 => {
            registers::start(&on.machine, on.engine) + offset
        }
        register => register,
    };
    let own = |word| register(word, REGISTER_OF_ENGINE);
    match mi_opcode(first) {
        MI_LOAD_REGISTER_IMM => {
            let (pairs, rest) = operands.as_chunks::<2>();
            if !rest.is_empty() {
                return Err(HangCause::Unknown);
            }
            transfer(Transfer::Load(pairs.iter().map(|&[at, value]| (own(at), value)).collect()))
        }
        MI_LOAD_REGISTER_REG => match operands {
            &[from, to] => transfer(Transfer::Copy { from: register(from, SOURCE_OF_ENGINE), to: own(to) }),
            _ => Err(HangCause::Unknown),
        },
        MI_LOAD_REGISTER_MEM => {
            let (word, address) = dword_and_address(on, first, operands)?;
            transfer(Transfer::Fetch { register: own(word), address: address & !3 })
        }
        MI_STORE_REGISTER_MEM => {
            let (word, address) = dword_and_address(on, first, operands)?;
            transfer(Transfer::Store { register: own(word), address: address & !3 })
        }
        MI_COPY_MEM_MEM => match operands {
            &[low, high, from, from_high] => {
                private(on, first, MEMORY_GLOBAL | COPY_TO_GLOBAL)?;
                Ok(Command::Copy { to: wide(low, high) & !3, from: wide(from, from_high) & !3 })
            }
            _ => Err(HangCause::Unknown),
        },
        MI_ATOMIC if on.is_wide() => {
            Ok(Atomic::decode(on, first, operands)?.map_or(Command::Nothing, Command::Atomic))
        }
        MI_SEMAPHORE_WAIT if first & WAIT_REGISTER == 0 => match operands {
            // Graphics 12 has a dword more, with a token for the kernel.
            &[value, low, high] | &[value, low, high, _] => {
                private(on, first, MEMORY_GLOBAL)?;
                let (address, relation) = (wide(low, high) & !3, Relation::new(first)?);
                Ok(Command::Wait(Comparison { address, value, relation, masked: false }))
            }
            _ => Err(HangCause::Unknown),
        },
        MI_CONDITIONAL_BATCH_BUFFER_END if first & END_COMPARES != 0 => {
            let (value, address) = dword_and_address(on, first, operands)?;
            let (relation, masked) = (Relation::new(first)?, first & END_MASKED != 0);
            let ends = if first & END_CURRENT != 0 { Ends::Current } else { Ends::All };
            // The mask is the first dword of a qword. Without one any dword is compared: that of IGT's `struct xe_spin` is a second one.
            let address = if masked { address & !7 } else { address & !3 };
            Ok(Command::EndUnless(Comparison { address, value, relation, masked }, ends))
        }
        MI_SET_PREDICATE if on.has_predicates() => Ok(Command::Predicate(first & 0xf)),
        MI_PREDICATE if on.has_predicates() => Ok(Command::Compare),
        MI_MATH if on.computes() => Ok(Command::Math(operands.to_vec())),
        _ => Ok(Command::Nothing),
    }
}

/// Decodes the operands of MI_LOAD_REGISTER_MEM, MI_STORE_REGISTER_MEM and MI_CONDITIONAL_BATCH_BUFFER_END.
fn dword_and_address(on: &Streamer, first: u32, operands: &[u32]) -> Result<(u32, u64), HangCause> {
    private(on, first, MEMORY_GLOBAL)?;
    match *operands {
        [dword, low] if !on.is_wide() => Ok((dword, low.into())),
        [dword, low, high] if on.is_wide() => Ok((dword, wide(low, high))),
        _ => Err(HangCause::Unknown),
    }
}

/// Checks that no address is in the global GTT. Before graphics 6 there is no other space.
pub(super) fn private(on: &Streamer, first: u32, global: u32) -> Result<(), HangCause> {
    if first & global != 0 && on.graphics() >= 6 { on.global() } else { Ok(()) }
}

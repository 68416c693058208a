//! Reasons why a thread cannot go on.

use std::fmt;

use crate::{Error, Opcode};

/// A thread that cannot go on, and the instruction that it is at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stop {
    /// The instruction: its first byte in the shader.
    pub at: u32,
    /// The reason.
    pub why: Why,
}

/// A reason why a thread cannot go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Why {
    /// The shader ends without the end of the thread.
    End,
    /// The instruction cannot be decoded.
    Decode(Error),
    /// The instruction is valid, and its effect is not known here.
    Unknown {
        /// The operation.
        opcode: Opcode,
        /// What is not known.
        what: &'static str,
    },
    /// An operand is in a register that a thread lacks, or that is not known here.
    Register {
        /// The operation.
        opcode: Opcode,
        /// The operand.
        operand: &'static str,
    },
    /// The distance of a branch leads to no instruction of the shader.
    Target {
        /// The operation.
        opcode: Opcode,
        /// The distance, as the instruction has it.
        distance: i32,
    },
    /// The thread has not ended within the steps that the caller allows.
    Endless {
        /// The steps.
        steps: u64,
    },
    /// The message is not known here.
    Message {
        /// The shared function.
        function: u8,
        /// The descriptor.
        descriptor: u32,
    },
    /// A number in the accumulator, or one that it gets, is none of the operand's type.
    Accumulator {
        /// The operation.
        opcode: Opcode,
    },
    /// A division whose result is not known: by zero, or of the least integer by -1.
    Division {
        /// The dividend.
        dividend: i128,
        /// The divisor.
        divisor: i128,
    },
    /// An address of a message is not a multiple of four.
    Unaligned {
        /// The operation.
        opcode: Opcode,
        /// The first byte in the surface.
        offset: u32,
    },
    /// A message for buffers accesses a surface of rows.
    Rows {
        /// The binding table's entry.
        surface: u8,
    },
    /// The effect of a media block is not known.
    Media {
        /// The binding table's entry.
        surface: u8,
        /// The first byte in its row.
        x: u32,
        /// The first row.
        y: u32,
        /// The third dword of the header: width and height.
        size: u32,
        /// The reason.
        what: &'static str,
    },
    /// An address, a length, stored bytes, or a comparison depend on bytes of registers that nothing has written.
    Undefined {
        /// The operation.
        opcode: Opcode,
        /// What depends on them.
        what: &'static str,
    },
}

/// A register that a thread does not have here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct NoRegister;

impl fmt::Display for Stop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "instruction at {:#x}: ", self.at)?;
        match self.why {
            Why::End => f.write_str("the shader ends without the end of the thread"),
            Why::Decode(error) => error.fmt(f),
            Why::Unknown { opcode, what } => write!(f, "{opcode}: {what} is not known"),
            Why::Register { opcode, operand } => write!(f, "{opcode}: {operand} is in no known register"),
            Why::Target { opcode, distance } => {
                write!(f, "{opcode}: the distance {distance} leads to no instruction of the shader")
            }
            Why::Endless { steps } => write!(f, "the thread has not ended after {steps} steps"),
            Why::Message { function, descriptor } => {
                write!(f, "the message {descriptor:#x} to the shared function {function} is not known")
            }
            Why::Accumulator { opcode } => {
                write!(f, "{opcode}: a number in the accumulator is none of the operand's type")
            }
            Why::Division { dividend, divisor } => {
                write!(f, "math: the division of {dividend} by {divisor} is not known")
            }
            Why::Unaligned { opcode, offset } => {
                write!(f, "{opcode}: the effect at {offset:#x}, which is not a multiple of 4, is not known")
            }
            Why::Rows { surface } => {
                write!(f, "a message for buffers to surface {surface}, which has rows, is not known")
            }
            Why::Media { surface, x, y, size, what } => {
                write!(
                    f,
                    "the media block of size {size:#x} at byte {x} of row {y} of surface {surface}: {what}"
                )
            }
            Why::Undefined { opcode, what } => {
                write!(f, "{opcode}: {what} depends on a register that nothing has written")
            }
        }
    }
}

impl std::error::Error for Stop {}

//! What cannot be decoded or encoded.

use std::fmt;

use crate::{Field, Opcode, Platform, Type};

/// An instruction that cannot be decoded or encoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// No opcode of the platform has this number.
    Opcode {
        /// The number.
        code: u8,
        /// The platform.
        platform: Platform,
    },
    /// The platform lacks the opcode.
    Missing {
        /// The opcode.
        opcode: Opcode,
        /// The platform.
        platform: Platform,
    },
    /// The instruction is one of 64 bits, or has the bit that says so.
    Compacted,
    /// A field has bits that mean nothing.
    Code {
        /// The field.
        field: Field,
        /// Its bits.
        code: u64,
        /// The platform.
        platform: Platform,
    },
    /// The platform has no code for a number in this field.
    Value {
        /// The field.
        field: Field,
        /// The number.
        value: i64,
        /// The platform.
        platform: Platform,
    },
    /// The platform has no code for a type in this field.
    Type {
        /// The field.
        field: Field,
        /// The type.
        kind: Type,
        /// The platform.
        platform: Platform,
    },
    /// The opcode has no place for an operand, or lacks one.
    Operand {
        /// The opcode.
        opcode: Opcode,
        /// What is missing, or cannot be there.
        what: &'static str,
    },
    /// Bits that are to be kept are those of a field.
    Ignored {
        /// The bits that overlap.
        bits: u128,
    },
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Opcode { code, platform } => write!(f, "{platform} has no opcode {code}"),
            Self::Missing { opcode, platform } => write!(f, "{platform} has no instruction {opcode}"),
            Self::Compacted => f.write_str("a compacted instruction, which this function does not expand"),
            Self::Code { field, code, platform } => {
                write!(f, "{}: {code:#x} means nothing on {platform}", field.name())
            }
            Self::Value { field, value, platform } => {
                write!(f, "{}: {platform} has no code for {value}", field.name())
            }
            Self::Type { field, kind, platform } => {
                write!(f, "{}: {platform} has no code for the type {kind}", field.name())
            }
            Self::Operand { opcode, what } => write!(f, "{opcode}: {what}"),
            Self::Ignored { bits } => write!(f, "the ignored bits {bits:#034x} are those of a field"),
        }
    }
}

impl std::error::Error for Error {}

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
    /// An instruction of 128 bits has the bit that says that it is one of 64.
    Compacted,
    /// An instruction of 64 bits lacks the bit that says so.
    Full,
    /// A compacted instruction has bits that mean nothing.
    Reserved {
        /// The bits.
        bits: u64,
    },
    /// The instruction has no encoding of 64 bits.
    Uncompactable(Uncompactable),
    /// The shader ends in an instruction.
    Truncated {
        /// The bytes that are there.
        bytes: usize,
    },
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
            Self::Compacted => {
                f.write_str("bit 29 says that these 128 bits are a compacted instruction of 64")
            }
            Self::Full => f.write_str("bit 29 says that these 64 bits are no compacted instruction"),
            Self::Reserved { bits } => {
                write!(f, "the bits {bits:#x} of the compacted instruction mean nothing")
            }
            Self::Uncompactable(why) => why.fmt(f),
            Self::Truncated { bytes } => write!(f, "the shader ends after {bytes} bytes of it"),
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

/// The reason why an instruction has no encoding of 64 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Uncompactable {
    /// Instructions of this opcode are not compacted.
    Opcode(Opcode),
    /// No opcode of the platform has this number.
    Unknown(u8),
    /// Bits have a value that the table of them lacks.
    Entry {
        /// What the table is about.
        table: &'static str,
        /// The value.
        value: u64,
    },
    /// The immediate has more bits than there is room for.
    Immediate(u32),
    /// Bits are set that no part of a compacted instruction stands for.
    Bits(u128),
}

impl fmt::Display for Uncompactable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Opcode(opcode) => write!(f, "{opcode} has no compacted form"),
            Self::Unknown(code) => write!(f, "no opcode is {code}"),
            Self::Entry { table, value } => write!(f, "the table of {table} has no entry {value:#x}"),
            Self::Immediate(bits) => write!(f, "the immediate {bits:#x} has too many bits"),
            Self::Bits(bits) => write!(f, "a compacted instruction has no room for the bits {bits:#x}"),
        }
    }
}

impl std::error::Error for Uncompactable {}

//! Values to choose from, and what the assembler has no words for.

use intel_eu::{Condition, Opcode, Pattern, Type};

/// Types of registers, which platforms have or not.
pub const TYPES: [Type; 13] = [
    Type::Ub,
    Type::B,
    Type::Uw,
    Type::W,
    Type::Ud,
    Type::D,
    Type::Uq,
    Type::Q,
    Type::Hf,
    Type::Bf,
    Type::F,
    Type::Df,
    Type::Nf,
];

/// Accumulators, which have native floats.
pub const ACCUMULATORS: [u8; 2] = [0x20, 0x21];

pub const VECTORS: [Type; 3] = [Type::Uv, Type::V, Type::Vf];

pub const PATTERNS: [Pattern; 13] = [
    Pattern::Normal,
    Pattern::AnyV,
    Pattern::AllV,
    Pattern::Any2,
    Pattern::All2,
    Pattern::Any4,
    Pattern::All4,
    Pattern::Any8,
    Pattern::All8,
    Pattern::Any16,
    Pattern::All16,
    Pattern::Any32,
    Pattern::All32,
];

pub const CONDITIONS: [Condition; 8] = [
    Condition::Zero,
    Condition::NotZero,
    Condition::Greater,
    Condition::GreaterOrEqual,
    Condition::Less,
    Condition::LessOrEqual,
    Condition::Overflow,
    Condition::Unordered,
];

// Opcodes that the assembler has no words for: of its tables, not of the hardware.

pub const NO_CONDITION: [Opcode; 13] = [
    Opcode::Bfn,
    Opcode::Math,
    Opcode::Movi,
    Opcode::Smov,
    Opcode::Bfi1,
    Opcode::Bfi2,
    Opcode::Bfe,
    Opcode::Bfrev,
    Opcode::Cbit,
    Opcode::Fbh,
    Opcode::Fbl,
    Opcode::Mach,
    Opcode::Wait,
];

pub const NO_SATURATE: [Opcode; 21] = [
    Opcode::Bfn,
    Opcode::Not,
    Opcode::And,
    Opcode::Or,
    Opcode::Xor,
    Opcode::Addc,
    Opcode::Subb,
    Opcode::Bfe,
    Opcode::Bfi1,
    Opcode::Bfi2,
    Opcode::Bfrev,
    Opcode::Cbit,
    Opcode::Cmp,
    Opcode::Cmpn,
    Opcode::Fbh,
    Opcode::Fbl,
    Opcode::Frc,
    Opcode::Mach,
    Opcode::Rol,
    Opcode::Ror,
    Opcode::Smov,
];

pub const NO_MODIFIER: [Opcode; 15] = [
    Opcode::Bfn,
    Opcode::Addc,
    Opcode::Subb,
    Opcode::Bfe,
    Opcode::Bfi1,
    Opcode::Bfi2,
    Opcode::Bfrev,
    Opcode::Cbit,
    Opcode::Dp4a,
    Opcode::Fbh,
    Opcode::Fbl,
    Opcode::Pln,
    Opcode::Rol,
    Opcode::Ror,
    Opcode::Smov,
];

pub const NO_PREDICATE: [Opcode; 7] =
    [Opcode::Dpas, Opcode::Dpasw, Opcode::Else, Opcode::Endif, Opcode::Wait, Opcode::Sync, Opcode::Csel];

/// Functions of `math`, of one source before 9, and those whose sources have no modifiers. Graphics 7 lacks the last two.
pub const MATH: [u8; 14] = [1, 2, 3, 4, 5, 6, 7, 9, 10, 11, 12, 13, 14, 15];
pub const MACROS: [u8; 2] = [14, 15];
pub const PLAIN_MATH: [u8; 3] = [11, 12, 13];

/// Opcodes that end when a token says so.
pub const ALLOCATES: [Opcode; 5] = [Opcode::Send, Opcode::Sendc, Opcode::Math, Opcode::Dpas, Opcode::Dpasw];

/// Architecture registers: null, addresses, accumulators and flags.
pub const ARCHITECTURE: [u8; 6] = [0, 0x10, 0x20, 0x21, 0x30, 0x31];

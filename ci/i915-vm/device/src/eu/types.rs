//! Types of operands, and values.

use super::layout::Form;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Type {
    Ub,
    B,
    Uw,
    W,
    Ud,
    D,
    F,
}

/// The type of an immediate: one value for all channels, or a vector of small ones.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum ImmediateType {
    Scalar(Type),
    /// Eight values of four bits, as words.
    Unsigned4,
    Signed4,
    /// Four floats of eight bits.
    Float8,
}

#[derive(Clone, Copy)]
pub enum Value {
    Integer(i64),
    Float(f32),
}

impl Type {
    /// The type of a register operand with this code.
    pub fn of_register(form: Form, code: u64) -> Option<Self> {
        let float = match form {
            Form::Gen7 | Form::Gen8 => 7,
            Form::Gen11 => 9,
            Form::Gen12 | Form::XeHp => 10,
        };
        match (form < Form::Gen12, code) {
            _ if code == float => Some(Self::F),
            (true, 0) | (false, 2) => Some(Self::Ud),
            (true, 1) | (false, 6) => Some(Self::D),
            (true, 2) | (false, 1) => Some(Self::Uw),
            (true, 3) | (false, 5) => Some(Self::W),
            (true, 4) | (false, 0) => Some(Self::Ub),
            (true, 5) | (false, 4) => Some(Self::B),
            _ => None,
        }
    }

    /// Bytes.
    pub fn size(self) -> usize {
        match self {
            Self::Ub | Self::B => 1,
            Self::Uw | Self::W => 2,
            Self::Ud | Self::D | Self::F => 4,
        }
    }

    pub fn is_signed(self) -> bool {
        matches!(self, Self::B | Self::W | Self::D | Self::F)
    }

    /// The least and the largest integer; those of an integer register for a float.
    pub fn range(self) -> (i64, i64) {
        let bits = 8 * self.size() as u32;
        if self.is_signed() { (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) } else { (0, (1 << bits) - 1) }
    }

    /// The value of as many of the lower bits as the type has.
    pub fn value(self, bits: u32) -> Value {
        match self {
            Self::Ub => Value::Integer((bits as u8).into()),
            Self::B => Value::Integer((bits as i8).into()),
            Self::Uw => Value::Integer((bits as u16).into()),
            Self::W => Value::Integer((bits as i16).into()),
            Self::Ud => Value::Integer(bits.into()),
            Self::D => Value::Integer((bits as i32).into()),
            Self::F => Value::Float(f32::from_bits(bits)),
        }
    }
}

impl ImmediateType {
    /// The type of an immediate with this code: vectors have those of bytes and of 64 bits.
    pub fn of(form: Form, code: u64) -> Option<Self> {
        let [unsigned4, signed4, float8] = match form {
            Form::Gen7 | Form::Gen8 => [4, 6, 5],
            Form::Gen11 => [4, 5, 11],
            Form::Gen12 | Form::XeHp => [0, 4, 8],
        };
        match code {
            _ if code == unsigned4 => Some(Self::Unsigned4),
            _ if code == signed4 => Some(Self::Signed4),
            _ if code == float8 => Some(Self::Float8),
            _ => Type::of_register(form, code).map(Self::Scalar),
        }
    }

    /// The type that a channel's value has.
    pub fn element(self) -> Type {
        match self {
            Self::Scalar(kind) => kind,
            Self::Unsigned4 => Type::Uw,
            Self::Signed4 => Type::W,
            Self::Float8 => Type::F,
        }
    }

    /// A channel's value.
    pub fn value(self, word: u32, channel: usize) -> Value {
        let four = word >> (4 * (channel % 8)) & 0xf;
        match self {
            Self::Scalar(kind) => kind.value(word),
            Self::Unsigned4 => Value::Integer(four.into()),
            Self::Signed4 => Value::Integer(((four as i64) ^ 8) - 8),
            Self::Float8 => Value::Float(float8(word >> (8 * (channel % 4)) & 0xff)),
        }
    }
}

/// A sign, three bits of exponent with bias 3, four bits of fraction; without these it is zero.
fn float8(bits: u32) -> f32 {
    let sign = bits >> 7 << 31;
    match bits & 0x7f {
        0 => f32::from_bits(sign),
        _ => f32::from_bits(sign | ((bits >> 4 & 7) + 127 - 3) << 23 | (bits & 0xf) << 19),
    }
}

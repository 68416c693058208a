//! Types of operands, and values.

use super::float;
use super::layout::Form;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Type {
    Ub,
    B,
    Uw,
    W,
    Ud,
    D,
    Uq,
    Q,
    Hf,
    F,
    Df,
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

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value {
    Integer(i128),
    Float(f64),
}

/// Codes of types of register operands: gen7 and gen8 (which has the last three in addition), gen11, and gen12. Gen11 and 12.0 have no
/// types of 64 bits.
const CODES_8: [(u64, Type); 11] = [
    (0, Type::Ud),
    (1, Type::D),
    (2, Type::Uw),
    (3, Type::W),
    (4, Type::Ub),
    (5, Type::B),
    (6, Type::Df),
    (7, Type::F),
    (8, Type::Uq),
    (9, Type::Q),
    (10, Type::Hf),
];
const CODES_11: [(u64, Type); 8] = [
    (0, Type::Ud),
    (1, Type::D),
    (2, Type::Uw),
    (3, Type::W),
    (4, Type::Ub),
    (5, Type::B),
    (8, Type::Hf),
    (9, Type::F),
];
const CODES_12: [(u64, Type); 11] = [
    (0, Type::Ub),
    (1, Type::Uw),
    (2, Type::Ud),
    (3, Type::Uq),
    (4, Type::B),
    (5, Type::W),
    (6, Type::D),
    (7, Type::Q),
    (9, Type::Hf),
    (10, Type::F),
    (11, Type::Df),
];

impl Type {
    /// The type of a register operand with this code.
    pub fn of_register(form: Form, code: u64) -> Option<Self> {
        let codes: &[_] = match form {
            Form::Gen7 => &CODES_8[..8],
            Form::Gen8 => &CODES_8,
            Form::Gen11 => &CODES_11,
            Form::Gen12 | Form::XeHp => &CODES_12,
        };
        let kind = codes.iter().find(|row| row.0 == code).map(|row| row.1);
        kind.filter(|kind| form != Form::Gen12 || kind.size() < 8)
    }

    /// Bytes.
    pub fn size(self) -> usize {
        match self {
            Self::Ub | Self::B => 1,
            Self::Uw | Self::W | Self::Hf => 2,
            Self::Ud | Self::D | Self::F => 4,
            Self::Uq | Self::Q | Self::Df => 8,
        }
    }

    pub fn is_float(self) -> bool {
        matches!(self, Self::Hf | Self::F | Self::Df)
    }

    pub fn is_signed(self) -> bool {
        self.is_float() || matches!(self, Self::B | Self::W | Self::D | Self::Q)
    }

    /// The bit of a float's sign.
    pub fn sign(self) -> u64 {
        1 << (8 * self.size() - 1)
    }

    /// The least and the largest integer; those of an integer register for a float.
    pub fn range(self) -> (i128, i128) {
        let bits = 8 * self.size() as u32;
        if self.is_signed() { (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) } else { (0, (1 << bits) - 1) }
    }

    /// The value of as many of the lower bits as the type has.
    pub fn value(self, bits: u64) -> Value {
        match self {
            Self::Ub => Value::Integer((bits as u8).into()),
            Self::B => Value::Integer((bits as i8).into()),
            Self::Uw => Value::Integer((bits as u16).into()),
            Self::W => Value::Integer((bits as i16).into()),
            Self::Ud => Value::Integer((bits as u32).into()),
            Self::D => Value::Integer((bits as i32).into()),
            Self::Uq => Value::Integer(bits.into()),
            Self::Q => Value::Integer((bits as i64).into()),
            Self::Hf | Self::F | Self::Df => Value::Float(float::value(self.size(), bits)),
        }
    }
}

impl ImmediateType {
    /// The type of an immediate with this code: vectors have codes of their own, and those of bytes and of 64 bits. Immediates of
    /// 64 bits are not known.
    pub fn of(form: Form, code: u64) -> Option<Self> {
        let [unsigned4, signed4, float8] = match form {
            Form::Gen7 | Form::Gen8 => [4, 6, 5],
            Form::Gen11 => [4, 5, 11],
            Form::Gen12 | Form::XeHp => [0, 4, 8],
        };
        // Codes of gen8 that immediates have in another order.
        let scalar = match (form, code) {
            (Form::Gen8, 10) => None,
            (Form::Gen8, 11) => Some(Type::Hf),
            _ => Type::of_register(form, code).filter(|kind| kind.size() < 8),
        };
        match code {
            _ if code == unsigned4 => Some(Self::Unsigned4),
            _ if code == signed4 => Some(Self::Signed4),
            _ if code == float8 => Some(Self::Float8),
            _ => scalar.map(Self::Scalar),
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

    /// The bits of a channel's value.
    pub fn bits(self, word: u32, channel: usize) -> u64 {
        let four = word >> (4 * (channel % 8)) & 0xf;
        match self {
            Self::Scalar(_) => word.into(),
            Self::Unsigned4 => four.into(),
            Self::Signed4 => ((four as i64 ^ 8) - 8) as u64,
            Self::Float8 => float8(word >> (8 * (channel % 4)) & 0xff).into(),
        }
    }
}

/// A sign, three bits of exponent with bias 3, four bits of fraction; without these it is zero.
fn float8(bits: u32) -> u32 {
    let sign = bits >> 7 << 31;
    match bits & 0x7f {
        0 => sign,
        _ => sign | ((bits >> 4 & 7) + 127 - 3) << 23 | (bits & 0xf) << 19,
    }
}

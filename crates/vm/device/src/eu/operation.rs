//! Operations of one channel on values.

use super::layout::Form;

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    Move,
    Select,
    Not,
    And,
    Or,
    Xor,
    ShiftRight,
    ShiftLeft,
    ShiftSigned,
    Compare,
    Add,
    Multiply,
    ReverseBits,
    RoundDown,
    RoundEven,
    RoundToZero,
    LeadingZeros,
    FirstBit,
    CountBits,
    Math(Function),
}

/// Functions of `math`.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Function {
    Logarithm,
    Exponential,
    Root,
    InverseRoot,
    Sine,
    Cosine,
    Ratio,
    /// Of integers.
    Quotient,
    Remainder,
}

/// Opcodes before gen12, and from gen12 on.
const OPCODES: [(u64, u64, Operation); 19] = [
    (1, 97, Operation::Move),
    (2, 98, Operation::Select),
    (4, 100, Operation::Not),
    (5, 101, Operation::And),
    (6, 102, Operation::Or),
    (7, 103, Operation::Xor),
    (8, 104, Operation::ShiftRight),
    (9, 105, Operation::ShiftLeft),
    (12, 108, Operation::ShiftSigned),
    (16, 112, Operation::Compare),
    (23, 119, Operation::ReverseBits),
    (64, 64, Operation::Add),
    (65, 65, Operation::Multiply),
    (69, 69, Operation::RoundDown),
    (70, 70, Operation::RoundEven),
    (71, 71, Operation::RoundToZero),
    (74, 74, Operation::LeadingZeros),
    (76, 76, Operation::FirstBit),
    (77, 77, Operation::CountBits),
];
const MATH: u64 = 56;
const FUNCTIONS: [(u64, Function); 9] = [
    (2, Function::Logarithm),
    (3, Function::Exponential),
    (4, Function::Root),
    (5, Function::InverseRoot),
    (6, Function::Sine),
    (7, Function::Cosine),
    (9, Function::Ratio),
    (12, Function::Quotient),
    (13, Function::Remainder),
];

impl Operation {
    /// The operation with this opcode, and for `math` with this function.
    pub fn of(form: Form, opcode: u64, function: u64) -> Result<Self, String> {
        if opcode == MATH {
            let found = FUNCTIONS.iter().find(|row| row.0 == function);
            return found.map(|row| Self::Math(row.1)).ok_or_else(|| format!("function {function} of math"));
        }
        let new = form >= Form::Gen12;
        let found = OPCODES.iter().find(|row| opcode == if new { row.1 } else { row.0 });
        found.map(|row| row.2).ok_or_else(|| format!("opcode {opcode}"))
    }

    /// The number of sources.
    pub fn sources(self) -> usize {
        match self {
            Self::Select
            | Self::And
            | Self::Or
            | Self::Xor
            | Self::ShiftRight
            | Self::ShiftLeft
            | Self::ShiftSigned
            | Self::Compare
            | Self::Add
            | Self::Multiply
            | Self::Math(Function::Ratio | Function::Quotient | Function::Remainder) => 2,
            Self::Move
            | Self::Not
            | Self::ReverseBits
            | Self::RoundDown
            | Self::RoundEven
            | Self::RoundToZero
            | Self::LeadingZeros
            | Self::FirstBit
            | Self::CountBits
            | Self::Math(_) => 1,
        }
    }

    /// Operations on bits: a negated source is an inverted one.
    pub fn is_logical(self) -> bool {
        matches!(self, Self::Not | Self::And | Self::Or | Self::Xor)
    }

    /// Operations on the bits of a dword, whose result is a number or a dword.
    pub fn is_of_dwords(self) -> bool {
        matches!(self, Self::ReverseBits | Self::LeadingZeros | Self::FirstBit | Self::CountBits)
    }

    pub fn rounds(self) -> bool {
        matches!(self, Self::RoundDown | Self::RoundEven | Self::RoundToZero)
    }

    /// Operations that floats have.
    pub fn has_floats(self) -> bool {
        matches!(self, Self::Move | Self::Select | Self::Compare | Self::Add | Self::Multiply | Self::Math(_))
            || self.rounds()
    }

    /// The exact result on integers; of a shift's count, five bits matter, or six if the operation is `wide`.
    pub fn on_integers(self, first: i128, second: i128, wide: bool) -> Result<i128, String> {
        let count = second as u32 & if wide { 63 } else { 31 };
        let dword = first as u32;
        Ok(match self {
            Self::Move | Self::Select | Self::Compare => first,
            Self::Not => !first,
            Self::And => first & second,
            Self::Or => first | second,
            Self::Xor => first ^ second,
            Self::ShiftRight | Self::ShiftSigned => first >> count,
            Self::ShiftLeft => first << count,
            Self::Add => first + second,
            Self::Multiply => first.wrapping_mul(second),
            Self::ReverseBits => dword.reverse_bits().into(),
            Self::LeadingZeros => dword.leading_zeros().into(),
            Self::FirstBit if dword == 0 => u32::MAX.into(),
            Self::FirstBit => dword.trailing_zeros().into(),
            Self::CountBits => dword.count_ones().into(),
            Self::Math(Function::Quotient | Function::Remainder) if second == 0 => {
                return Err(format!("{first} divided by 0"));
            }
            // Both are cut towards zero: the remainder has the sign of the dividend.
            Self::Math(Function::Quotient) => first / second,
            Self::Math(Function::Remainder) => first % second,
            Self::RoundDown | Self::RoundEven | Self::RoundToZero | Self::Math(_) => {
                return Err("an operation on floats with integers".into());
            }
        })
    }

    /// The result on floats, as a double: see [`super::float`].
    pub fn on_floats(self, first: f64, second: f64) -> Result<f64, String> {
        Ok(match self {
            Self::Move | Self::Select | Self::Compare => first,
            Self::Add => first + second,
            Self::Multiply => first * second,
            Self::RoundDown => first.floor(),
            Self::RoundEven => first.round_ties_even(),
            Self::RoundToZero => first.trunc(),
            Self::Math(Function::Logarithm) => first.log2(),
            Self::Math(Function::Exponential) => first.exp2(),
            Self::Math(Function::Root) => first.sqrt(),
            Self::Math(Function::InverseRoot) => 1.0 / first.sqrt(),
            Self::Math(Function::Sine) => first.sin(),
            Self::Math(Function::Cosine) => first.cos(),
            Self::Math(Function::Ratio) => first / second,
            Self::Not
            | Self::And
            | Self::Or
            | Self::Xor
            | Self::ShiftRight
            | Self::ShiftLeft
            | Self::ShiftSigned
            | Self::ReverseBits
            | Self::LeadingZeros
            | Self::FirstBit
            | Self::CountBits
            | Self::Math(Function::Quotient | Function::Remainder) => {
                return Err("an operation on integers with floats".into());
            }
        })
    }
}

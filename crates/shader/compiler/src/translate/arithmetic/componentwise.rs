//! Operations on vectors that are one operation for each component.

use rspirv::dr;
use rspirv::spirv::Op;

use crate::Error;
use crate::ir::{Binary, Comparison, Conversion, Operation, Scalar, Unary};
use crate::spirv::types::malformed;
use crate::translate::Translator;
use crate::translate::arithmetic::operations::signed;
use crate::translate::values::data::Data;

/// An operation on the components of vectors.
pub(in crate::translate) enum Componentwise {
    /// An operation on one number.
    Unary(Unary),
    /// An operation on two.
    Binary(Binary),
    /// A shift, whose second operand may have another type.
    Shift(Binary),
    /// A comparison.
    Compare(Comparison),
    /// The operands change places.
    CompareSwapped(Comparison),
    /// The result is inverted: true if one is not a number.
    CompareInverted(Comparison),
    /// The operands change places, and the result is inverted.
    CompareSwappedInverted(Comparison),
    /// The number of bits that are set, in an integer of any width.
    Count,
    /// A conversion.
    Convert(Conversion),
    /// The result is an integer with a sign, whatever the sign of its type.
    ConvertToSigned,
}

/// Returns the operation of an opcode.
pub(in crate::translate) fn componentwise(opcode: Op) -> Option<Componentwise> {
    use Componentwise::{
        Binary as B, Compare as C, CompareInverted as Ci, CompareSwapped as Cs,
        CompareSwappedInverted as Csi, Convert as V, Shift as S, Unary as U,
    };
    let (signed, plain) = (true, false);
    Some(match opcode {
        Op::SNegate | Op::FNegate => U(Unary::Negate),
        Op::Not | Op::LogicalNot => U(Unary::Not),
        Op::BitCount => Componentwise::Count,
        Op::BitReverse => U(Unary::BitReverse),
        Op::IAdd | Op::FAdd => B(Binary::Add),
        Op::ISub | Op::FSub => B(Binary::Subtract),
        Op::IMul | Op::FMul => B(Binary::Multiply),
        Op::UDiv | Op::FDiv => B(Binary::Divide { signed: plain }),
        Op::SDiv => B(Binary::Divide { signed }),
        Op::UMod => B(Binary::Remainder { signed: plain }),
        Op::SRem => B(Binary::Remainder { signed }),
        Op::BitwiseAnd | Op::LogicalAnd => B(Binary::And),
        Op::BitwiseOr | Op::LogicalOr => B(Binary::Or),
        Op::BitwiseXor | Op::LogicalNotEqual => B(Binary::Xor),
        Op::ShiftLeftLogical => S(Binary::ShiftLeft),
        Op::ShiftRightLogical => S(Binary::ShiftRight { signed: plain }),
        Op::ShiftRightArithmetic => S(Binary::ShiftRight { signed }),
        Op::IEqual | Op::FOrdEqual | Op::LogicalEqual => C(Comparison::Equal),
        Op::INotEqual | Op::FUnordNotEqual => C(Comparison::Unequal),
        Op::ULessThan | Op::FOrdLessThan => C(Comparison::Less { signed: plain }),
        Op::SLessThan => C(Comparison::Less { signed }),
        Op::ULessThanEqual | Op::FOrdLessThanEqual => C(Comparison::LessOrEqual { signed: plain }),
        Op::SLessThanEqual => C(Comparison::LessOrEqual { signed }),
        Op::UGreaterThan | Op::FOrdGreaterThan => Cs(Comparison::Less { signed: plain }),
        Op::SGreaterThan => Cs(Comparison::Less { signed }),
        Op::UGreaterThanEqual | Op::FOrdGreaterThanEqual => Cs(Comparison::LessOrEqual { signed: plain }),
        Op::SGreaterThanEqual => Cs(Comparison::LessOrEqual { signed }),
        Op::FUnordGreaterThanEqual => Ci(Comparison::Less { signed: plain }),
        Op::FUnordGreaterThan => Ci(Comparison::LessOrEqual { signed: plain }),
        Op::FUnordLessThanEqual => Csi(Comparison::Less { signed: plain }),
        Op::FUnordLessThan => Csi(Comparison::LessOrEqual { signed: plain }),
        Op::SConvert | Op::ConvertSToF => V(Conversion::Signed),
        Op::UConvert | Op::ConvertUToF => V(Conversion::Unsigned),
        Op::FConvert => V(Conversion::Float),
        Op::ConvertFToS => Componentwise::ConvertToSigned,
        Op::ConvertFToU => V(Conversion::FloatToUnsigned),
        _ => return None,
    })
}

impl Translator<'_> {
    /// Translates an operation on the components of vectors.
    pub(in crate::translate) fn componentwise(
        &mut self,
        one: &dr::Instruction,
        operation: &Componentwise,
    ) -> Result<Data, Error> {
        let kind = self.kind(one)?;
        let first = self.operand(one, 0)?;
        let has_two = !matches!(
            operation,
            Componentwise::Unary(_)
                | Componentwise::Count
                | Componentwise::Convert(_)
                | Componentwise::ConvertToSigned
        );
        let second = if has_two { self.operand(one, 1)? } else { first.clone() };
        if first.len() != second.len() {
            return Err(malformed(one, "its operands have different numbers of components"));
        }
        let mut data = Data::new();
        for (a, b) in first.into_iter().zip(second) {
            let value = match *operation {
                Componentwise::Unary(unary) => self.make(kind, Operation::Unary(unary, a))?,
                Componentwise::Count => {
                    let count = self.make(self.program.kind(a), Operation::Unary(Unary::BitCount, a))?;
                    self.convert_to(kind, count)?
                }
                Componentwise::Binary(binary) => self.make(kind, Operation::Binary(binary, a, b))?,
                Componentwise::Shift(shift) => {
                    let count = self.convert_to(kind, b)?;
                    self.make(kind, Operation::Binary(shift, a, count))?
                }
                Componentwise::Compare(comparison) => self.compare(comparison, a, b)?,
                Componentwise::CompareSwapped(comparison) => self.compare(comparison, b, a)?,
                Componentwise::CompareInverted(comparison) => {
                    let is = self.compare(comparison, a, b)?;
                    self.make(Scalar::Bool, Operation::Unary(Unary::Not, is))?
                }
                Componentwise::CompareSwappedInverted(comparison) => {
                    let is = self.compare(comparison, b, a)?;
                    self.make(Scalar::Bool, Operation::Unary(Unary::Not, is))?
                }
                Componentwise::Convert(conversion) => {
                    let from = self.program.kind(a);
                    self.make(kind, Operation::Convert(conversion, from, a))?
                }
                Componentwise::ConvertToSigned => {
                    let (from, to) = (self.program.kind(a), signed(kind));
                    let value = self.make(to, Operation::Convert(Conversion::Float, from, a))?;
                    self.retyped(kind, value)?
                }
            };
            data.push(value);
        }
        Ok(data)
    }
}

//! Arithmetic and operations on bits.

#![expect(clippy::wildcard_enum_match_arm, reason = "SPIR-V has hundreds of opcodes, and gets more")]

use rspirv::dr;
use rspirv::spirv::{Op, Word};

use super::{Checker, Shape, float, integer, same_count, same_width, unsigned};
use crate::Error;
use crate::spirv::types::{Type, malformed};

impl Checker<'_> {
    /// Validates an operation on numbers; returns whether it is one.
    pub(super) fn arithmetic(&self, one: &dr::Instruction) -> Result<bool, Error> {
        match one.class.opcode {
            Op::FAdd | Op::FSub | Op::FMul | Op::FDiv | Op::FRem | Op::FMod | Op::FNegate => {
                self.result_of(one, float, "floats")?;
                self.have_type(one, 0, self.result(one)?)?;
            }
            Op::DPdx | Op::DPdy | Op::Fwidth => {
                let (kind, _) = self.result_of(one, float, "floats")?;
                if kind.bits() != 32 {
                    return Err(malformed(one, "its floats have other than 32 bits"));
                }
                self.have_type(one, 0, self.result(one)?)?;
            }
            Op::UDiv | Op::UMod => {
                self.result_of(one, unsigned, "unsigned integers")?;
                self.have_type(one, 0, self.result(one)?)?;
            }
            Op::IAdd
            | Op::ISub
            | Op::IMul
            | Op::SDiv
            | Op::SRem
            | Op::SMod
            | Op::SNegate
            | Op::BitwiseAnd
            | Op::BitwiseOr
            | Op::BitwiseXor
            | Op::Not => {
                let result = self.result_of(one, integer, "integers")?;
                (0..one.operands.len()).try_for_each(|place| self.is_alike(one, place, result))?;
            }
            Op::ShiftLeftLogical | Op::ShiftRightLogical | Op::ShiftRightArithmetic => {
                let result = self.result_of(one, integer, "integers")?;
                self.is_alike(one, 0, result)?;
                let (_, count) = self.operand_of(one, 1, integer, "integers")?;
                same_count(one, count, result.1)?;
            }
            Op::BitFieldInsert | Op::BitFieldSExtract | Op::BitFieldUExtract | Op::BitReverse => {
                self.result_of(one, integer, "integers")?;
                let fields = if one.class.opcode == Op::BitFieldInsert { 2 } else { 1 };
                (0..fields).try_for_each(|place| self.has_type(one, place, self.result(one)?))?;
                (fields..one.operands.len()).try_for_each(|place| self.is_integer(one, place))?;
            }
            Op::BitCount => {
                let (_, result) = self.result_of(one, integer, "integers")?;
                let (_, count) = self.operand_of(one, 0, integer, "integers")?;
                same_count(one, count, result)?;
            }
            Op::IAddCarry | Op::ISubBorrow | Op::UMulExtended | Op::SMulExtended => {
                let Some(Type::Struct { members }) = self.globals.types.get(&self.result(one)?) else {
                    return Err(malformed(one, "its type is no struct"));
                };
                let is = if one.class.opcode == Op::SMulExtended { integer } else { unsigned };
                match *members.as_slice() {
                    [low, high] if low == high && self.shape(low).is_some_and(|(kind, _)| is(kind)) => {
                        self.have_type(one, 0, low)?;
                    }
                    _ => return Err(malformed(one, "its type has not two members of one type of integers")),
                }
            }
            Op::Dot
            | Op::VectorTimesScalar
            | Op::MatrixTimesScalar
            | Op::VectorTimesMatrix
            | Op::MatrixTimesVector
            | Op::MatrixTimesMatrix
            | Op::OuterProduct => self.product_of(one)?,
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Checks that an operand has integers of the result's number and width; the sign may differ.
    fn is_alike(&self, one: &dr::Instruction, place: usize, (kind, count): Shape) -> Result<(), Error> {
        let (own, own_count) = self.operand_of(one, place, integer, "integers")?;
        same_count(one, own_count, count)?;
        same_width(one, own, kind)
    }

    /// Returns the rows and the columns of a value's type, and the type of its numbers. A vector on the left has one row, and one on the
    /// right one column.
    fn sides(&self, of: Word, is_left: bool) -> Option<[u32; 2]> {
        match self.globals.types.get(&of)? {
            Type::Matrix { column, count } => Some([self.shape(*column)?.1, *count]),
            Type::Vector { count, .. } => Some(if is_left { [1, *count] } else { [*count, 1] }),
            Type::Void
            | Type::Scalar(_)
            | Type::Array { .. }
            | Type::Struct { .. }
            | Type::Pointer { .. }
            | Type::Function { .. } => None,
        }
    }

    /// Returns the type of the numbers of a number, a vector or a matrix.
    pub(super) fn number_of(&self, of: Word) -> Option<crate::ir::Scalar> {
        match self.globals.types.get(&of)? {
            Type::Matrix { column, .. } => self.number_of(*column),
            _ => self.shape(of).map(|(kind, _)| kind),
        }
    }

    /// Validates a product of vectors and matrices.
    fn product_of(&self, one: &dr::Instruction) -> Result<(), Error> {
        let (result, left, right) = (self.result(one)?, self.of(one, 0)?, self.of(one, 1)?);
        let misfit = || {
            malformed(
                one,
                &format!("operands of types %{left} and %{right} have no product of type %{result}"),
            )
        };
        let kind = self.number_of(result).filter(|kind| float(*kind)).ok_or_else(misfit)?;
        if self.number_of(left) != Some(kind) || self.number_of(right) != Some(kind) {
            return Err(misfit());
        }
        let is_vector = |of: Word| matches!(self.globals.types.get(&of), Some(Type::Vector { .. }));
        let is_matrix = |of: Word| matches!(self.globals.types.get(&of), Some(Type::Matrix { .. }));
        let is_number = |of: Word| matches!(self.globals.types.get(&of), Some(Type::Scalar(_)));
        let sides = (self.sides(left, true), self.sides(right, false));
        let fits = match one.class.opcode {
            Op::Dot => is_number(result) && is_vector(left) && left == right,
            Op::VectorTimesScalar => is_vector(result) && left == result && is_number(right),
            Op::MatrixTimesScalar => is_matrix(result) && left == result && is_number(right),
            Op::OuterProduct => {
                let (rows, columns) = (self.shape(left), self.shape(right));
                is_vector(left)
                    && is_vector(right)
                    && is_matrix(result)
                    && self.sides(result, true) == rows.zip(columns).map(|(a, b)| [a.1, b.1])
            }
            opcode => match sides {
                (Some([rows, inner]), Some([inner_too, columns])) => {
                    let [is_row, is_column] =
                        [opcode == Op::VectorTimesMatrix, opcode == Op::MatrixTimesVector];
                    let own = self.sides(result, is_row);
                    is_vector(left) == is_row
                        && is_vector(right) == is_column
                        && is_vector(result) == (is_row || is_column)
                        && inner == inner_too
                        && own == Some([rows, columns])
                }
                _ => false,
            },
        };
        if fits { Ok(()) } else { Err(misfit()) }
    }
}

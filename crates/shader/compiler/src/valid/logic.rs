//! Comparisons, operations on booleans, and choices.

#![expect(clippy::wildcard_enum_match_arm, reason = "SPIR-V has hundreds of opcodes, and gets more")]

use rspirv::dr;
use rspirv::spirv::Op;

use super::{Checker, boolean, float, integer, same_count, same_width};
use crate::Error;
use crate::spirv::types::{Type, malformed};

impl Checker<'_> {
    /// Validates an operation on booleans or one that compares; returns whether it is one.
    pub(super) fn logic(&self, one: &dr::Instruction) -> Result<bool, Error> {
        match one.class.opcode {
            Op::Any | Op::All => {
                let result = self.result_of(one, boolean, "boolean")?;
                let (_, count) = self.operand_of(one, 0, boolean, "boolean")?;
                if result.1 != 1 || count == 1 {
                    return Err(malformed(one, "it makes no boolean of a vector"));
                }
            }
            Op::IsNan | Op::IsInf => {
                let (_, result) = self.result_of(one, boolean, "boolean")?;
                let (_, count) = self.operand_of(one, 0, float, "floats")?;
                same_count(one, count, result)?;
            }
            Op::FOrdEqual
            | Op::FUnordEqual
            | Op::FOrdNotEqual
            | Op::FUnordNotEqual
            | Op::FOrdLessThan
            | Op::FUnordLessThan
            | Op::FOrdGreaterThan
            | Op::FUnordGreaterThan
            | Op::FOrdLessThanEqual
            | Op::FUnordLessThanEqual
            | Op::FOrdGreaterThanEqual
            | Op::FUnordGreaterThanEqual => {
                let (_, result) = self.result_of(one, boolean, "boolean")?;
                let (_, count) = self.operand_of(one, 0, float, "floats")?;
                same_count(one, count, result)?;
                self.has_type(one, 1, self.of(one, 0)?)?;
            }
            Op::IEqual
            | Op::INotEqual
            | Op::UGreaterThan
            | Op::SGreaterThan
            | Op::UGreaterThanEqual
            | Op::SGreaterThanEqual
            | Op::ULessThan
            | Op::SLessThan
            | Op::ULessThanEqual
            | Op::SLessThanEqual => {
                let (_, result) = self.result_of(one, boolean, "boolean")?;
                let (first, count) = self.operand_of(one, 0, integer, "integers")?;
                let (second, other) = self.operand_of(one, 1, integer, "integers")?;
                same_count(one, count, result)?;
                same_count(one, other, result)?;
                same_width(one, first, second)?;
            }
            Op::LogicalEqual | Op::LogicalNotEqual | Op::LogicalOr | Op::LogicalAnd | Op::LogicalNot => {
                self.result_of(one, boolean, "boolean")?;
                self.have_type(one, 0, self.result(one)?)?;
            }
            Op::Select => self.choice(one)?,
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Validates a choice. One boolean for all components, and composites, are allowed from SPIR-V 1.4 on.
    fn choice(&self, one: &dr::Instruction) -> Result<(), Error> {
        let result = self.result(one)?;
        self.has_type(one, 1, result)?;
        self.has_type(one, 2, result)?;
        let (_, count) = self.operand_of(one, 0, boolean, "boolean")?;
        let own = match self.globals.types.get(&result) {
            Some(Type::Scalar(_) | Type::Pointer { .. }) => 1,
            Some(Type::Vector { count: own, .. }) if self.minor < 4 || count != 1 => *own,
            Some(Type::Vector { .. }) => 1,
            Some(Type::Matrix { .. } | Type::Array { .. } | Type::Struct { .. }) if self.minor >= 4 => 1,
            _ => {
                return Err(malformed(
                    one,
                    &format!("no value of type %{result} is chosen before SPIR-V 1.4"),
                ));
            }
        };
        same_count(one, count, own)
    }
}

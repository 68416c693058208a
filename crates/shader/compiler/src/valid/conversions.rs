//! Conversions between types.

#![expect(clippy::wildcard_enum_match_arm, reason = "SPIR-V has hundreds of opcodes, and gets more")]

use rspirv::dr;
use rspirv::spirv::Op;

use super::{Checker, float, integer, same_count, unsigned};
use crate::Error;
use crate::ir::Scalar;
use crate::spirv::types::{Type, id, malformed};

impl Checker<'_> {
    /// Validates a conversion; returns whether it is one.
    pub(super) fn conversion(&self, one: &dr::Instruction) -> Result<bool, Error> {
        type Is = (fn(Scalar) -> bool, &'static str);
        let (floats, integers): (Is, Is) = ((float, "floats"), (integer, "integers"));
        let unsigned: Is = (unsigned, "unsigned integers");
        let (to, from, changes_width) = match one.class.opcode {
            Op::ConvertFToU => (unsigned, floats, false),
            Op::ConvertFToS => (integers, floats, false),
            Op::ConvertSToF | Op::ConvertUToF => (floats, integers, false),
            Op::UConvert => (unsigned, integers, true),
            Op::SConvert => (integers, integers, true),
            Op::FConvert => (floats, floats, true),
            Op::Bitcast => return self.cast(one).map(|()| true),
            Op::CopyObject => {
                // A pointer is copied, too.
                self.has_type(one, 0, self.result(one)?)?;
                return Ok(true);
            }
            Op::CopyLogical => {
                let (result, of) = (self.result(one)?, self.of(one, 0)?);
                if result == of || !self.matches(result, of) {
                    return Err(malformed(
                        one,
                        &format!("%{of} and %{result} are no types of the same parts"),
                    ));
                }
                return Ok(true);
            }
            _ => return Ok(false),
        };
        let (result, count) = self.result_of(one, to.0, to.1)?;
        let (operand, own) = self.operand_of(one, 0, from.0, from.1)?;
        same_count(one, own, count)?;
        if changes_width && result.bits() == operand.bits() {
            let name = format!("{operand} is converted to {result}, which has the same width");
            return Err(malformed(one, &name));
        }
        Ok(true)
    }

    /// Validates a bit cast of numbers: both types have the same number of bits.
    fn cast(&self, one: &dr::Instruction) -> Result<(), Error> {
        let number = |kind| kind != Scalar::Bool;
        let (result, count) = self.result_of(one, number, "numbers")?;
        let (operand, own) = self.operand_of(one, 0, number, "numbers")?;
        let (bits, own_bits) = (u32::from(result.bits()) * count, u32::from(operand.bits()) * own);
        if bits != own_bits {
            let operand = id(one, 0)?;
            return Err(malformed(one, &format!("%{operand} has {own_bits} bits, and the result {bits}")));
        }
        Ok(())
    }

    /// Returns whether two types are structs or arrays of the same parts, apart from decorations.
    fn matches(&self, a: u32, b: u32) -> bool {
        match (self.globals.types.get(&a), self.globals.types.get(&b)) {
            (Some(Type::Array { of: a, count }), Some(Type::Array { of: b, count: other })) => {
                count == other && (a == b || self.matches(*a, *b))
            }
            (Some(Type::Struct { members: a }), Some(Type::Struct { members: b })) => {
                a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a == b || self.matches(*a, *b))
            }
            _ => false,
        }
    }
}

//! The constants of a module, with the chosen values of specialization constants.

#![expect(clippy::wildcard_enum_match_arm, reason = "SPIR-V has hundreds of opcodes, and gets more")]

use std::collections::BTreeMap;

use rspirv::dr::{self, Operand};
use rspirv::spirv::{Op, Word};

use crate::Error;
use crate::ir::Scalar;
use crate::spirv::fold;
use crate::spirv::types::{Globals, Type, id, literal, malformed};

/// Largest number of numbers of a value, a constant or a variable.
pub(crate) const MOST_NUMBERS: u64 = 256;

/// A constant value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Constant {
    /// The bits of a number; 0 or 1 of a boolean.
    Scalar(Scalar, u64),
    /// The parts of a vector, matrix, array or struct.
    Composite(Vec<Constant>),
}

impl Globals {
    /// Returns the constant that an instruction declares, if it declares one.
    pub(crate) fn constant_of(
        &self,
        one: &dr::Instruction,
        result: Word,
        values: &BTreeMap<Word, u64>,
    ) -> Result<Option<Constant>, Error> {
        let boolean = |value: bool| Some(Constant::Scalar(Scalar::Bool, u64::from(value)));
        let chosen = values.get(&result).copied();
        Ok(match one.class.opcode {
            Op::ConstantTrue => boolean(true),
            Op::ConstantFalse => boolean(false),
            Op::SpecConstantTrue => boolean(chosen.is_none_or(|value| value != 0)),
            Op::SpecConstantFalse => boolean(chosen.is_some_and(|value| value != 0)),
            Op::Constant | Op::SpecConstant => {
                let Type::Scalar(scalar) = *self.result_type(one)? else {
                    return Err(malformed(one, "its type is no number"));
                };
                let bits = match (one.operands.first(), chosen) {
                    (_, Some(value)) => value,
                    (Some(Operand::LiteralBit32(bits)), None) => u64::from(*bits),
                    (Some(Operand::LiteralBit64(bits)), None) => *bits,
                    _ => return Err(malformed(one, "an operand is no number")),
                };
                Some(Constant::Scalar(scalar, scalar.masked(bits)))
            }
            Op::ConstantNull | Op::Undef => {
                let of = one.result_type.unwrap_or_default();
                self.bounded(one, of)?;
                Some(self.null(one, of)?)
            }
            Op::ConstantComposite | Op::SpecConstantComposite => {
                let of = one.result_type.unwrap_or_default();
                self.bounded(one, of)?;
                let parts = (0..one.operands.len()).map(|place| self.constant(one, place).cloned());
                let whole = Constant::Composite(parts.collect::<Result<_, _>>()?);
                if !self.fits(&whole, of) {
                    return Err(malformed(one, "its parts do not have the types of its type's parts"));
                }
                Some(whole)
            }
            Op::SpecConstantOp => {
                let of = one.result_type.unwrap_or_default();
                let result = self.folded(one)?;
                if !self.fits(&result, of) {
                    return Err(malformed(one, "its result does not have its type"));
                }
                Some(result)
            }
            _ => None,
        })
    }

    /// Returns the constant that is an operand.
    pub(crate) fn constant(&self, one: &dr::Instruction, place: usize) -> Result<&Constant, Error> {
        self.constants.get(&id(one, place)?).ok_or_else(|| malformed(one, "an operand is no constant"))
    }

    /// Checks that a type has no more numbers than a value may have.
    fn bounded(&self, one: &dr::Instruction, of: Word) -> Result<(), Error> {
        match self.size(of) {
            Some(size) if size.numbers <= MOST_NUMBERS => Ok(()),
            Some(_) => Err(Error::Type { name: format!("constants of more than {MOST_NUMBERS} numbers") }),
            None => Err(malformed(one, "its type is not known")),
        }
    }

    /// Returns whether a constant has the parts and the numbers of a type.
    fn fits(&self, constant: &Constant, of: Word) -> bool {
        let (parts, kind) = match (constant, self.types.get(&of)) {
            (Constant::Scalar(own, _), Some(Type::Scalar(kind))) => return own == kind,
            (Constant::Composite(parts), Some(kind)) => (parts, kind),
            _ => return false,
        };
        match kind {
            Type::Vector { of, count } => {
                let is_number = |part: &Constant| matches!(part, Constant::Scalar(kind, _) if kind == of);
                parts.len() == *count as usize && parts.iter().all(is_number)
            }
            Type::Matrix { column: of, count } => {
                parts.len() == *count as usize && parts.iter().all(|part| self.fits(part, *of))
            }
            Type::Array { of, count: Some(count) } => {
                parts.len() as u64 == *count && parts.iter().all(|part| self.fits(part, *of))
            }
            Type::Struct { members } => {
                let mut pairs = parts.iter().zip(members);
                parts.len() == members.len() && pairs.all(|(part, member)| self.fits(part, *member))
            }
            Type::Void
            | Type::Scalar(_)
            | Type::Array { count: None, .. }
            | Type::Pointer { .. }
            | Type::Function { .. } => false,
        }
    }

    /// Returns the zeroes of a type, whose size is bounded.
    fn null(&self, one: &dr::Instruction, of: Word) -> Result<Constant, Error> {
        let parts = |of: Word, count: u64| {
            let part = self.null(one, of)?;
            Ok::<_, Error>(Constant::Composite(vec![part; count as usize]))
        };
        match self.types.get(&of) {
            Some(Type::Scalar(scalar)) => Ok(Constant::Scalar(*scalar, 0)),
            Some(Type::Vector { of, count }) => {
                Ok(Constant::Composite(vec![Constant::Scalar(*of, 0); *count as usize]))
            }
            Some(Type::Matrix { column, count }) => parts(*column, u64::from(*count)),
            Some(Type::Array { of, count: Some(count) }) => parts(*of, *count),
            Some(Type::Struct { members }) => {
                let members = members.iter().map(|member| self.null(one, *member));
                Ok(Constant::Composite(members.collect::<Result<_, _>>()?))
            }
            Some(
                Type::Void | Type::Array { count: None, .. } | Type::Pointer { .. } | Type::Function { .. },
            )
            | None => Err(malformed(one, "its type has no zero")),
        }
    }

    /// Returns the result of an operation on constants.
    fn folded(&self, one: &dr::Instruction) -> Result<Constant, Error> {
        let Some(Operand::LiteralSpecConstantOpInteger(opcode)) = one.operands.first() else {
            return Err(malformed(one, "an operand is no opcode"));
        };
        let refused = || Error::Opcode { name: format!("Op{opcode:?} of constants") };
        let operand = |place| self.constant(one, place);
        let indices = |from: usize| (from..one.operands.len()).map(|place| literal(one, place));
        match opcode {
            Op::CompositeExtract => {
                let mut part = operand(1)?;
                for index in indices(2) {
                    part = fold::part(part, index?).ok_or_else(|| malformed(one, "a part does not exist"))?;
                }
                Ok(part.clone())
            }
            Op::CompositeInsert => {
                let mut whole = operand(2)?.clone();
                let mut part = &mut whole;
                for index in indices(3) {
                    part = fold::part_mut(part, index?)
                        .ok_or_else(|| malformed(one, "a part does not exist"))?;
                }
                *part = operand(1)?.clone();
                Ok(whole)
            }
            _ => {
                let (of, count) = match self.result_type(one)? {
                    Type::Scalar(scalar) => (*scalar, None),
                    Type::Vector { of, count } => (*of, Some(*count)),
                    Type::Void
                    | Type::Matrix { .. }
                    | Type::Array { .. }
                    | Type::Struct { .. }
                    | Type::Pointer { .. }
                    | Type::Function { .. } => return Err(refused()),
                };
                let operands: Vec<_> = (1..one.operands.len()).map(operand).collect::<Result<_, _>>()?;
                let component = |place: u32| {
                    let scalars: Option<Vec<_>> =
                        operands.iter().map(|operand| fold::component(operand, place)).collect();
                    let scalars = scalars.ok_or_else(|| malformed(one, "a component does not exist"))?;
                    let bits = fold::operation(*opcode, of, &scalars).ok_or_else(refused)?;
                    Ok::<_, Error>(Constant::Scalar(of, of.masked(bits)))
                };
                match count {
                    None => component(0),
                    Some(count) => {
                        Ok(Constant::Composite((0..count).map(component).collect::<Result<_, _>>()?))
                    }
                }
            }
        }
    }
}

//! Composites: vectors, matrices, arrays and structs.

#![expect(clippy::wildcard_enum_match_arm, reason = "SPIR-V has hundreds of opcodes, and gets more")]

use rspirv::dr;
use rspirv::spirv::{Op, Word};

use super::Checker;
use crate::Error;
use crate::spirv::types::{Type, literal, malformed};

impl Checker<'_> {
    /// Validates an operation on composites; returns whether it is one.
    pub(super) fn composite(&self, one: &dr::Instruction) -> Result<bool, Error> {
        match one.class.opcode {
            Op::CompositeConstruct => self.construction(one)?,
            Op::CompositeExtract => {
                let part = self.part_of(one, self.of(one, 0)?, 1)?;
                if part != self.result(one)? {
                    return Err(malformed(one, &format!("the part has type %{part}")));
                }
            }
            Op::CompositeInsert => {
                self.has_type(one, 1, self.result(one)?)?;
                self.has_type(one, 0, self.part_of(one, self.of(one, 1)?, 2)?)?;
            }
            Op::VectorExtractDynamic => {
                if Some(self.result(one)?) != self.component(self.of(one, 0)?) {
                    return Err(malformed(one, "its type is not that of the vector's components"));
                }
                self.is_integer(one, 1)?;
            }
            Op::VectorInsertDynamic => {
                let result = self.result(one)?;
                let component =
                    self.component(result).ok_or_else(|| malformed(one, "its type is no vector"))?;
                self.has_type(one, 0, result)?;
                self.has_type(one, 1, component)?;
                self.is_integer(one, 2)?;
            }
            Op::VectorShuffle => self.shuffling(one)?,
            Op::Transpose => {
                let sides = |of: Word| match self.globals.types.get(&of) {
                    Some(Type::Matrix { column, count }) => {
                        self.shape(*column).map(|(kind, rows)| (kind, rows, *count))
                    }
                    _ => None,
                };
                let (result, operand) = (sides(self.result(one)?), sides(self.of(one, 0)?));
                if result.is_none() || result.map(|(kind, rows, columns)| (kind, columns, rows)) != operand {
                    return Err(malformed(one, "its type has not the columns that are the operand's rows"));
                }
            }
            Op::Undef => drop(self.result(one)?),
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Returns the type of a vector's components.
    pub(super) fn component(&self, of: Word) -> Option<Word> {
        match self.globals.types.get(&of)? {
            Type::Vector { .. } => match self.results.get(&of)?.operands.first()? {
                dr::Operand::IdRef(of) => Some(*of),
                _ => None,
            },
            _ => None,
        }
    }

    /// Returns the type of a part, and whether it exists.
    pub(super) fn step(&self, of: Word, index: Option<u32>) -> Option<Word> {
        let below = |count: u64| index.is_none_or(|index| u64::from(index) < count);
        match self.globals.types.get(&of)? {
            Type::Vector { count, .. } => self.component(of).filter(|_| below(u64::from(*count))),
            Type::Matrix { column, count } => Some(*column).filter(|_| below(u64::from(*count))),
            Type::Array { of, count } => Some(*of).filter(|_| below(count.unwrap_or(u64::MAX))),
            Type::Struct { members } => members.get(index? as usize).copied(),
            Type::Void | Type::Scalar(_) | Type::Pointer { .. } | Type::Function { .. } => None,
        }
    }

    /// Returns the type of the part that literals name, from one on.
    fn part_of(&self, one: &dr::Instruction, of: Word, from: usize) -> Result<Word, Error> {
        if one.operands.len() <= from {
            return Err(malformed(one, "it names no part"));
        }
        (from..one.operands.len()).try_fold(of, |of, place| {
            let index = literal(one, place)?;
            self.step(of, Some(index)).ok_or_else(|| malformed(one, &format!("%{of} has no part {index}")))
        })
    }

    /// Validates the parts of a composite that is made.
    fn construction(&self, one: &dr::Instruction) -> Result<(), Error> {
        let result = self.result(one)?;
        let count = one.operands.len() as u64;
        let has = |expected: u64| match count == expected {
            true => Ok(()),
            false => Err(malformed(one, &format!("{count} parts are given, and its type has {expected}"))),
        };
        match self.globals.types.get(&result) {
            Some(Type::Vector { of, count: own }) => {
                let mut found = 0;
                for place in 0..one.operands.len() {
                    match self.shape(self.of(one, place)?) {
                        Some((kind, more)) if kind == *of => found += more,
                        _ => return Err(malformed(one, "a part has not the type of its components")),
                    }
                }
                if found != *own || count < 2 {
                    return Err(malformed(
                        one,
                        &format!("{found} components are given, and its type has {own}"),
                    ));
                }
                Ok(())
            }
            Some(Type::Matrix { column, count: own }) => {
                has(u64::from(*own))?;
                self.have_type(one, 0, *column)
            }
            Some(Type::Array { of, count: Some(own) }) => {
                has(*own)?;
                self.have_type(one, 0, *of)
            }
            Some(Type::Struct { members }) => {
                has(members.len() as u64)?;
                members.iter().enumerate().try_for_each(|(place, of)| self.has_type(one, place, *of))
            }
            _ => Err(malformed(one, "its type is no composite")),
        }
    }

    /// Validates components that are taken of two vectors.
    fn shuffling(&self, one: &dr::Instruction) -> Result<(), Error> {
        let parts = [self.result(one)?, self.of(one, 0)?, self.of(one, 1)?];
        let [component, first, second] = parts.map(|of| self.component(of));
        if component.is_none() || component != first || component != second {
            return Err(malformed(one, "its vectors have different components"));
        }
        let [own, first, second] = parts.map(|of| self.shape(of).map_or(0, |(_, count)| count));
        if one.operands.len() != 2 + own as usize {
            return Err(malformed(one, &format!("its type has {own} components, and others are given")));
        }
        for place in 2..one.operands.len() {
            let index = literal(one, place)?;
            if index >= first + second && index != u32::MAX {
                return Err(malformed(one, &format!("the operands have no component {index}")));
            }
        }
        Ok(())
    }
}

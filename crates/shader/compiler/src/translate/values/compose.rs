//! Composites: vectors, matrices, arrays and structs, as the numbers that they are made of.

use rspirv::dr;
use rspirv::spirv::Word;

use crate::Error;
use crate::ir::{Comparison, Operation, Value};
use crate::spirv::constants::MOST_NUMBERS;
use crate::spirv::types::{literal, malformed};
use crate::translate::Translator;
use crate::translate::values::data::{Data, Part};

impl Translator<'_> {
    /// Makes a composite of its parts.
    pub(in crate::translate) fn construct(&mut self, one: &dr::Instruction) -> Result<Data, Error> {
        let mut data = Data::new();
        for place in 0..one.operands.len() {
            data.extend(self.operand(one, place)?);
            if data.len() as u64 > MOST_NUMBERS {
                return Err(malformed(one, "it has more parts than its type"));
            }
        }
        Ok(data)
    }

    /// Chooses one of two composites, or each component of vectors.
    pub(in crate::translate) fn select(&mut self, one: &dr::Instruction) -> Result<Data, Error> {
        let condition = self.operand(one, 0)?;
        let (a, b) = (self.operand(one, 1)?, self.operand(one, 2)?);
        if a.len() != b.len() || ![1, a.len()].contains(&condition.len()) {
            return Err(malformed(one, "its operands have different numbers of components"));
        }
        let conditions = condition.iter().cycle();
        a.into_iter()
            .zip(b)
            .zip(conditions)
            .map(|((a, b), condition)| self.choose(*condition, a, b))
            .collect()
    }

    /// Replaces a component of a vector that is chosen at run time.
    pub(in crate::translate) fn put(&mut self, one: &dr::Instruction) -> Result<Data, Error> {
        let (data, component, index) = (self.operand(one, 0)?, self.number(one, 1)?, self.number(one, 2)?);
        let mut found = Data::new();
        for (place, value) in (0..).zip(data) {
            let place = self.integer(self.program.kind(index), place)?;
            let is = self.compare(Comparison::Equal, index, place)?;
            found.push(self.choose(is, component, value)?);
        }
        Ok(found)
    }

    /// Returns the first number and the number of numbers of a part that literals name.
    fn span(&self, one: &dr::Instruction, of: Word, from: usize) -> Result<(usize, usize), Error> {
        let missing = || malformed(one, "a part does not exist");
        let (mut part, mut first) = (Part::Type(of), 0_usize);
        for place in from..one.operands.len() {
            let Part::Type(of) = part else { return Err(missing()) };
            let (next, more) = self.part(of, literal(one, place)?).ok_or_else(missing)?;
            (part, first) = (next, first.saturating_add(more));
        }
        let count = match part {
            Part::Number(_) => 1,
            Part::Type(of) => self.numbers(of)?.len(),
        };
        Ok((first, count))
    }

    /// Takes a part out of a composite.
    pub(in crate::translate) fn extract(&mut self, one: &dr::Instruction) -> Result<Data, Error> {
        let data = self.operand(one, 0)?;
        let (first, count) = self.span(one, self.type_of(one, 0)?, 1)?;
        let found = data.get(first..first.saturating_add(count));
        found.map(<[Value]>::to_vec).ok_or_else(|| malformed(one, "a part does not exist"))
    }

    /// Replaces a part of a composite.
    pub(in crate::translate) fn insert(&mut self, one: &dr::Instruction) -> Result<Data, Error> {
        let (part, mut data) = (self.operand(one, 0)?, self.operand(one, 1)?);
        let (first, count) = self.span(one, self.type_of(one, 1)?, 2)?;
        match data.get_mut(first..first.saturating_add(count)) {
            Some(place) if place.len() == part.len() => {
                place.copy_from_slice(&part);
                Ok(data)
            }
            _ => Err(malformed(one, "a part does not exist")),
        }
    }

    /// Takes components of two vectors.
    pub(in crate::translate) fn shuffle(&mut self, one: &dr::Instruction) -> Result<Data, Error> {
        let (mut both, second) = (self.operand(one, 0)?, self.operand(one, 1)?);
        both.extend(second);
        let chosen = (2..one.operands.len()).map(|place| {
            let index = literal(one, place)?;
            // All bits are a component that is undefined.
            let index = if index == u32::MAX { 0 } else { index as usize };
            both.get(index).copied().ok_or_else(|| malformed(one, "a component does not exist"))
        });
        chosen.collect()
    }

    /// Takes a component of a vector that is chosen at run time.
    pub(in crate::translate) fn pick(&mut self, one: &dr::Instruction) -> Result<Data, Error> {
        let (data, index) = (self.operand(one, 0)?, self.number(one, 1)?);
        let kind = self.kind(one)?;
        let mut values = data.into_iter();
        let mut found = values.next().ok_or_else(|| malformed(one, "a vector has no components"))?;
        for (place, value) in (1..).zip(values) {
            let of_index = self.program.kind(index);
            let place = self.make(of_index, Operation::Constant(place))?;
            let is = self.compare(Comparison::Equal, index, place)?;
            found = self.make(kind, Operation::Select(is, value, found))?;
        }
        Ok(vec![found])
    }
}

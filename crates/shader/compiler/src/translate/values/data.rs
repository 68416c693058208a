//! Values of any type, taken apart into numbers.

use rspirv::spirv::Word;

use crate::Error;
use crate::ir::{Operation, Scalar, Value};
use crate::spirv::constants::{Constant, MOST_NUMBERS};
use crate::spirv::types::Type;
use crate::translate::Translator;
use crate::translate::values::check::is_same;

/// The numbers of a value, in the order of its type.
pub(in crate::translate) type Data = Vec<Value>;

impl Translator<'_> {
    /// Returns the numbers of a constant.
    pub(in crate::translate) fn constant(&mut self, constant: &Constant) -> Result<Data, Error> {
        match constant {
            Constant::Scalar(kind, bits) => Ok(vec![self.make(*kind, Operation::Constant(*bits))?]),
            Constant::Composite(parts) => {
                let mut data = Data::new();
                for part in parts {
                    data.extend(self.constant(part)?);
                }
                Ok(data)
            }
        }
    }

    /// Returns the types of the numbers of a type.
    ///
    /// # Errors
    /// [`Error::Type`] for one that has too many, or a number that is not known.
    pub(in crate::translate) fn numbers(&self, of: Word) -> Result<Vec<Scalar>, Error> {
        let mut found = Vec::new();
        // Each type has numbers, so that no more parts than these are added.
        match self.globals.size(of) {
            Some(size) if size.numbers <= MOST_NUMBERS => self.add_numbers(of, &mut found)?,
            Some(size) if size.numbers == u64::MAX => {
                return Err(Error::Type { name: "values of arrays without a length".to_owned() });
            }
            Some(_) => {
                return Err(Error::Type { name: format!("values of more than {MOST_NUMBERS} numbers") });
            }
            None => return Err(Error::Malformed { why: format!("%{of} is no type") }),
        }
        Ok(found)
    }

    fn add_numbers(&self, of: Word, found: &mut Vec<Scalar>) -> Result<(), Error> {
        let repeated = |part: Word, count: u64, found: &mut Vec<Scalar>| {
            for _ in 0..count {
                self.add_numbers(part, found)?;
            }
            Ok::<_, Error>(())
        };
        match self.globals.types.get(&of) {
            Some(Type::Scalar(kind)) => found.push(*kind),
            Some(Type::Vector { of, count }) => found.extend(std::iter::repeat_n(*of, *count as usize)),
            Some(Type::Matrix { column, count }) => repeated(*column, u64::from(*count), found)?,
            Some(Type::Array { of, count: Some(count) }) => repeated(*of, *count, found)?,
            Some(Type::Struct { members }) => {
                members.iter().try_for_each(|member| self.add_numbers(*member, found))?;
            }
            Some(Type::Pointer { .. }) => {
                return Err(Error::Type { name: "pointers in variables".to_owned() });
            }
            Some(Type::Void | Type::Function { .. } | Type::Array { count: None, .. }) | None => {
                return Err(Error::Malformed { why: format!("%{of} is no type of a value") });
            }
        }
        Ok(())
    }

    /// Returns the type of a part of a composite, and its first number.
    pub(in crate::translate) fn part(&self, of: Word, index: u32) -> Option<(Part, usize)> {
        let place = index as usize;
        let numbers = |of: Word| Some(self.globals.size(of)?.numbers as usize);
        match self.globals.types.get(&of)? {
            Type::Vector { of, count } => (index < *count).then_some((Part::Number(*of), place)),
            Type::Matrix { column, count } if index < *count => {
                Some((Part::Type(*column), place * numbers(*column)?))
            }
            Type::Array { of, count: Some(count) } if u64::from(index) < *count => {
                Some((Part::Type(*of), place.checked_mul(numbers(*of)?)?))
            }
            Type::Struct { members } => {
                let mut before = members.get(..place)?.iter().map(|member| numbers(*member));
                let first = before.try_fold(0, |all: usize, one| all.checked_add(one?))?;
                Some((Part::Type(*members.get(place)?), first))
            }
            Type::Matrix { .. }
            | Type::Array { .. }
            | Type::Void
            | Type::Scalar(_)
            | Type::Pointer { .. }
            | Type::Function { .. } => None,
        }
    }

    /// Returns the types of the numbers of a part.
    pub(in crate::translate) fn kinds(&self, of: Part) -> Result<Vec<Scalar>, Error> {
        match of {
            Part::Number(kind) => Ok(vec![kind]),
            Part::Type(of) => self.numbers(of),
        }
    }

    /// Returns whether data has numbers of these types.
    pub(in crate::translate) fn has_kinds(&self, data: &[Value], kinds: &[Scalar]) -> bool {
        let mut pairs = data.iter().zip(kinds);
        data.len() == kinds.len() && pairs.all(|(value, kind)| is_same(self.program.kind(*value), *kind))
    }
}

/// The type of a part of a composite.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::translate) enum Part {
    /// A component of a vector, which has no id of a type here.
    Number(Scalar),
    /// Any other.
    Type(Word),
}

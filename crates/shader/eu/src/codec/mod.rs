//! Decoding and encoding, described once: a walk over an instruction's fields, each of which is read or written.

mod branch;
mod operands;
mod send;
mod systolic;
mod three;

use crate::isa::{Condition, Field, Form, Opcode, Pattern, Predicate};
use crate::{Error, Instruction, Order, Platform, Type};

/// Decodes an instruction of 128 bits; the first byte is the lowest.
///
/// # Errors
/// [`Error::Opcode`]; [`Error::Compacted`]; [`Error::Code`] if a field means nothing; [`Error::Operand`] for operands
/// that are not known here, as indirect ones of Align16.
pub fn decode(platform: Platform, word: u128) -> Result<Instruction, Error> {
    let mut codec = Codec { platform, direction: Direction::Decode, word, known: 0 };
    let mut instruction = Instruction::new(Opcode::Illegal);
    codec.instruction(&mut instruction)?;
    instruction.ignored = word & !codec.known;
    Ok(instruction)
}

/// Encodes an instruction.
///
/// # Errors
/// [`Error::Missing`], [`Error::Value`] and [`Error::Type`] if the platform has no code; [`Error::Ignored`];
/// [`Error::Operand`] if the opcode has no place for a value, or lacks one.
pub fn encode(platform: Platform, instruction: &Instruction) -> Result<u128, Error> {
    let mut codec = Codec { platform, direction: Direction::Encode, word: 0, known: 0 };
    codec.instruction(&mut { *instruction })?;
    let bits = instruction.ignored & codec.known;
    if bits != 0 {
        return Err(Error::Ignored { bits });
    }
    let word = codec.word | instruction.ignored;
    if decode(platform, word)? == (Instruction { compacted: false, ..*instruction }) {
        Ok(word)
    } else {
        Err(misplaced(instruction, "a value that it has no place for"))
    }
}

/// The direction of a walk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Direction {
    /// The fields are read from the word.
    Decode,
    /// They are written to it.
    Encode,
}

/// An instruction whose fields are read or written.
#[derive(Debug)]
struct Codec {
    platform: Platform,
    direction: Direction,
    word: u128,
    /// Bits of the fields that were walked over.
    known: u128,
}

impl Codec {
    /// Returns whether the platform has a field.
    fn has(&self, field: Field) -> bool {
        field.width(self.platform) > 0
    }

    /// Walks over a number.
    fn number(&mut self, field: Field, value: &mut u64) -> Result<(), Error> {
        self.known |= field.mask(self.platform);
        match self.direction {
            Direction::Decode => *value = field.get(self.platform, self.word),
            Direction::Encode => {
                let width = field.width(self.platform);
                if width < u64::BITS && *value >> width != 0 {
                    return Err(self.no_code(field, *value as i64));
                }
                self.word |= field.put(self.platform, *value);
            }
        }
        Ok(())
    }

    fn no_code(&self, field: Field, value: i64) -> Error {
        Error::Value { field, value, platform: self.platform }
    }

    fn no_meaning(&self, field: Field, code: u64) -> Error {
        Error::Code { field, code, platform: self.platform }
    }

    /// Walks over a number of at most 8 bits, in units of `unit`.
    fn byte(&mut self, field: Field, unit: u8, value: &mut u8) -> Result<(), Error> {
        if *value % unit != 0 && self.direction == Direction::Encode {
            return Err(self.no_code(field, i64::from(*value)));
        }
        let mut number = u64::from(*value / unit);
        self.number(field, &mut number)?;
        *value = number as u8 * unit;
        Ok(())
    }

    /// Walks over a bit.
    fn bit(&mut self, field: Field, value: &mut bool) -> Result<(), Error> {
        let mut number = u64::from(*value);
        self.number(field, &mut number)?;
        *value = number != 0;
        Ok(())
    }

    /// Walks over a number in two's complement.
    fn signed(&mut self, field: Field, value: &mut i32) -> Result<(), Error> {
        let width = field.width(self.platform).clamp(1, 32);
        let mut number = u64::from(*value as u32) & (u64::MAX >> (64 - width));
        let extend = |number: u64| ((number as u32) << (32 - width)) as i32 >> (32 - width);
        if self.direction == Direction::Encode && extend(number) != *value {
            return Err(self.no_code(field, i64::from(*value)));
        }
        self.number(field, &mut number)?;
        *value = extend(number);
        Ok(())
    }

    /// Walks over a value that has a code; `None` in `values` is a code without a meaning.
    fn coded<T: Copy + PartialEq>(
        &mut self,
        field: Field,
        values: &[Option<T>],
        number: impl Fn(T) -> i64,
        value: &mut T,
    ) -> Result<(), Error> {
        let mut code = match self.direction {
            Direction::Decode => 0,
            Direction::Encode => {
                let at = values.iter().position(|one| *one == Some(*value));
                at.ok_or_else(|| self.no_code(field, number(*value)))? as u64
            }
        };
        self.number(field, &mut code)?;
        let meant = values.get(code as usize).copied().flatten();
        *value = meant.ok_or_else(|| self.no_meaning(field, code))?;
        Ok(())
    }

    /// Walks over a type, whose codes `code_of` tells.
    fn kind(
        &mut self,
        field: Field,
        code_of: impl Fn(Type) -> Option<u8>,
        kind: &mut Type,
    ) -> Result<(), Error> {
        let mut code = match self.direction {
            Direction::Decode => 0,
            Direction::Encode => {
                let platform = self.platform;
                u64::from(code_of(*kind).ok_or(Error::Type { field, kind: *kind, platform })?)
            }
        };
        self.number(field, &mut code)?;
        let meant = Type::all().find(|kind| code_of(*kind).map(u64::from) == Some(code));
        *kind = meant.ok_or_else(|| self.no_meaning(field, code))?;
        Ok(())
    }

    /// Walks over a field that has one value only in this form; `what` says what another value would be.
    fn fixed(&mut self, field: Field, value: u64, opcode: Opcode, what: &'static str) -> Result<(), Error> {
        let mut number = value;
        self.number(field, &mut number)?;
        if number == value { Ok(()) } else { Err(Error::Operand { opcode, what }) }
    }

    fn instruction(&mut self, i: &mut Instruction) -> Result<(), Error> {
        self.opcode(&mut i.opcode)?;
        let form = i.opcode.form(self.platform);
        if form == Form::Nothing {
            return Ok(());
        }
        self.control(i)?;
        match form {
            Form::Nothing => Ok(()),
            Form::Basic(sources) => self.basic(i, sources),
            Form::Three => self.three(i),
            Form::Systolic => self.systolic(i),
            Form::Jump | Form::Jumps => self.jump(i, form),
            Form::Send => self.send(i),
            Form::SplitSend => self.split_send(i),
        }
    }

    fn opcode(&mut self, opcode: &mut Opcode) -> Result<(), Error> {
        let platform = self.platform;
        let mut code = match self.direction {
            Direction::Decode => 0,
            Direction::Encode => {
                u64::from(opcode.code(platform).ok_or(Error::Missing { opcode: *opcode, platform })?)
            }
        };
        self.number(Field::Opcode, &mut code)?;
        let code = code as u8;
        let mut is_compacted = false;
        self.bit(Field::Compacted, &mut is_compacted)?;
        if is_compacted {
            return Err(Error::Compacted);
        }
        *opcode = Opcode::from_code(code, platform).ok_or(Error::Opcode { code, platform })?;
        Ok(())
    }

    /// Walks over the fields that all instructions with operands have.
    fn control(&mut self, i: &mut Instruction) -> Result<(), Error> {
        let sizes = [1, 2, 4, 8, 16, 32].map(Some);
        self.coded(Field::ExecutionSize, &sizes, i64::from, &mut i.execution_size)?;
        self.byte(Field::ChannelOffset, 4, &mut i.channel_offset)?;
        self.bit(Field::NoMask, &mut i.no_mask)?;
        self.bit(Field::Debug, &mut i.debug)?;
        if self.has(Field::AccessMode) {
            self.bit(Field::AccessMode, &mut i.align16)?;
        }
        if i.opcode.form(self.platform) != Form::Systolic {
            self.predicate(&mut i.predicate)?;
        }
        let Order { no_clear, no_check, thread, atomic, scoreboard } = &mut i.order;
        if self.has(Field::Scoreboard) {
            self.byte(Field::Scoreboard, 1, scoreboard)?;
            self.bit(Field::Atomic, atomic)
        } else {
            self.bit(Field::NoDependencyClear, no_clear)?;
            self.bit(Field::NoDependencyCheck, no_check)?;
            self.byte(Field::ThreadControl, 1, thread)
        }
    }

    fn predicate(&mut self, predicate: &mut Option<Predicate>) -> Result<(), Error> {
        let mut patterns = vec![Some(None)];
        patterns.extend(Pattern::CODES.iter().map(|row| Some(Some(row.0))));
        let mut pattern = predicate.map(|predicate| predicate.pattern);
        self.coded(Field::Predicate, &patterns, |_| 0, &mut pattern)?;
        *predicate = match pattern {
            None => None,
            Some(pattern) => {
                let mut inverse = predicate.is_some_and(|predicate| predicate.inverse);
                self.bit(Field::PredicateInverse, &mut inverse)?;
                Some(Predicate { pattern, inverse })
            }
        };
        Ok(())
    }

    /// Walks over what is done with the result.
    fn result(&mut self, i: &mut Instruction) -> Result<(), Error> {
        self.bit(Field::Saturate, &mut i.saturate)?;
        self.bit(Field::AccumulatorWrite, &mut i.accumulator_write)?;
        self.byte(Field::Flag, 1, &mut i.flag)
    }

    fn condition(&mut self, i: &mut Instruction) -> Result<(), Error> {
        if i.opcode.has_function() {
            return self.byte(Field::Condition, 1, &mut i.function);
        }
        let mut conditions = vec![Some(None)];
        for code in 1..16 {
            let row = Condition::CODES.iter().find(|row| row.1 == code);
            conditions.push(row.map(|row| Some(row.0)));
        }
        self.coded(Field::Condition, &conditions, |_| 0, &mut i.condition)
    }
}

/// Returns the error of an operand that is missing, or that the instruction has no place for.
fn misplaced(i: &Instruction, what: &'static str) -> Error {
    Error::Operand { opcode: i.opcode, what }
}

//! Instructions that compute. A result that the facts known here do not settle is an error.

use super::Thread;
use super::decode::{Channels, Compute, Condition, Predicate, Sign, Source};
use super::layout::Form;
use super::registers::Place;
use super::types::{Type, Value};

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
    Compare,
    Add,
    Multiply,
}

/// Opcodes before gen12, and from gen12 on.
const OPCODES: [(u64, u64, Operation); 11] = [
    (1, 97, Operation::Move),
    (2, 98, Operation::Select),
    (4, 100, Operation::Not),
    (5, 101, Operation::And),
    (6, 102, Operation::Or),
    (7, 103, Operation::Xor),
    (8, 104, Operation::ShiftRight),
    (9, 105, Operation::ShiftLeft),
    (16, 112, Operation::Compare),
    (64, 64, Operation::Add),
    (65, 65, Operation::Multiply),
];

impl Operation {
    pub fn of(form: Form, opcode: u64) -> Option<Self> {
        let new = form >= Form::Gen12;
        OPCODES.iter().find(|row| opcode == if new { row.1 } else { row.0 }).map(|row| row.2)
    }

    /// The number of sources.
    pub fn sources(self) -> usize {
        if matches!(self, Self::Move | Self::Not) { 1 } else { 2 }
    }

    /// Operations on bits.
    pub fn is_logical(self) -> bool {
        matches!(self, Self::Not | Self::And | Self::Or | Self::Xor)
    }

    fn is_shift(self) -> bool {
        matches!(self, Self::ShiftLeft | Self::ShiftRight)
    }
}

/// What an instruction leaves for one channel.
struct Outcome {
    channel: usize,
    bits: u32,
    flag: Option<bool>,
}

impl Thread<'_, '_> {
    pub fn compute(&mut self, channels: &Channels, compute: &Compute) -> Result<(), String> {
        compute.check(self.form, channels)?;
        let select = compute.operation == Operation::Select;
        let mut outcomes = Vec::new();
        for channel in 0..channels.count as usize {
            let predicated = self.predicated(channels, channel)?;
            if !self.dispatched(channels, channel) || !select && !predicated {
                continue;
            }
            let first = self.value(&compute.sources[0], channel)?;
            let second = match compute.sources.get(1) {
                Some(source) => self.value(source, channel)?,
                None => first,
            };
            let (bits, flag) = compute.channel(first, second, predicated)?;
            outcomes.push(Outcome { channel, bits, flag });
        }
        for Outcome { channel, bits, flag } in outcomes {
            self.registers.set(&compute.destination, compute.kind, channel, bits)?;
            if let Some(flag) = flag {
                let bit = channels.flag(channel)?;
                self.registers.set_flag(bit, flag);
            }
        }
        Ok(())
    }

    /// Whether the channel runs, predicates aside.
    pub fn dispatched(&self, channels: &Channels, channel: usize) -> bool {
        channels.no_mask || self.dispatch >> (channels.first as usize + channel) & 1 != 0
    }

    /// Whether the instruction's predicate holds for the channel.
    pub fn predicated(&self, channels: &Channels, channel: usize) -> Result<bool, String> {
        match channels.predicate {
            None => Ok(true),
            Some(Predicate::Set) => Ok(self.registers.flag(channels.flag(channel)?)),
            Some(Predicate::Clear) => Ok(!self.registers.flag(channels.flag(channel)?)),
        }
    }

    fn value(&mut self, source: &Source, channel: usize) -> Result<Value, String> {
        let (region, kind, absolute, sign) = match source {
            Source::Immediate { kind, word } => return Ok(kind.value(*word, channel)),
            Source::Register { region, kind, absolute, sign } => (region, *kind, *absolute, *sign),
        };
        let bits = self.registers.get(region, kind, channel)?;
        let value = match kind.value(bits) {
            Value::Integer(value) => Value::Integer(if absolute { value.abs() } else { value }),
            Value::Float(value) => Value::Float(if absolute { value.abs() } else { value }),
        };
        Ok(match (sign, value) {
            (Sign::Kept, value) => value,
            (Sign::Negated, Value::Integer(value)) => Value::Integer(-value),
            (Sign::Inverted, Value::Integer(value)) => Value::Integer(!value),
            (Sign::Negated | Sign::Inverted, Value::Float(value)) => Value::Float(-value),
        })
    }
}

impl Channels {
    /// The flag of a channel.
    fn flag(&self, channel: usize) -> Result<u32, String> {
        let bit = self.flags % 32 + self.first + channel as u32;
        if bit >= 32 {
            return Err(format!("flag {bit} of a register with 32"));
        }
        Ok(self.flags / 32 * 32 + bit)
    }
}

impl Compute {
    /// Refuses what has no known effect, whatever the values.
    fn check(&self, form: Form, channels: &Channels) -> Result<(), String> {
        let is = |operation: Operation| self.operation == operation;
        let (conditional, predicated) = (self.condition.is_some(), channels.predicate.is_some());
        let kinds: Vec<Type> = self.sources.iter().map(Source::kind).collect();
        let [first, last] = [kinds[0], kinds[kinds.len() - 1]];
        let (float, to_float) = (first == Type::F, self.kind == Type::F);
        let wide = [first, last].map(|kind| kind.size() == 4);
        let unsigned_negated = self.sources.iter().any(
            |source| matches!(source, Source::Register { kind, sign: Sign::Negated, .. } if !kind.is_signed()),
        );
        let wraps =
            (is(Operation::Move) || is(Operation::Add)) && !self.saturate && !conditional && !to_float;
        let dwords_multiply = form == Form::Gen8 && wide[0] && !self.saturate && !conditional;
        // The same number whether its lower half or all of it is taken.
        let short = matches!(self.sources.get(1), Some(Source::Immediate { word: 0..0x8000, .. }));
        let refused = [
            (float != (last == Type::F), "sources that are floats and integers"),
            (
                (float || to_float) && (self.operation.is_logical() || self.operation.is_shift()),
                "bits of a float",
            ),
            (unsigned_negated && !wraps, "a negated unsigned source"),
            (
                is(Operation::Multiply) && !float && wide[1] && !dwords_multiply && !short,
                "a product with a dword as its second source",
            ),
            (is(Operation::ShiftRight) && first.is_signed(), "a logical shift of a signed source"),
            (is(Operation::Compare) && !conditional, "a comparison without a condition"),
            (
                is(Operation::Compare) && to_float && self.destination.place != Place::Null,
                "the result of a comparison as a float",
            ),
            (
                is(Operation::Select) && conditional == predicated,
                "a selection by a condition and a predicate, or by neither",
            ),
            (
                is(Operation::Select)
                    && (self.kind.size() != first.size().max(last.size()) || float != to_float),
                "a selection that converts",
            ),
        ];
        match refused.iter().find(|(is_so, _)| *is_so) {
            Some((_, what)) => Err((*what).to_owned()),
            None => Ok(()),
        }
    }

    /// The result's bits and the flag, if that is written.
    fn channel(&self, first: Value, second: Value, predicated: bool) -> Result<(u32, Option<bool>), String> {
        let result = match (self.operation, self.condition) {
            (Operation::Compare, Some(condition)) => {
                let holds = self.compare(condition, first, second)?;
                return Ok((if holds { u32::MAX } else { 0 }, Some(holds)));
            }
            (Operation::Select, condition) => {
                let takes_first = match condition {
                    Some(condition) => self.compare(condition, first, second)?,
                    None => predicated,
                };
                let bits = convert(if takes_first { first } else { second }, self.kind, self.saturate)?;
                return Ok((bits, None));
            }
            (operation, _) => match (first, second) {
                (Value::Integer(first), Value::Integer(second)) => {
                    Value::Integer(integer(operation, first, second))
                }
                (Value::Float(first), Value::Float(second)) => Value::Float(float(operation, first, second)?),
                (Value::Integer(_), Value::Float(_)) | (Value::Float(_), Value::Integer(_)) => {
                    return Err("sources that are floats and integers".into());
                }
            },
        };
        let flag = match (self.condition, result) {
            (None, _) => None,
            (Some(condition), Value::Integer(value)) => {
                let (least, most) = self.kind.range();
                if !(least..=most).contains(&value) {
                    return Err(format!("the condition of {value}, which the destination does not hold"));
                }
                Some(holds(condition, &value, &0))
            }
            (Some(condition), Value::Float(value)) => Some(holds(condition, &value, &0.0)),
        };
        Ok((convert(result, self.kind, self.saturate)?, flag))
    }

    fn compare(&self, condition: Condition, first: Value, second: Value) -> Result<bool, String> {
        match (first, second) {
            (Value::Integer(first), Value::Integer(second)) => {
                let signs: Vec<bool> = self.sources.iter().map(|source| source.kind().is_signed()).collect();
                if signs[0] != signs[1] && (first < 0 || second < 0) {
                    return Err(format!("{first} compared with {second}, of which one is unsigned"));
                }
                Ok(holds(condition, &first, &second))
            }
            (Value::Float(first), Value::Float(second)) => {
                let nan = first.is_nan() || second.is_nan();
                if first.is_subnormal() || second.is_subnormal() || nan && self.operation == Operation::Select
                {
                    return Err(format!("{first:e} compared with {second:e}"));
                }
                Ok(holds(condition, &first, &second))
            }
            (Value::Integer(_), Value::Float(_)) | (Value::Float(_), Value::Integer(_)) => {
                Err("a float compared with an integer".into())
            }
        }
    }
}

fn holds<T: PartialOrd>(condition: Condition, first: &T, second: &T) -> bool {
    match condition {
        Condition::Zero => first == second,
        Condition::NotZero => first != second,
        Condition::Greater => first > second,
        Condition::GreaterOrEqual => first >= second,
        Condition::Less => first < second,
        Condition::LessOrEqual => first <= second,
    }
}

/// The exact result, but for shifts: of their count five bits matter. Values have 33 bits at most.
fn integer(operation: Operation, first: i64, second: i64) -> i64 {
    let count = second as u32 & 31;
    match operation {
        Operation::Move | Operation::Select | Operation::Compare => first,
        Operation::Not => !first,
        Operation::And => first & second,
        Operation::Or => first | second,
        Operation::Xor => first ^ second,
        Operation::ShiftRight => first >> count,
        Operation::ShiftLeft => first << count,
        Operation::Add => first + second,
        Operation::Multiply => first.wrapping_mul(second),
    }
}

/// The result, which is rounded to nearest, of an operation that floats have.
fn float(operation: Operation, first: f32, second: f32) -> Result<f32, String> {
    if operation == Operation::Move {
        return Ok(first);
    }
    let result = if operation == Operation::Add { first + second } else { first * second };
    if result.is_nan() || [first, second, result].iter().any(|value| value.is_subnormal()) {
        return Err(format!("{first:e} and {second:e} come to {result:e}: a NaN, or a subnormal float"));
    }
    Ok(result)
}

/// The bits of a value in a register of this type.
fn convert(value: Value, kind: Type, saturate: bool) -> Result<u32, String> {
    let (least, most) = kind.range();
    match (value, kind) {
        (Value::Integer(value), Type::F) if !saturate => Ok((value as f32).to_bits()),
        (Value::Integer(value), Type::F) => Ok((value.clamp(0, 1) as f32).to_bits()),
        (Value::Integer(value), _) if saturate => Ok(value.clamp(least, most) as u32),
        (Value::Integer(value), _) => Ok(value as u32),
        (Value::Float(value), Type::F) if !saturate => Ok(value.to_bits()),
        (Value::Float(value), _) if value.is_nan() => Err("the conversion of a NaN".into()),
        (Value::Float(value), Type::F) => Ok(value.clamp(0.0, 1.0).to_bits()),
        (Value::Float(value), _) => Ok((value as i64).clamp(least, most) as u32),
    }
}

//! Instructions that compute. A result that the facts known here do not settle is an error.

use super::Thread;
use super::channels::{Channels, Predicate};
use super::decode::{Compute, Condition, Sign, Source};
use super::float;
use super::operation::Operation;
use super::types::{Type, Value};

/// What an instruction leaves for one channel.
struct Outcome {
    channel: usize,
    bits: u64,
    flag: Option<bool>,
}

/// A source's number, after its modifiers.
#[derive(Clone, Copy)]
struct Number {
    kind: Type,
    /// The bits of a float, which may be a NaN of some kind.
    bits: u64,
    value: Value,
}

impl Thread<'_> {
    pub fn compute(&mut self, channels: &Channels, compute: &Compute) -> Result<(), String> {
        compute.check(self.form, channels)?;
        let select = compute.operation == Operation::Select;
        let mut outcomes = Vec::new();
        for channel in 0..channels.count as usize {
            let predicated = self.predicated(channels, channel)?;
            if !self.dispatched(channels, channel) || !select && !predicated {
                continue;
            }
            let first = self.number(&compute.sources[0], channel)?;
            let second = match compute.sources.get(1) {
                Some(source) => self.number(source, channel)?,
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
        channels.no_mask || self.here >> (channels.first as usize + channel) & 1 != 0
    }

    /// Whether the instruction's predicate holds for the channel.
    pub fn predicated(&self, channels: &Channels, channel: usize) -> Result<bool, String> {
        let flag = |channel| Ok::<_, String>(self.registers.flag(channels.flag(channel)?));
        match channels.predicate {
            None => Ok(true),
            Some(Predicate::Set) => flag(channel),
            Some(Predicate::Clear) => flag(channel).map(|flag| !flag),
            Some(Predicate::AnyOfFour { holds }) => {
                let four = channel / 4 * 4;
                let mut any = false;
                for channel in four..four + 4 {
                    any |= flag(channel)?;
                }
                Ok(any == holds)
            }
        }
    }

    fn number(&mut self, source: &Source, channel: usize) -> Result<Number, String> {
        let (bits, kind, absolute, sign) = match source {
            Source::Immediate { kind, word } => {
                (kind.bits(*word, channel), kind.element(), false, Sign::Kept)
            }
            Source::Register { region, kind, absolute, sign } => {
                (self.registers.get(region, *kind, channel)?, *kind, *absolute, *sign)
            }
        };
        if kind.is_float() {
            let bits = if absolute { bits & !kind.sign() } else { bits };
            let bits = if sign == Sign::Kept { bits } else { bits ^ kind.sign() };
            return Ok(Number { kind, bits, value: kind.value(bits) });
        }
        let value = match (kind.value(bits), sign) {
            (Value::Integer(value), _) if absolute && sign == Sign::Kept => value.abs(),
            (Value::Integer(value), Sign::Negated) if absolute => -value.abs(),
            (Value::Integer(value), Sign::Negated) => -value,
            (Value::Integer(value), Sign::Inverted) => !value,
            (Value::Integer(value), Sign::Kept) => value,
            (Value::Float(_), _) => return Err("a float in place of an integer".into()),
        };
        Ok(Number { kind, bits, value: Value::Integer(value) })
    }
}

impl Channels {
    /// The flag of a channel.
    pub fn flag(&self, channel: usize) -> Result<u32, String> {
        let bit = self.flags % 32 + self.first + channel as u32;
        if bit >= 32 {
            return Err(format!("flag {bit} of a register with 32"));
        }
        Ok(self.flags / 32 * 32 + bit)
    }
}

impl Number {
    /// The value of a float that takes part in an operation: whether a subnormal one counts as zero depends on a mode.
    fn float(&self) -> Result<f64, String> {
        match self.value {
            Value::Float(value) if float::is_subnormal(self.kind.size(), self.bits) => {
                Err(format!("{value:e}: a subnormal float"))
            }
            Value::Float(value) => Ok(value),
            Value::Integer(_) => Err("sources that are floats and integers".into()),
        }
    }
}

impl Compute {
    /// The result's bits and the flag, if that is written.
    fn channel(
        &self,
        first: Number,
        second: Number,
        predicated: bool,
    ) -> Result<(u64, Option<bool>), String> {
        match (self.operation, self.condition) {
            (Operation::Compare, Some(condition)) => {
                let holds = self.compare(condition, first, second)?;
                return Ok((if holds { u64::MAX } else { 0 }, Some(holds)));
            }
            (Operation::Select, condition) => {
                let takes_first = match condition {
                    Some(condition) => self.compare(condition, first, second)?,
                    None => predicated,
                };
                return Ok((self.moved(if takes_first { first } else { second })?, None));
            }
            (Operation::Move, None) => return Ok((self.moved(first)?, None)),
            (_, _) => {}
        }
        let result = match (first.value, second.value) {
            (Value::Integer(first), Value::Integer(second)) => {
                let wide = self.kind.size() == 8 || self.sources[0].kind().size() == 8;
                Value::Integer(self.operation.on_integers(first, second, wide)?)
            }
            (_, _) => Value::Float(self.on_floats(first, second)?),
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

    /// The result of an operation on floats, rounded to the largest type among the operands, in which it is computed.
    fn on_floats(&self, first: Number, second: Number) -> Result<f64, String> {
        let kinds = [first.kind, second.kind, self.kind].into_iter().filter(|kind| kind.is_float());
        let widest = kinds.max_by_key(|kind| kind.size()).unwrap_or(Type::F);
        let [a, b] = [first.float()?, second.float()?];
        let bits = float::bits(widest.size(), self.operation.on_floats(a, b)?);
        let result = float::value(widest.size(), bits);
        if result.is_nan() || float::is_subnormal(widest.size(), bits) {
            return Err(format!("{a:e} and {b:e} come to {result:e}: a NaN, or a subnormal float"));
        }
        Ok(result)
    }

    /// The bits of a number that is moved. Those of a float that stays one of its type are kept.
    fn moved(&self, number: Number) -> Result<u64, String> {
        if number.kind == self.kind && number.kind.is_float() && !self.saturate {
            return Ok(number.bits);
        }
        let value = if number.kind.is_float() { Value::Float(number.float()?) } else { number.value };
        convert(value, self.kind, self.saturate)
    }

    fn compare(&self, condition: Condition, first: Number, second: Number) -> Result<bool, String> {
        match (first.value, second.value) {
            (Value::Integer(a), Value::Integer(b)) => {
                if first.kind.is_signed() != second.kind.is_signed() && (a < 0 || b < 0) {
                    return Err(format!("{a} compared with {b}, of which one is unsigned"));
                }
                Ok(holds(condition, &a, &b))
            }
            (_, _) => {
                let [a, b] = [first.float()?, second.float()?];
                if self.operation == Operation::Select && (a.is_nan() || b.is_nan()) {
                    return Err(format!("the smaller or larger one of {a:e} and {b:e}"));
                }
                Ok(holds(condition, &a, &b))
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

/// The bits of a value in a register of this type.
fn convert(value: Value, kind: Type, saturate: bool) -> Result<u64, String> {
    let (least, most) = kind.range();
    match value {
        Value::Float(value) if value.is_nan() => Err("the conversion of a NaN".into()),
        Value::Integer(value) if kind.is_float() => {
            let value = if saturate { value.clamp(0, 1) } else { value };
            // A double has all integers of 53 bits; more of them are infinite as half floats.
            Ok(if kind == Type::F {
                (value as f32).to_bits().into()
            } else {
                float::bits(kind.size(), value as f64)
            })
        }
        Value::Integer(value) => Ok(if saturate { value.clamp(least, most) } else { value } as u64),
        Value::Float(value) if kind.is_float() => {
            let bits = float::bits(kind.size(), if saturate { value.clamp(0.0, 1.0) } else { value });
            if float::is_subnormal(kind.size(), bits) {
                return Err(format!("{value:e} as a subnormal float"));
            }
            Ok(bits)
        }
        // Towards zero, and to the limits of the type: of a byte and of a word, that is known of saturated moves only.
        Value::Float(value) => {
            let value = value as i128;
            if kind.size() < 4 && !saturate && !(least..=most).contains(&value) {
                return Err(format!("{value} as an integer that does not hold it"));
            }
            Ok(value.clamp(least, most) as u64)
        }
    }
}

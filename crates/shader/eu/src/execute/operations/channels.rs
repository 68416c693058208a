//! An operation on all channels: masks, sources, results.

use super::division::Division;
use super::function::Function;
use super::operation::{float, holds, perform};
use crate::execute::Thread;
use crate::execute::accumulator;
use crate::execute::error::{NoRegister, Why};
use crate::execute::registers::Bits;
use crate::execute::value::{Number, from_bits, of_vector, to_bits};
use crate::{Base, Destination, Instruction, Opcode, Pattern, Place, Platform, Region, Source, Type};

/// The number of one channel, or nothing if it depends on undefined bytes.
type Value = Option<Number>;

impl Thread<'_> {
    /// Returns the channels of an instruction that are executed, one bit each. `sel` takes its predicate for the choice.
    pub(in crate::execute) fn enabled(&self, i: &Instruction) -> u32 {
        let mut enabled = 0;
        for channel in 0..u32::from(i.execution_size) {
            let number = u32::from(i.channel_offset) + channel;
            let is_active = i.no_mask || self.masks.active() >> (number % 32) & 1 != 0;
            if is_active && (i.opcode == Opcode::Sel || self.is_predicated(i, number)) {
                enabled |= 1 << channel;
            }
        }
        enabled
    }

    /// Returns whether the predicate of a channel is true.
    fn is_predicated(&self, i: &Instruction, channel: u32) -> bool {
        let Some(predicate) = i.predicate else { return true };
        let flag = |channel| self.registers.flag(i.flag, channel);
        let group = |count: u32| channel / count * count..channel / count * count + count;
        let both = [i.flag & 1, i.flag & 1 | 2].map(|flag| self.registers.flag(flag, channel));
        let value = match predicate.pattern {
            Pattern::Normal => flag(channel),
            Pattern::AnyV => both[0] || both[1],
            Pattern::AllV => both[0] && both[1],
            Pattern::Any2 => group(2).any(flag),
            Pattern::All2 => group(2).all(flag),
            Pattern::Any4 => group(4).any(flag),
            Pattern::All4 => group(4).all(flag),
            Pattern::Any8 => group(8).any(flag),
            Pattern::All8 => group(8).all(flag),
            Pattern::Any16 => group(16).any(flag),
            Pattern::All16 => group(16).all(flag),
            Pattern::Any32 => group(32).any(flag),
            Pattern::All32 => group(32).all(flag),
        };
        value != predicate.inverse
    }

    /// Carries out an operation.
    pub(in crate::execute) fn operate(&mut self, i: &Instruction) -> Result<(), Why> {
        let unknown = |what| Why::Unknown { opcode: i.opcode, what };
        if i.align16 {
            return Err(unknown("Align16"));
        }
        if i.is_macro() {
            return Err(unknown("a macro operation"));
        }
        let destination = i.destination.ok_or(unknown("an operation without a destination"))?;
        if is_of_unknown_float(i, &destination) {
            return Err(unknown("an operation on native or brain floats"));
        }
        let can_multiply = (multiplies_doublewords(self.shader.platform) || is_lower_half(i.sources[1]))
            && accumulator::byte(destination.place).is_none();
        if i.opcode == Opcode::Mul && has_doubleword(i.sources[1]) && !can_multiply {
            return Err(unknown("the product of doublewords"));
        }
        if !accumulator::is_known(i, &destination) {
            return Err(unknown("the accumulator"));
        }
        let kind = execution_kind(i, &destination).ok_or(unknown("the execution type"))?;
        let enabled = self.enabled(i);
        let mut results = [None; 32];
        // All sources are read before a result is written.
        for channel in (0..usize::from(i.execution_size)).filter(|channel| enabled >> channel & 1 != 0) {
            results[channel] = Some(self.result(i, &destination, kind, channel)?);
        }
        let mut flags = Vec::new();
        for (channel, outcome) in results.into_iter().enumerate() {
            let Some(outcome) = outcome else { continue };
            self.put(i, &destination, kind, channel, outcome)?;
            if let Some(flag) = outcome.flag {
                flags.push((channel, flag));
            }
        }
        for (channel, flag) in flags {
            self.registers.set_flag(i.flag, u32::from(i.channel_offset) + channel as u32, flag);
        }
        Ok(())
    }

    /// Returns the result of a channel.
    fn result(&self, i: &Instruction, to: &Destination, kind: Type, channel: usize) -> Result<Outcome, Why> {
        let unknown = |what| Why::Unknown { opcode: i.opcode, what };
        let undefined = |what| Why::Undefined { opcode: i.opcode, what };
        let is_plain = i.opcode == Opcode::Mov && !i.saturate && i.condition.is_none();
        let is_general = accumulator::byte(to.place).is_none();
        if let Some(source) = i.sources[0].filter(|source| is_plain && is_general && is_raw(source, to.kind))
        {
            return Ok(Outcome { bits: self.bits(i, &source, channel)?, ..Outcome::default() });
        }
        let mut numbers = [Some(Number::Integer(0)); 3];
        for (number, source) in numbers.iter_mut().zip(i.sources.iter().flatten()) {
            *number = self.number(i, source, kind, channel)?;
        }
        let defined = || match numbers {
            [Some(a), Some(b), Some(c)] => Some([a, b, c]),
            _ => None,
        };
        match (i.opcode, i.condition) {
            (Opcode::Mach, _) => {
                let operand = "the accumulator";
                let low = self.registers.accumulator.get(4 * channel, 4);
                let low = low.map_err(|NoRegister| Why::Register { opcode: i.opcode, operand })?;
                let (Some(low), Some(Number::Integer(a)), Some(Number::Integer(b))) =
                    (low, numbers[0], numbers[1])
                else {
                    return Ok(Outcome::default());
                };
                let product = accumulator::complete(low, a, b);
                let bits = to_bits(to.kind, Number::Integer(product >> 32), false);
                Ok(Outcome { bits: Some(bits), flag: None, wide: Some(product) })
            }
            (Opcode::Math, _) => {
                if let Some(function) = Function::of(i) {
                    let (Some(a), Some(b)) = (numbers[0], numbers[1]) else { return Ok(Outcome::default()) };
                    let [a, b] = [a, b].map(|number| float(number, kind));
                    let bits = function.perform(a, b).map(|result| {
                        let rounded = from_bits(kind, to_bits(kind, Number::Float(result), false));
                        to_bits(to.kind, rounded, i.saturate)
                    });
                    return Ok(Outcome { bits, ..Outcome::default() });
                }
                let division = Division::of(i).ok_or(unknown("the function"))?;
                let [Some(Number::Integer(dividend)), Some(Number::Integer(divisor)), _] = numbers else {
                    return Ok(Outcome::default());
                };
                let result = division.perform(dividend, divisor);
                let result = result.ok_or(Why::Division { dividend, divisor })?;
                let bits = Some(to_bits(to.kind, Number::Integer(result), false));
                Ok(Outcome { bits, ..Outcome::default() })
            }
            (Opcode::Cmp, None) | (Opcode::Sel, None) if i.predicate.is_none() => {
                Err(unknown("its meaning without a condition"))
            }
            (Opcode::Cmp, Some(condition)) => {
                let [a, b, _] = defined().ok_or(undefined("the comparison"))?;
                let is_true = holds(condition, a, b).ok_or(unknown("the condition"))?;
                let bits = Some(if is_true { u64::MAX } else { 0 });
                Ok(Outcome { bits, flag: Some(is_true), wide: None })
            }
            (Opcode::Sel, condition) => {
                let takes_first = match (condition, numbers) {
                    (Some(condition), [Some(a), Some(b), _]) => {
                        // The minimum and the maximum with NaN are the other number.
                        let is_nan = |number| matches!(number, Number::Float(float) if float.is_nan());
                        is_nan(b) || !is_nan(a) && holds(condition, a, b).ok_or(unknown("the condition"))?
                    }
                    (Some(_), _) => return Err(undefined("the comparison")),
                    (None, _) => self.is_predicated(i, u32::from(i.channel_offset) + channel as u32),
                };
                let chosen = numbers[usize::from(!takes_first)];
                let bits = chosen.map(|number| to_bits(to.kind, number, i.saturate));
                Ok(Outcome { bits, ..Outcome::default() })
            }
            (opcode, condition) => {
                let Some(sources) = defined() else {
                    return match condition {
                        None => Ok(Outcome::default()),
                        Some(_) => Err(undefined("the comparison")),
                    };
                };
                let number = perform(opcode, kind, sources).ok_or(unknown("the effect"))?;
                // The unit computes in the execution type.
                let rounded = match number {
                    Number::Float(_) => from_bits(kind, to_bits(kind, number, false)),
                    Number::Integer(_) => number,
                };
                let bits = to_bits(to.kind, rounded, i.saturate);
                let flag = match condition {
                    None => None,
                    Some(condition) => {
                        let result = from_bits(to.kind, bits);
                        let is_true = holds(condition, result, Number::Integer(0));
                        Some(is_true.ok_or(unknown("the condition"))?)
                    }
                };
                let wide = match number {
                    Number::Integer(integer) => Some(integer),
                    Number::Float(_) => None,
                };
                Ok(Outcome { bits: Some(bits), flag, wide })
            }
        }
    }

    /// Returns the number of a source for a channel.
    fn number(&self, i: &Instruction, source: &Source, kind: Type, channel: usize) -> Result<Value, Why> {
        match *source {
            Source::Immediate { kind, bits } => {
                Ok(Some(of_vector(kind, bits, channel).unwrap_or(from_bits(kind, bits))))
            }
            Source::Register { place, kind: own, region, absolute, negate } => {
                let Some(bits) = self.bits(i, source, channel)? else { return Ok(None) };
                let mut number = from_bits(own, bits);
                if let Some(at) = accumulator::byte(place) {
                    let (_, skip) = element(i, place, own, region, channel)?;
                    let wide = self.registers.accumulator.get(at + skip, usize::from(own.bytes()));
                    if wide.is_ok_and(|wide| wide.is_some_and(|wide| !accumulator::is_exact(own, wide))) {
                        return Err(Why::Accumulator { opcode: i.opcode });
                    }
                }
                if let (Number::Integer(integer), Base::Float) = (number, kind.base()) {
                    // Rounded to the execution type first.
                    number = from_bits(kind, to_bits(kind, Number::Integer(integer), false));
                }
                if absolute {
                    number = match number {
                        Number::Integer(integer) => Number::Integer(integer.abs()),
                        Number::Float(float) => Number::Float(float.abs()),
                    };
                }
                let is_logic = matches!(i.opcode, Opcode::Not | Opcode::And | Opcode::Or | Opcode::Xor);
                Ok(Some(match number {
                    number if !negate => number,
                    Number::Integer(integer) if is_logic && self.shader.platform.graphics() >= 80 => {
                        Number::Integer(!integer)
                    }
                    Number::Integer(integer) => Number::Integer(-integer),
                    Number::Float(float) => Number::Float(-float),
                }))
            }
        }
    }

    /// Returns the bits of a source for a channel.
    fn bits(&self, i: &Instruction, source: &Source, channel: usize) -> Result<Bits, Why> {
        let (place, kind, region) = match *source {
            Source::Immediate { bits, .. } => return Ok(Some(bits)),
            Source::Register { place, kind, region, .. } => (place, kind, region),
        };
        let (place, skip) = element(i, place, kind, region, channel)?;
        let got = self.registers.get(place, skip, usize::from(kind.bytes()));
        got.map_err(|NoRegister| Why::Register { opcode: i.opcode, operand: "a source" })
    }

    /// Writes the result of a channel. The rest of an element of the execution type is undefined after a conversion to a
    /// smaller type.
    fn put(
        &mut self,
        i: &Instruction,
        to: &Destination,
        kind: Type,
        at: usize,
        outcome: Outcome,
    ) -> Result<(), Why> {
        let bits = outcome.bits;
        let error = |NoRegister| Why::Register { opcode: i.opcode, operand: "the destination" };
        let bytes = usize::from(to.kind.bytes());
        let (step, wide) = (usize::from(to.stride) * bytes, usize::from(kind.bytes()));
        if i.opcode == Opcode::Mach {
            self.registers.accumulator.set(4 * at, 4, outcome.wide).map_err(error)?;
        }
        if let Some(first) = accumulator::byte(to.place) {
            if outcome.wide.is_some_and(|number| !accumulator::keeps(i.opcode, to.kind, number)) {
                return Err(Why::Accumulator { opcode: i.opcode });
            }
            return self.registers.accumulator.set(first + at * step, bytes, outcome.wide).map_err(error);
        }
        self.registers
            .set(to.place, at * step, bytes, bits.map(|bits| bits & (u64::MAX >> (64 - 8 * bytes))))
            .map_err(error)?;
        let is_general = !matches!(to.place, Place::Direct { file: crate::File::Architecture, .. });
        if is_general && wide > bytes && step >= wide && !matches!(i.opcode, Opcode::Cmp | Opcode::Sel) {
            self.registers.set(to.place, at * step + bytes, wide - bytes, None).map_err(error)?;
        }
        Ok(())
    }
}

/// Returns the place of a channel's element, and the bytes before it.
fn element(
    i: &Instruction,
    place: Place,
    kind: Type,
    region: Region,
    channel: usize,
) -> Result<(Place, usize), Why> {
    let Region::Rows { vertical, width, horizontal } = region else {
        return Err(Why::Unknown { opcode: i.opcode, what: "the region" });
    };
    let bytes = usize::from(kind.bytes());
    let (row, column) = (channel / usize::from(width), channel % usize::from(width));
    let (place, rows) = match (vertical, place) {
        (Some(vertical), place) => (place, row * usize::from(vertical)),
        // Each row has an address register of its own.
        (None, Place::Indirect { register, offset }) => {
            (Place::Indirect { register: register.saturating_add(row as u8), offset }, 0)
        }
        (None, Place::Direct { .. } | Place::Macro { .. }) => {
            return Err(Why::Unknown { opcode: i.opcode, what: "the region" });
        }
    };
    Ok((place, (rows + column * usize::from(horizontal)) * bytes))
}

/// What an operation has for a channel.
#[derive(Clone, Copy, Debug, Default)]
struct Outcome {
    bits: Bits,
    flag: Option<bool>,
    /// The integer before it was cut to the destination's type.
    wide: Option<i128>,
}

/// Returns whether the second factor of a product may be a doubleword. Other platforms take the lower half of it, some of them not always:
/// Mesa's `has_integer_dword_mul`.
fn multiplies_doublewords(platform: Platform) -> bool {
    matches!(platform, Platform::Bdw | Platform::Skl | Platform::Kbl | Platform::Cfl)
}

/// Returns whether a source is a number that its lower half is, too, with or without a sign.
fn is_lower_half(source: Option<Source>) -> bool {
    matches!(source, Some(Source::Immediate { kind: Type::D | Type::Ud, bits: 0..0x8000 }))
}

/// Returns whether a source is a doubleword.
fn has_doubleword(source: Option<Source>) -> bool {
    match source {
        Some(Source::Register { kind, .. } | Source::Immediate { kind, .. }) => {
            matches!(kind, Type::D | Type::Ud)
        }
        None => false,
    }
}

/// Returns whether an operand is of a type whose numbers are not known here.
fn is_of_unknown_float(i: &Instruction, to: &Destination) -> bool {
    let kinds = i.sources.iter().flatten().map(|source| match source {
        Source::Register { kind, .. } | Source::Immediate { kind, .. } => *kind,
    });
    kinds.chain([to.kind]).any(|kind| matches!(kind, Type::Nf | Type::Bf))
}

/// Returns whether a move of a source keeps its bits.
fn is_raw(source: &Source, to: Type) -> bool {
    match *source {
        Source::Register { kind, absolute, negate, .. } => {
            let is_same = kind == to
                || kind.bytes() == to.bytes() && kind.base() != Base::Float && to.base() != Base::Float;
            is_same && !absolute && !negate
        }
        Source::Immediate { kind, .. } => kind == to,
    }
}

/// Returns the type that an operation is executed in (Programmer's Reference Manual, "Execution Data Type"). The validator has a
/// reading of its own: it and the executor check each other.
fn execution_kind(i: &Instruction, to: &Destination) -> Option<Type> {
    let promoted = |source: &Source| match *source {
        Source::Register { kind, .. } | Source::Immediate { kind, .. } => match kind {
            Type::Ub | Type::B | Type::Uw | Type::W | Type::Uv | Type::V => Type::W,
            Type::Ud | Type::D => Type::D,
            Type::Uq | Type::Q => Type::Q,
            Type::Vf => Type::F,
            Type::Hf | Type::Bf | Type::F | Type::Df | Type::Nf => kind,
        },
    };
    let kinds: Vec<Type> = i.sources.iter().flatten().map(promoted).collect();
    let has = |kind| kinds.contains(&kind);
    match kinds.as_slice() {
        [] => None,
        [Type::Hf] => Some(to.kind),
        [only] => Some(*only),
        _ if has(Type::Hf) && !has(Type::F) && to.kind == Type::F => Some(Type::F),
        _ => [Type::Nf, Type::Df, Type::F, Type::Hf, Type::Q, Type::D, Type::W]
            .into_iter()
            .find(|kind| has(*kind)),
    }
}

//! The accumulator: numbers that are wider than its elements.

use super::error::NoRegister;
use super::value::{Number, from_bits, to_bits};
use crate::{Destination, File, Instruction, Opcode, Place, Source, Type};

/// The number of acc0 among the architecture registers. Integers have no other accumulator from graphics 7 on.
const ACCUMULATOR: u8 = 0x20;

/// The numbers of acc0.
#[derive(Clone, Debug)]
pub(super) struct Accumulator {
    /// Those of words. They are undefined after a write of doublewords.
    words: [Option<i128>; 16],
    /// Those of doublewords, the other way round.
    doublewords: [Option<i128>; 8],
}

impl Accumulator {
    /// Returns an accumulator whose elements are all this number.
    pub fn filled(number: Option<i128>) -> Self {
        Self { words: [number; 16], doublewords: [number; 8] }
    }

    /// Returns the number of the element at a byte.
    pub fn get(&self, at: usize, bytes: usize) -> Result<Option<i128>, NoRegister> {
        let numbers: &[_] = match bytes {
            2 => &self.words,
            4 => &self.doublewords,
            _ => return Err(NoRegister),
        };
        numbers.get(at / bytes).copied().ok_or(NoRegister)
    }

    /// Sets the number of the element at a byte.
    pub fn set(&mut self, at: usize, bytes: usize, number: Option<i128>) -> Result<(), NoRegister> {
        let (numbers, others): (&mut [_], &mut [_]) = match bytes {
            2 => (&mut self.words, &mut self.doublewords),
            4 => (&mut self.doublewords, &mut self.words),
            _ => return Err(NoRegister),
        };
        *numbers.get_mut(at / bytes).ok_or(NoRegister)? = number;
        others.fill(None);
        Ok(())
    }
}

/// Returns the first byte in the accumulator, if a place is there.
pub(super) fn byte(place: Place) -> Option<usize> {
    match place {
        Place::Direct { file: File::Architecture, number: ACCUMULATOR, offset } => Some(usize::from(offset)),
        Place::Direct { .. } | Place::Indirect { .. } | Place::Macro { .. } => None,
    }
}

/// Returns whether the effect of an operation on the accumulator is known, or it has none.
pub(super) fn is_known(i: &Instruction, to: &Destination) -> bool {
    let is_integer = |kind| matches!(kind, Type::Uw | Type::W | Type::Ud | Type::D);
    let is_right = |source: &Source| match *source {
        Source::Register { place, kind, .. } => byte(place).is_none() || is_integer(kind),
        Source::Immediate { .. } => true,
    };
    let is_plain = i.condition.is_none() && !i.saturate;
    let has_known_result = if i.opcode == Opcode::Mach {
        is_plain && is_high_product(i, to)
    } else if byte(to.place).is_some() {
        let is_kept = matches!(i.opcode, Opcode::Mov | Opcode::Add | Opcode::Mul);
        is_plain && is_kept && !i.accumulator_write && to.stride == 1 && is_integer(to.kind)
    } else {
        !i.accumulator_write
    };
    has_known_result && i.sources.iter().flatten().all(is_right)
}

/// Returns whether a `mach` takes the accumulator of its channels, and its sources as they are.
fn is_high_product(i: &Instruction, to: &Destination) -> bool {
    let is_factor = |source: &Option<Source>| match *source {
        Some(Source::Register { kind, absolute, negate, .. }) => kind == to.kind && !absolute && !negate,
        Some(Source::Immediate { kind, .. }) => kind == to.kind,
        None => false,
    };
    let [first, second, _] = &i.sources;
    i.accumulator_write
        && i.channel_offset == 0
        && i.execution_size <= 8
        && byte(to.place).is_none()
        && matches!(to.kind, Type::D | Type::Ud)
        && is_factor(first)
        && is_factor(second)
}

/// Returns the product of doublewords, of which the accumulator has the product with the lower half of the second one.
pub(super) fn complete(accumulator: i128, first: i128, second: i128) -> i128 {
    accumulator + ((first * (second >> 16)) << 16)
}

/// Returns whether the accumulator keeps a result as it is: a product of doublewords has more bits there, other numbers are those of its
/// type.
pub(super) fn keeps(opcode: Opcode, kind: Type, number: i128) -> bool {
    let is_product = opcode == Opcode::Mul && kind.bytes() == 4;
    is_product || is_exact(kind, number)
}

/// Returns whether a type has a number.
pub(super) fn is_exact(kind: Type, number: i128) -> bool {
    from_bits(kind, to_bits(kind, Number::Integer(number), false)) == Number::Integer(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_of_one_size_are_no_elements_of_another() {
        let mut accumulator = Accumulator::filled(None);
        accumulator.set(4, 4, Some(1 << 40)).unwrap();
        assert_eq!((accumulator.get(4, 4), accumulator.get(4, 2)), (Ok(Some(1 << 40)), Ok(None)));
        accumulator.set(4, 2, Some(3)).unwrap();
        assert_eq!((accumulator.get(4, 4), accumulator.get(4, 2)), (Ok(None), Ok(Some(3))));
        assert_eq!(
            (accumulator.get(32, 4), accumulator.set(32, 2, None)),
            (Err(NoRegister), Err(NoRegister))
        );
    }

    #[test]
    fn a_product_is_completed() {
        for (first, second) in [(7, 0x1_0003), (-7, 0x7fff_ffff), (-0x8000_0000, -0x8000_0000), (5, -1)] {
            let low = first * (second & 0xffff);
            assert_eq!(complete(low, first, second), first * second);
        }
    }
}

//! Products of which the execution units have only parts.

use super::{INT, Made, UINT};
use crate::ir::{Binary, Conversion, Operation, Scalar, Value};

impl Made<'_> {
    /// Returns the upper half of a product, from those of the factors' halves.
    pub(super) fn high_product(&mut self, signed: bool, a: Value, b: Value) -> Operation {
        let sixteen = self.constant(UINT, 16);
        let mask = self.constant(UINT, 0xffff);
        let mut halves = |value| {
            let low = self.two(UINT, Binary::And, value, mask);
            let high = self.two(UINT, Binary::ShiftRight { signed: false }, value, sixteen);
            [low, high]
        };
        let ([low_a, high_a], [low_b, high_b]) = (halves(a), halves(b));
        let shift = Binary::ShiftRight { signed: false };
        let low = self.two(UINT, Binary::Multiply, low_a, low_b);
        let low = self.two(UINT, shift, low, sixteen);
        let middle = self.two(UINT, Binary::Multiply, high_a, low_b);
        let middle = self.two(UINT, Binary::Add, middle, low);
        let [rest, carried] =
            [self.two(UINT, Binary::And, middle, mask), self.two(UINT, shift, middle, sixteen)];
        let other = self.two(UINT, Binary::Multiply, low_a, high_b);
        let other = self.two(UINT, Binary::Add, other, rest);
        let other = self.two(UINT, shift, other, sixteen);
        let high = self.two(UINT, Binary::Multiply, high_a, high_b);
        let high = self.two(UINT, Binary::Add, high, carried);
        if !signed {
            return Operation::Binary(Binary::Add, high, other);
        }
        // A negative factor counts 2^32 more without its sign, so the other one was counted once too often.
        let mut high = self.two(UINT, Binary::Add, high, other);
        let last = self.constant(UINT, 31);
        let arithmetic = Binary::ShiftRight { signed: true };
        let sign = self.two(INT, arithmetic, a, last);
        let excess = self.two(UINT, Binary::And, sign, b);
        high = self.two(UINT, Binary::Subtract, high, excess);
        let sign = self.two(INT, arithmetic, b, last);
        let excess = self.two(UINT, Binary::And, sign, a);
        Operation::Binary(Binary::Subtract, high, excess)
    }

    /// Returns the lower half of a product of 64-bit integers, from those of the factors' halves.
    pub(super) fn long_product(&mut self, kind: Scalar, a: Value, b: Value) -> Operation {
        let count = self.constant(UINT, 32);
        let mut halves = |value| {
            let low = self.convert(UINT, Conversion::Unsigned, value);
            let above = self.two(kind, Binary::ShiftRight { signed: false }, value, count);
            [low, self.convert(UINT, Conversion::Unsigned, above)]
        };
        let ([low_a, high_a], [low_b, high_b]) = (halves(a), halves(b));
        let low = self.two(UINT, Binary::Multiply, low_a, low_b);
        let high = self.high_product(false, low_a, low_b);
        let high = self.make(UINT, high);
        let first = self.two(UINT, Binary::Multiply, low_a, high_b);
        let high = self.two(UINT, Binary::Add, high, first);
        let second = self.two(UINT, Binary::Multiply, high_a, low_b);
        let high = self.two(UINT, Binary::Add, high, second);
        let [low, high] = [low, high].map(|half| self.convert(kind, Conversion::Unsigned, half));
        let high = self.two(kind, Binary::ShiftLeft, high, count);
        Operation::Binary(Binary::Or, low, high)
    }
}

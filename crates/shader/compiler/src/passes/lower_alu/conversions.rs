//! Conversions between floats and 64-bit integers, where the platform has no 64-bit integers.

use super::{FLOAT, Made, UINT};
use crate::ir::{Binary, Comparison, Conversion, Operation, Scalar, Unary, Value};

const DOUBLE: Scalar = Scalar::Float { bits: 64 };
const LONG: Scalar = Scalar::Integer { bits: 64, signed: false };
/// The bias and the place of a float's exponent.
const BIAS: u64 = 127;
const EXPONENT: u64 = 23;

impl Made<'_> {
    /// Returns the last operation of a conversion between a float and a 64-bit integer; none if it is another one. Half floats are
    /// converted by floats.
    pub(super) fn conversion(
        &mut self,
        conversion: Conversion,
        [from, to]: [Scalar; 2],
        a: Value,
    ) -> Option<Operation> {
        let is_long = |kind| matches!(kind, Scalar::Integer { bits: 64, .. });
        match (from, to) {
            (Scalar::Float { bits: 16 }, _) if is_long(to) => {
                let a = self.convert(FLOAT, Conversion::Float, a);
                Some(self.long_of(conversion == Conversion::Float, FLOAT, to, a))
            }
            (Scalar::Float { .. }, _) if is_long(to) && conversion != Conversion::Bitcast => {
                Some(self.long_of(conversion == Conversion::Float, from, to, a))
            }
            (_, Scalar::Float { bits: 16 }) if is_long(from) => {
                let float = self.float_of(conversion == Conversion::Signed, FLOAT, a);
                let float = self.make(FLOAT, float);
                Some(Operation::Convert(Conversion::Float, FLOAT, float))
            }
            (_, Scalar::Float { .. }) if is_long(from) && conversion != Conversion::Bitcast => {
                Some(self.float_of(conversion == Conversion::Signed, to, a))
            }
            _ => None,
        }
    }

    /// Returns a float that has exactly the number 2 to a power.
    fn power(&mut self, kind: Scalar, power: i32) -> Value {
        let bits =
            if kind == DOUBLE { 2_f64.powi(power).to_bits() } else { u64::from(2_f32.powi(power).to_bits()) };
        self.constant(kind, bits)
    }

    /// Returns the lower and the upper half of a 64-bit integer.
    fn dwords(&mut self, a: Value) -> [Value; 2] {
        let count = self.constant(UINT, 32);
        let above = self.two(LONG, Binary::ShiftRight { signed: false }, a, count);
        [a, above].map(|value| self.convert(UINT, Conversion::Unsigned, value))
    }

    /// Returns whether a number is less than zero.
    pub(super) fn is_negative(&mut self, kind: Scalar, a: Value) -> Value {
        let zero = self.constant(kind, 0);
        self.make(Scalar::Bool, Operation::Compare(Comparison::Less { signed: true }, kind, a, zero))
    }

    /// Converts a float. The upper half is the quotient by 2^32, and the lower one the rest, which the float has exactly.
    fn long_of(&mut self, signed: bool, from: Scalar, to: Scalar, a: Value) -> Operation {
        let magnitude = if signed { self.make(from, Operation::Unary(Unary::Absolute, a)) } else { a };
        let (down, up) = (self.power(from, -32), self.power(from, 32));
        let quotient = self.two(from, Binary::Multiply, magnitude, down);
        let high = self.convert(UINT, Conversion::FloatToUnsigned, quotient);
        let whole = self.convert(from, Conversion::Unsigned, high);
        let whole = self.two(from, Binary::Multiply, whole, up);
        let rest = self.two(from, Binary::Subtract, magnitude, whole);
        let low = self.convert(UINT, Conversion::FloatToUnsigned, rest);
        let [low, high] = [low, high].map(|half| self.convert(to, Conversion::Unsigned, half));
        let count = self.constant(UINT, 32);
        let high = self.two(to, Binary::ShiftLeft, high, count);
        if !signed {
            return Operation::Binary(Binary::Or, low, high);
        }
        let result = self.two(to, Binary::Or, low, high);
        let negated = self.make(to, Operation::Unary(Unary::Negate, result));
        let is_negative = self.is_negative(from, a);
        Operation::Select(is_negative, negated, result)
    }

    /// Converts a 64-bit integer, and rounds once.
    fn float_of(&mut self, signed: bool, to: Scalar, a: Value) -> Operation {
        if to == DOUBLE {
            // A double has each half exactly.
            let [low, high] = self.dwords(a);
            let low = self.convert(to, Conversion::Unsigned, low);
            let high = self.convert(to, if signed { Conversion::Signed } else { Conversion::Unsigned }, high);
            let up = self.power(to, 32);
            let high = self.two(to, Binary::Multiply, high, up);
            return Operation::Binary(Binary::Add, high, low);
        }
        if !signed {
            return self.rounded(a);
        }
        let is_negative = self.is_negative(LONG, a);
        let negated = self.make(LONG, Operation::Unary(Unary::Negate, a));
        let magnitude = self.make(LONG, Operation::Select(is_negative, negated, a));
        let result = self.rounded(magnitude);
        let result = self.make(FLOAT, result);
        let negated = self.make(FLOAT, Operation::Unary(Unary::Negate, result));
        Operation::Select(is_negative, negated, result)
    }

    /// Rounds the upper 32 bits from the highest one on, of which the last one tells whether a lower one is set.
    fn rounded(&mut self, a: Value) -> Operation {
        let [_, high] = self.dwords(a);
        let one = self.constant(UINT, 1);
        let last = self.make(UINT, Operation::Unary(Unary::HighestBit, high));
        let count = self.two(UINT, Binary::Add, last, one);
        let shifted = self.two(LONG, Binary::ShiftRight { signed: false }, a, count);
        let upper = self.convert(UINT, Conversion::Unsigned, shifted);
        let back = self.two(LONG, Binary::ShiftLeft, shifted, count);
        let is_cut = self.make(Scalar::Bool, Operation::Compare(Comparison::Unequal, LONG, back, a));
        let with_last = self.two(UINT, Binary::Or, upper, one);
        let upper = self.make(UINT, Operation::Select(is_cut, with_last, upper));
        let float = self.convert(FLOAT, Conversion::Unsigned, upper);
        let bias = self.constant(UINT, BIAS);
        let exponent = self.two(UINT, Binary::Add, count, bias);
        let place = self.constant(UINT, EXPONENT);
        let bits = self.two(UINT, Binary::ShiftLeft, exponent, place);
        let power = self.convert(FLOAT, Conversion::Bitcast, bits);
        Operation::Binary(Binary::Multiply, float, power)
    }
}

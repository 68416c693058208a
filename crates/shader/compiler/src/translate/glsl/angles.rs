//! Angles of sines, cosines and tangents: functions of GLSL.std.450 that the execution units lack.

use std::f64::consts::{FRAC_PI_2, PI};

use rspirv::spirv::GlslStd450Op as Glsl;

use crate::Error;
use crate::ir::{Binary, Comparison, Conversion, Operation, Scalar, Unary, Value};
use crate::translate::Translator;

/// The floats in which these functions are computed.
const SINGLE: Scalar = Scalar::Float { bits: 32 };
/// Their bits, whose sign is that of the float.
const BITS: Scalar = Scalar::Integer { bits: 32, signed: true };

/// The coefficients of the arc tangent's polynomial, from that of x^3 on. Of all polynomials of this degree it has the least relative error
/// between 0 and 1, which is below 2^-25.
const ARC_TANGENT: [f64; 8] = [
    -0.333_331_527,
    0.199_937_728,
    -0.142_110_553,
    0.106_660_046,
    -0.075_522_142_1,
    0.043_211_859_6,
    -0.016_367_927_1,
    0.002_920_691_96,
];

impl Translator<'_> {
    /// Returns the result of a function that is computed in single floats; none if it is no such function. Half floats are converted.
    pub(in crate::translate) fn in_single(
        &mut self,
        function: Glsl,
        operands: &[Value],
    ) -> Result<Option<Value>, Error> {
        let is_single = matches!(
            function,
            Glsl::Asin
                | Glsl::Acos
                | Glsl::Atan
                | Glsl::Atan2
                | Glsl::Sinh
                | Glsl::Cosh
                | Glsl::Tanh
                | Glsl::Asinh
                | Glsl::Acosh
                | Glsl::Atanh
        );
        let kind = match operands {
            [a, ..] if is_single => self.program.kind(*a),
            _ => return Ok(None),
        };
        if !matches!(kind, Scalar::Float { bits: 16 | 32 }) {
            return Ok(None);
        }
        let wide = operands.iter().map(|value| self.convert_float(SINGLE, *value));
        let found = match *wide.collect::<Result<Vec<_>, _>>()?.as_slice() {
            [a] => match self.angle(function, a)? {
                Some(angle) => Some(angle),
                None => self.hyperbolic(function, a)?,
            },
            [y, x] if function == Glsl::Atan2 => Some(self.angle_of_point(y, x)?),
            _ => None,
        };
        found.map(|value| self.convert_float(kind, value)).transpose()
    }

    /// Returns a half float or a single float as one of a type.
    pub(in crate::translate) fn convert_float(&mut self, kind: Scalar, value: Value) -> Result<Value, Error> {
        let from = self.program.kind(value);
        if from == kind {
            return Ok(value);
        }
        self.make(kind, Operation::Convert(Conversion::Float, from, value))
    }

    /// Returns the angle of one number; none if the function is no such function.
    fn angle(&mut self, function: Glsl, a: Value) -> Result<Option<Value>, Error> {
        Ok(Some(match function {
            Glsl::Atan => {
                let (tangent, unit) = (self.unary(Unary::Absolute, a)?, self.real(SINGLE, 1.0)?);
                let angle = self.angle_of_magnitudes(tangent, unit)?;
                self.with_sign_of(a, angle)?
            }
            Glsl::Asin => {
                let other = self.other_side(a)?;
                self.angle_of_point(a, other)?
            }
            Glsl::Acos => {
                let other = self.other_side(a)?;
                self.angle_of_point(other, a)?
            }
            _ => return Ok(None),
        }))
    }

    /// Returns the cosine of an angle whose sine is known, or the other way round: sqrt((1 - a)(1 + a)), whose factors are exact near 1.
    fn other_side(&mut self, a: Value) -> Result<Value, Error> {
        let unit = self.real(SINGLE, 1.0)?;
        let (less, more) = (self.binary(Binary::Subtract, unit, a)?, self.binary(Binary::Add, unit, a)?);
        let square = self.binary(Binary::Multiply, less, more)?;
        self.unary(Unary::Sqrt, square)
    }

    /// Returns the angle between the x axis and a point.
    fn angle_of_point(&mut self, y: Value, x: Value) -> Result<Value, Error> {
        let (height, width) = (self.unary(Unary::Absolute, y)?, self.unary(Unary::Absolute, x)?);
        let angle = self.angle_of_magnitudes(height, width)?;
        let half_turn = self.real(SINGLE, PI)?;
        let rest = self.binary(Binary::Subtract, half_turn, angle)?;
        // The bits tell the sign of a zero, too.
        let (bits, zero) = (self.retyped(BITS, x)?, self.integer(BITS, 0)?);
        let is_left = self.compare(Comparison::Less { signed: true }, bits, zero)?;
        let angle = self.choose(is_left, rest, angle)?;
        self.with_sign_of(y, angle)
    }

    /// Returns the angle between the x axis and a point whose coordinates are 0 or more: by the arc tangent of the quotient that is at
    /// most 1.
    fn angle_of_magnitudes(&mut self, y: Value, x: Value) -> Result<Value, Error> {
        let is_steep = self.compare(Comparison::Less { signed: false }, x, y)?;
        let (low, high) = (self.choose(is_steep, x, y)?, self.choose(is_steep, y, x)?);
        let quotient = self.binary(Binary::Divide { signed: false }, low, high)?;
        // Two infinities count as 1, and two zeroes as 0: their quotients are no numbers.
        let (zero, unit) = (self.real(SINGLE, 0.0)?, self.real(SINGLE, 1.0)?);
        let is_zero = self.compare(Comparison::Equal, high, zero)?;
        let same = self.choose(is_zero, zero, unit)?;
        let is_same = self.compare(Comparison::Equal, low, high)?;
        let quotient = self.choose(is_same, same, quotient)?;
        let angle = self.odd_polynomial(quotient, &ARC_TANGENT)?;
        let quarter_turn = self.real(SINGLE, FRAC_PI_2)?;
        let rest = self.binary(Binary::Subtract, quarter_turn, angle)?;
        self.choose(is_steep, rest, angle)
    }

    /// Returns a + a^3 c0 + a^5 c1 + a^7 c2 ... for coefficients c.
    pub(in crate::translate) fn odd_polynomial(
        &mut self,
        a: Value,
        coefficients: &[f64],
    ) -> Result<Value, Error> {
        let square = self.binary(Binary::Multiply, a, a)?;
        let mut sum = self.real(SINGLE, 0.0)?;
        for (place, coefficient) in coefficients.iter().rev().enumerate() {
            let coefficient = self.real(SINGLE, *coefficient)?;
            sum = if place == 0 { coefficient } else { self.binary(Binary::Add, sum, coefficient)? };
            sum = self.binary(Binary::Multiply, square, sum)?;
        }
        let more = self.binary(Binary::Multiply, a, sum)?;
        self.binary(Binary::Add, a, more)
    }

    /// Returns a float that is 0 or more with the sign of another one.
    pub(in crate::translate) fn with_sign_of(
        &mut self,
        from: Value,
        magnitude: Value,
    ) -> Result<Value, Error> {
        let kind = self.program.kind(from);
        let of_bits = Scalar::Integer { bits: kind.bits(), signed: false };
        let sign = self.integer(of_bits, 1 << (kind.bits() - 1))?;
        let (from, magnitude) = (self.retyped(of_bits, from)?, self.retyped(of_bits, magnitude)?);
        let sign = self.binary(Binary::And, from, sign)?;
        let both = self.binary(Binary::Or, magnitude, sign)?;
        self.retyped(kind, both)
    }
}

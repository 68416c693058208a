//! Hyperbolic functions of GLSL.std.450 and their inverses, by powers of 2 and logarithms. Near 0, where those lose digits, polynomials
//! replace them.

use std::f64::consts::{LN_2, LOG2_E};

use rspirv::spirv::GlslStd450Op as Glsl;

use crate::Error;
use crate::ir::{Binary, Comparison, Unary, Value};
use crate::translate::Translator;

/// A polynomial that replaces a function near 0.
#[derive(Clone, Copy, Debug)]
struct Near {
    /// The magnitude below which it does.
    below: f64,
    /// The coefficients, from that of x^3 on. Of all polynomials of this degree it has the least relative error, which is below 2^-25.
    coefficients: &'static [f64],
}

const SINE: Near = Near { below: 1.0, coefficients: &[0.166_667_16, 0.008_330_283_72, 0.000_203_721_945] };
const TANGENT: Near = Near {
    below: 0.625,
    coefficients: &[-0.333_332_819, 0.133_314_422, -0.053_739_715, 0.020_639_086_9, -0.005_704_986_6],
};
const AREA_SINE: Near = Near {
    below: 0.5,
    coefficients: &[-0.166_666_436, 0.074_986_521_4, -0.044_384_516_7, 0.028_169_123_6, -0.013_237_526_1],
};
const AREA_TANGENT: Near = Near {
    below: 0.5,
    coefficients: &[0.333_333_001, 0.200_025_183, 0.142_227_621, 0.118_237_301, 0.051_358_234, 0.176_691_198],
};

/// A magnitude whose square is finite, and so large that a sum of 1 and the square is rounded to the square.
const LARGE: f64 = 65536.0;

impl Translator<'_> {
    /// Returns the result of a function of a single float; none if it is no hyperbolic function, or the inverse of one.
    pub(in crate::translate) fn hyperbolic(
        &mut self,
        function: Glsl,
        a: Value,
    ) -> Result<Option<Value>, Error> {
        let magnitude = self.unary(Unary::Absolute, a)?;
        Ok(Some(match function {
            Glsl::Sinh => {
                let [up, down] = self.half_powers(magnitude)?;
                let sine = self.binary(Binary::Subtract, up, down)?;
                self.odd(SINE, a, magnitude, sine)?
            }
            Glsl::Cosh => {
                let [up, down] = self.half_powers(magnitude)?;
                self.binary(Binary::Add, up, down)?
            }
            Glsl::Tanh => {
                // (1 - e^-2a) / (1 + e^-2a): the power is at most 1.
                let exponent = self.times(magnitude, -2.0 * LOG2_E)?;
                let power = self.unary(Unary::Exp2, exponent)?;
                let tangent = self.quotient_about_one(Binary::Subtract, power)?;
                self.odd(TANGENT, a, magnitude, tangent)?
            }
            Glsl::Asinh => {
                let area = self.area_of_sine(magnitude)?;
                self.with_sign_of(a, area)?
            }
            Glsl::Acosh => {
                // The hyperbolic sine of the result is sqrt(a^2 - 1), whose factors are exact near 1, and finite.
                let unit = self.real(self.program.kind(a), 1.0)?;
                let (less, more) =
                    (self.binary(Binary::Subtract, a, unit)?, self.binary(Binary::Add, a, unit)?);
                let (less, more) = (self.unary(Unary::Sqrt, less)?, self.unary(Unary::Sqrt, more)?);
                let sine = self.binary(Binary::Multiply, less, more)?;
                self.area_of_sine(sine)?
            }
            Glsl::Atanh => {
                // Half the logarithm of (1 + a) / (1 - a).
                let quotient = self.quotient_about_one(Binary::Add, magnitude)?;
                let logarithm = self.unary(Unary::Log2, quotient)?;
                let area = self.times(logarithm, 0.5 * LN_2)?;
                self.odd(AREA_TANGENT, a, magnitude, area)?
            }
            _ => return Ok(None),
        }))
    }

    /// Returns e^a / 2 and e^-a / 2. The former is finite for each number that has a finite hyperbolic sine.
    fn half_powers(&mut self, a: Value) -> Result<[Value; 2], Error> {
        let kind = self.program.kind(a);
        let (unit, quarter) = (self.real(kind, 1.0)?, self.real(kind, 0.25)?);
        let exponent = self.times(a, LOG2_E)?;
        let exponent = self.binary(Binary::Subtract, exponent, unit)?;
        let up = self.unary(Unary::Exp2, exponent)?;
        let down = self.binary(Binary::Divide { signed: false }, quarter, up)?;
        Ok([up, down])
    }

    /// Returns (1 + a) / (1 - a) for an addition, and (1 - a) / (1 + a) for a subtraction.
    fn quotient_about_one(&mut self, above: Binary, a: Value) -> Result<Value, Error> {
        let unit = self.real(self.program.kind(a), 1.0)?;
        let below = if above == Binary::Add { Binary::Subtract } else { Binary::Add };
        let (above, below) = (self.binary(above, unit, a)?, self.binary(below, unit, a)?);
        self.binary(Binary::Divide { signed: false }, above, below)
    }

    /// Returns the number that is 0 or more whose hyperbolic sine is known: the logarithm of a + sqrt(a^2 + 1). For a large one, that is
    /// the logarithm of 2a, without the square, which is not finite for each.
    fn area_of_sine(&mut self, a: Value) -> Result<Value, Error> {
        let kind = self.program.kind(a);
        let (zero, unit, large) = (self.real(kind, 0.0)?, self.real(kind, 1.0)?, self.real(kind, LARGE)?);
        let is_large = self.compare(Comparison::Less { signed: false }, large, a)?;
        let square = self.binary(Binary::Multiply, a, a)?;
        let square = self.binary(Binary::Add, square, unit)?;
        let root = self.unary(Unary::Sqrt, square)?;
        let sum = self.binary(Binary::Add, a, root)?;
        let sum = self.choose(is_large, a, sum)?;
        let more = self.choose(is_large, unit, zero)?;
        let logarithm = self.unary(Unary::Log2, sum)?;
        let logarithm = self.binary(Binary::Add, logarithm, more)?;
        let area = self.times(logarithm, LN_2)?;
        self.near_zero(AREA_SINE, a, area)
    }

    /// Returns the result for a magnitude with the number's sign, or the polynomial of a number near 0.
    fn odd(&mut self, near: Near, a: Value, magnitude: Value, result: Value) -> Result<Value, Error> {
        let result = self.near_zero(near, magnitude, result)?;
        self.with_sign_of(a, result)
    }

    /// Returns the polynomial of a number of 0 or more that is near 0, and the result for another one.
    fn near_zero(&mut self, near: Near, a: Value, result: Value) -> Result<Value, Error> {
        let limit = self.real(self.program.kind(a), near.below)?;
        let is_near = self.compare(Comparison::Less { signed: false }, a, limit)?;
        let polynomial = self.odd_polynomial(a, near.coefficients)?;
        self.choose(is_near, polynomial, result)
    }
}

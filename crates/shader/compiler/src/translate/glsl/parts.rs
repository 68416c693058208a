//! Parts of floats: whole numbers and fractions, significands and exponents. Functions of GLSL.std.450.

use rspirv::dr;
use rspirv::spirv::GlslStd450Op as Glsl;

use crate::Error;
use crate::ir::{Binary, Comparison, Conversion, Operation, Scalar, Unary, Value};
use crate::spirv::types::malformed;
use crate::translate::values::data::Data;
use crate::translate::{Translator, UINT};

/// The floats that are taken apart; half floats are converted to them.
const SINGLE: Scalar = Scalar::Float { bits: 32 };
/// Exponents.
const INT: Scalar = Scalar::Integer { bits: 32, signed: true };
/// The bits of a single float's fraction.
const FRACTION_BITS: u32 = 23;
/// The number of exponents of a single float: the first one is that of zero and denormal numbers, and the last one that of infinities.
const EXPONENTS: u32 = 256;
/// The exponent's bits of the float 0.5.
const BIAS_OF_HALF: u32 = 126;
/// A power of 2 by which each significand becomes infinite, and its negative one by which each becomes zero. Its half is in range.
const MOST_POWER: u32 = 200;

impl Translator<'_> {
    /// Returns the result of a function that takes floats apart or puts them together; none if it is no such function. `Modf` and `Frexp`
    /// store their second part.
    pub(in crate::translate) fn parts(
        &mut self,
        one: &dr::Instruction,
        function: Glsl,
    ) -> Result<Option<Data>, Error> {
        let is_fraction = matches!(function, Glsl::Modf | Glsl::ModfStruct);
        if !is_fraction && !matches!(function, Glsl::Frexp | Glsl::FrexpStruct | Glsl::Ldexp) {
            return Ok(None);
        }
        let numbers = self.operand(one, 2)?;
        if numbers.iter().any(|a| self.program.kind(*a).bits() == 64) {
            return Ok(None);
        }
        if function == Glsl::Ldexp {
            let exponents = self.operand(one, 3)?;
            if numbers.len() != exponents.len() {
                return Err(malformed(one, "its operands have different numbers of components"));
            }
            if exponents.iter().any(|exponent| self.program.kind(*exponent).bits() == 64) {
                return Ok(None);
            }
            let pairs = numbers.into_iter().zip(exponents);
            return pairs
                .map(|(a, exponent)| self.scaled_by_power(a, exponent))
                .collect::<Result<_, _>>()
                .map(Some);
        }
        let (mut first, mut second) = (Data::new(), Data::new());
        for a in numbers {
            let [part, other] = if is_fraction { self.fraction(a)? } else { self.significand(a)? };
            first.push(part);
            second.push(other);
        }
        if matches!(function, Glsl::Modf | Glsl::Frexp) {
            let pointer = self.pointer(one, 3)?;
            self.store_to(one, &pointer, &second)?;
        } else {
            first.extend(second);
        }
        Ok(Some(first))
    }

    /// Returns the fraction and the whole number of a float, both with its sign. Infinities have no fraction.
    fn fraction(&mut self, a: Value) -> Result<[Value; 2], Error> {
        let zero = self.real(self.program.kind(a), 0.0)?;
        let whole = self.unary(Unary::Truncate, a)?;
        let rest = self.binary(Binary::Subtract, a, whole)?;
        let is_whole = self.compare(Comparison::Equal, a, whole)?;
        let rest = self.choose(is_whole, zero, rest)?;
        let magnitude = self.unary(Unary::Absolute, rest)?;
        Ok([self.with_sign_of(a, magnitude)?, whole])
    }

    /// Returns the significand, whose magnitude is from 0.5 to less than 1, and the exponent. Zeroes, infinities and what is no number
    /// are significands with the exponent 0.
    fn significand(&mut self, a: Value) -> Result<[Value; 2], Error> {
        let kind = self.program.kind(a);
        let a = self.convert_float(SINGLE, a)?;
        // Denormal numbers get the exponent of normal ones.
        let magnitude = self.unary(Unary::Absolute, a)?;
        let least = self.real(SINGLE, f64::from(f32::MIN_POSITIVE))?;
        let is_denormal = self.compare(Comparison::Less { signed: false }, magnitude, least)?;
        let moved = self.times(a, f64::from(1_u32 << (FRACTION_BITS + 1)))?;
        let a = self.choose(is_denormal, moved, a)?;
        let (more, bias) = (self.uint(BIAS_OF_HALF + FRACTION_BITS + 1)?, self.uint(BIAS_OF_HALF)?);
        let bias = self.choose(is_denormal, more, bias)?;

        let bits = self.retyped(UINT, a)?;
        let (shift, all) = (self.uint(FRACTION_BITS)?, self.uint(EXPONENTS - 1)?);
        let exponent = self.binary(Binary::ShiftRight { signed: false }, bits, shift)?;
        let exponent = self.binary(Binary::And, exponent, all)?;
        // The first and the last one are those of the others.
        let (unit, count) = (self.uint(1)?, self.uint(EXPONENTS - 2)?);
        let before = self.binary(Binary::Subtract, exponent, unit)?;
        let is_normal = self.compare(Comparison::Less { signed: false }, before, count)?;
        let exponent = self.binary(Binary::Subtract, exponent, bias)?;
        let zero = self.uint(0)?;
        let exponent = self.choose(is_normal, exponent, zero)?;

        let (others, half) =
            (self.uint(!((EXPONENTS - 1) << FRACTION_BITS))?, self.uint(BIAS_OF_HALF << FRACTION_BITS)?);
        let fraction = self.binary(Binary::And, bits, others)?;
        let significand = self.binary(Binary::Or, fraction, half)?;
        let significand = self.retyped(SINGLE, significand)?;
        let significand = self.choose(is_normal, significand, a)?;
        Ok([self.convert_float(kind, significand)?, self.retyped(INT, exponent)?])
    }

    /// Returns a float times 2 to the power of an integer. The significand's product with the first of two factors is exact, so that the
    /// result is rounded once.
    fn scaled_by_power(&mut self, a: Value, power: Value) -> Result<Value, Error> {
        let kind = self.program.kind(a);
        let a = self.convert_float(SINGLE, a)?;
        let power = match self.program.kind(power) {
            Scalar::Integer { bits: 32, .. } => self.retyped(INT, power)?,
            from => self.make(INT, Operation::Convert(Conversion::Signed, from, power))?,
        };
        // The sum with an exponent does not overflow, and the product stays infinite or zero.
        let power = self.limited(power, 2 * MOST_POWER)?;
        let [significand, exponent] = self.significand(a)?;
        let power = self.binary(Binary::Add, power, exponent)?;
        let power = self.limited(power, MOST_POWER)?;
        let unit = self.integer(INT, 1)?;
        let first = self.binary(Binary::ShiftRight { signed: true }, power, unit)?;
        let second = self.binary(Binary::Subtract, power, first)?;
        let (first, second) = (self.power_of_two(first)?, self.power_of_two(second)?);
        let product = self.binary(Binary::Multiply, significand, first)?;
        let product = self.binary(Binary::Multiply, product, second)?;
        self.convert_float(kind, product)
    }

    /// Returns an integer whose magnitude is at most a limit.
    fn limited(&mut self, a: Value, most: u32) -> Result<Value, Error> {
        let (least, most) =
            (self.integer(INT, u64::from(most.wrapping_neg()))?, self.integer(INT, most.into())?);
        self.clamp(true, a, least, most)
    }

    /// Returns the single float that is 2 to the power of an integer from -126 to 127.
    fn power_of_two(&mut self, power: Value) -> Result<Value, Error> {
        let (bias, shift) =
            (self.integer(INT, u64::from(BIAS_OF_HALF + 1))?, self.integer(INT, FRACTION_BITS.into())?);
        let exponent = self.binary(Binary::Add, power, bias)?;
        let bits = self.binary(Binary::ShiftLeft, exponent, shift)?;
        self.retyped(SINGLE, bits)
    }
}

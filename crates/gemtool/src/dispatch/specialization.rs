//! Values of specialization constants, as text. The type of a constant, which only its module has, decides what the text means.

use std::cmp::Ordering;
use std::fmt;
use std::str::FromStr;

use gem_shader_compiler::Scalar;

use crate::numbers::{dword, number};

/// Digits after the point of the number between two neighbouring half floats: the least one is 2^-25.
const DIGITS_OF_TIES: usize = 25;
/// The code of an infinite half float, without its sign.
const INFINITE_HALF: u64 = 0x7c00;

/// A value for a specialization constant. The text is `ID=VALUE`; VALUE is `true` or `false`, an integer, a float with a point or an
/// exponent, or bits in hexadecimal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Specialization {
    /// The constant's specialization id.
    pub id: u32,
    /// The text of the value.
    text: String,
    /// Its form.
    form: Form,
}

/// The form of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    Bool(bool),
    Integer(i128),
    Bits(u64),
    Float,
}

/// A value that a constant's type does not have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Misfit {
    /// The constant's specialization id.
    pub id: u32,
    /// The constant's type.
    pub of: Scalar,
    /// The text of the value.
    pub text: String,
    /// The reason, which continues a sentence about the text.
    why: String,
}

impl fmt::Display for Misfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { id, of, text, why } = self;
        write!(f, "specialization constant {id} has type {of}: '{text}' {why}")
    }
}

impl FromStr for Specialization {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (id, value) = text.split_once('=').ok_or("no ID=VALUE (0=64)")?;
        Ok(Self { id: dword(id)?, text: value.to_owned(), form: form(value)? })
    }
}

/// Returns the form of a value.
fn form(text: &str) -> Result<Form, String> {
    match text {
        "true" => return Ok(Form::Bool(true)),
        "false" => return Ok(Form::Bool(false)),
        _ if text.starts_with("0x") => return number(text).map(Form::Bits),
        _ => {}
    }
    let unsigned = text.strip_prefix('-').unwrap_or(text);
    let is_float = unsigned.starts_with(|c: char| c.is_ascii_digit() || c == '.')
        && unsigned.contains(['.', 'e', 'E'])
        && unsigned.parse::<f64>().is_ok();
    if is_float {
        return Ok(Form::Float);
    }
    if unsigned.starts_with("0x") {
        return Err(format!("'{text}': bits have no sign"));
    }
    let magnitude = i128::from(number(unsigned).map_err(|why| format!("'{text}': {why}"))?);
    Ok(Form::Integer(if unsigned == text { magnitude } else { -magnitude }))
}

impl Specialization {
    /// Returns the bits of the value as a number of a type. A float is the nearest one; of two, the even one.
    ///
    /// # Errors
    /// The type does not have the value.
    pub fn bits(&self, of: Scalar) -> Result<u64, Misfit> {
        let found = match of {
            Scalar::Bool => self.boolean(),
            Scalar::Integer { bits, signed } => self.integer(bits, signed),
            Scalar::Float { bits } => self.float(bits),
        };
        found.map_err(|why| Misfit { id: self.id, of, text: self.text.clone(), why })
    }

    /// Returns 1 if the value is true, and 0 if it is not.
    fn boolean(&self) -> Result<u64, String> {
        match self.form {
            Form::Bool(value) => Ok(u64::from(value)),
            Form::Integer(0) | Form::Bits(0) => Ok(0),
            Form::Integer(1) | Form::Bits(1) => Ok(1),
            Form::Integer(_) | Form::Bits(_) | Form::Float => {
                Err("is none of true, false, 0 and 1".to_owned())
            }
        }
    }

    /// Returns the bits of an integer, without copies of its sign above them.
    fn integer(&self, bits: u8, signed: bool) -> Result<u64, String> {
        let value = match self.form {
            Form::Integer(value) => value,
            Form::Bits(pattern) => return pattern_of(bits, pattern),
            Form::Bool(_) | Form::Float => return Err("is no integer".to_owned()),
        };
        let (least, most) = match signed {
            true => (-(1_i128 << (bits - 1)), (1_i128 << (bits - 1)) - 1),
            false => (0, (1_i128 << bits) - 1),
        };
        if !(least..=most).contains(&value) {
            return Err(format!("is not between {least} and {most}"));
        }
        Ok((value & ((1_i128 << bits) - 1)) as u64)
    }

    /// Returns the bits of a float.
    fn float(&self, bits: u8) -> Result<u64, String> {
        match self.form {
            Form::Integer(_) | Form::Float => {}
            Form::Bits(pattern) => return pattern_of(bits, pattern),
            Form::Bool(_) => return Err("is no number".to_owned()),
        }
        let parse = |error: std::num::ParseFloatError| error.to_string();
        let (code, infinite, most) = match bits {
            16 => (half(&self.text)?, INFINITE_HALF, 65504.0),
            32 => {
                let value: f32 = self.text.parse().map_err(parse)?;
                (u64::from(value.to_bits()), u64::from(f32::INFINITY.to_bits()), f64::from(f32::MAX))
            }
            _ => (self.text.parse().map(f64::to_bits).map_err(parse)?, f64::INFINITY.to_bits(), f64::MAX),
        };
        let magnitude = code & !(1 << (bits - 1));
        if magnitude >= infinite {
            return Err(format!("is not between -{most:e} and {most:e}"));
        }
        if magnitude == 0 && !Decimal::of(&self.text).is_zero() {
            return Err("is not 0, and nearer to 0 than to any other number of the type".to_owned());
        }
        Ok(code)
    }
}

/// Checks that a pattern has no bits above those of a type.
fn pattern_of(bits: u8, pattern: u64) -> Result<u64, String> {
    match pattern.checked_shr(u32::from(bits)) {
        None | Some(0) => Ok(pattern),
        Some(_) => Err(format!("has more than {bits} bits")),
    }
}

/// Returns the code of the half float that is nearest to a decimal number; that of infinity if it is too large.
fn half(text: &str) -> Result<u64, String> {
    let value: f64 = text.parse().map_err(|error: std::num::ParseFloatError| error.to_string())?;
    let sign = u64::from(value.is_sign_negative()) << 15;
    let magnitude = value.abs();
    if magnitude >= 65536.0 {
        return Ok(sign | INFINITE_HALF);
    }
    // A half float is a count, from 1024 on below 2048, of a power of 2; the least power has smaller counts, too.
    let exponent = ((magnitude.to_bits() >> 52) as i32 - 1023).max(-14) - 10;
    let scaled = magnitude * f64::from(-exponent).exp2();
    let (count, rest) = (scaled.floor(), scaled.fract());
    let is_above = match rest.total_cmp(&0.5) {
        // The text may be on one side of the tie, to which it was rounded.
        Ordering::Equal => {
            let tie = format!("{magnitude:.DIGITS_OF_TIES$}");
            match Decimal::of(text).cmp(&Decimal::of(&tie)) {
                Ordering::Equal => count % 2.0 == 1.0,
                order @ (Ordering::Less | Ordering::Greater) => order == Ordering::Greater,
            }
        }
        order @ (Ordering::Less | Ordering::Greater) => order == Ordering::Greater,
    };
    let count = count as u64 + u64::from(is_above);
    // A count of 2048 is the first one of the next power.
    Ok(sign | ((((exponent + 24) as u64) << 10) + count))
}

/// The magnitude of a decimal number, whatever its length.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Decimal {
    /// Digits before the point, less the zeroes after it, if there are any; the least one for zero.
    point: i64,
    /// The digits, without zeroes at either end.
    digits: String,
}

impl Decimal {
    /// Returns the magnitude of a float's text.
    fn of(text: &str) -> Self {
        let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
        let mantissa = mantissa.trim_start_matches('-');
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let all = format!("{whole}{fraction}");
        let digits = all.trim_start_matches('0');
        let zeroes = (all.len() - digits.len()) as i64;
        if digits.is_empty() {
            return Self { point: i64::MIN, digits: String::new() };
        }
        // An exponent that is no `i64` has no float near a tie.
        let exponent: i64 = exponent.parse().unwrap_or_default();
        let point = exponent.saturating_add(whole.len() as i64 - zeroes);
        Self { point, digits: digits.trim_end_matches('0').to_owned() }
    }

    /// Returns whether it is zero.
    fn is_zero(&self) -> bool {
        self.digits.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BOOL: Scalar = Scalar::Bool;
    const HALF: Scalar = Scalar::Float { bits: 16 };
    const SINGLE: Scalar = Scalar::Float { bits: 32 };
    const DOUBLE: Scalar = Scalar::Float { bits: 64 };

    fn int(bits: u8) -> Scalar {
        Scalar::Integer { bits, signed: true }
    }

    fn uint(bits: u8) -> Scalar {
        Scalar::Integer { bits, signed: false }
    }

    fn bits(of: Scalar, text: &str) -> Result<u64, String> {
        let value: Specialization = format!("3={text}").parse().unwrap();
        assert_eq!(value.id, 3);
        value.bits(of).map_err(|misfit| misfit.to_string())
    }

    #[test]
    fn a_value_has_the_bits_of_the_type() {
        for (of, text, expected) in [
            (BOOL, "true", 1),
            (BOOL, "false", 0),
            (BOOL, "1", 1),
            (BOOL, "0x0", 0),
            (int(8), "-128", 0x80),
            (int(8), "127", 0x7f),
            (int(8), "0xff", 0xff),
            (uint(8), "255", 0xff),
            (int(16), "-1", 0xffff),
            (uint(16), "65535", 0xffff),
            (int(32), "64", 64),
            (int(32), "-2147483648", 0x8000_0000),
            (uint(32), "4294967295", 0xffff_ffff),
            (uint(32), "0xff", 255),
            (int(64), "-9223372036854775808", 1 << 63),
            (uint(64), "18446744073709551615", u64::MAX),
            (HALF, "1.5", 0x3e00),
            (HALF, "-2", 0xc000),
            (HALF, "0x3e00", 0x3e00),
            (HALF, "-0.0", 0x8000),
            (SINGLE, "0.5", 0x3f00_0000),
            (SINGLE, "-0.5", 0xbf00_0000),
            (SINGLE, "64", 0x4280_0000),
            (SINGLE, "15e-1", 0x3fc0_0000),
            (SINGLE, "0x3f800000", 0x3f80_0000),
            (DOUBLE, "0.1", 0x3fb9_9999_9999_999a),
        ] {
            assert_eq!(bits(of, text), Ok(expected), "{of} {text}");
        }
    }

    #[test]
    fn a_value_that_the_type_does_not_have_is_refused() {
        for (of, text, why) in [
            (BOOL, "2", "is none of true, false, 0 and 1"),
            (BOOL, "1.0", "is none of true, false, 0 and 1"),
            (int(8), "128", "is not between -128 and 127"),
            (int(8), "-129", "is not between -128 and 127"),
            (int(8), "300", "is not between -128 and 127"),
            (int(8), "0x100", "has more than 8 bits"),
            (int(8), "1.5", "is no integer"),
            (int(8), "true", "is no integer"),
            (uint(8), "256", "is not between 0 and 255"),
            (uint(32), "-1", "is not between 0 and 4294967295"),
            (uint(32), "4294967296", "is not between 0 and 4294967295"),
            (int(32), "2147483648", "is not between -2147483648 and 2147483647"),
            (int(64), "9223372036854775808", "is not between -9223372036854775808 and 9223372036854775807"),
            (HALF, "70000", "is not between -6.5504e4 and 6.5504e4"),
            (HALF, "-65520.0", "is not between -6.5504e4 and 6.5504e4"),
            (HALF, "0x3fc00000", "has more than 16 bits"),
            (HALF, "0.00000001", "nearer to 0"),
            (HALF, "false", "is no number"),
            (SINGLE, "1e39", "is not between -3.4028234663852886e38"),
            (SINGLE, "0x100000000", "has more than 32 bits"),
            (SINGLE, "1e-46", "nearer to 0"),
            (DOUBLE, "1e309", "is not between"),
        ] {
            let error = bits(of, text).unwrap_err();
            assert!(
                error.starts_with(&format!("specialization constant 3 has type {of}: '{text}' ")),
                "{error}"
            );
            assert!(error.contains(why), "{error}");
        }
    }

    #[test]
    fn a_half_float_is_the_nearest_one() {
        for (text, code) in [
            ("65504", 0x7bff),
            ("65519.999999999999999999999", 0x7bff),
            // Between 1 and its successor, 1 + 2^-10, and a digit that no double has.
            ("1.00048828125", 0x3c00),
            ("1.000488281250000000000000000000000001", 0x3c01),
            ("1.000488281249999999999999999999999999", 0x3c00),
            ("1.00146484375", 0x3c02),
            ("100048828125e-11", 0x3c00),
            ("1.9999", 0x4000),
            // Denormal numbers, down to the half of the least one.
            ("5.9604644775390625e-8", 1),
            ("2.98023223876953125e-8", 0xffff),
            ("2.980232238769531250000000000000000001e-8", 1),
            ("8.94069671630859375e-8", 2),
            ("6.1035156250e-5", 0x400),
            ("0.000061035156249", 0x400),
            ("0.0000609755516", 0x3ff),
        ] {
            let expected = if code == 0xffff { None } else { Some(code) };
            assert_eq!(bits(HALF, text).ok(), expected, "{text}");
        }
    }

    #[test]
    fn text_that_is_no_value_is_refused() {
        for text in [
            "64", "=1", "x=1", "0=", "0=x", "0=1.2.3", "0=-", "0=inf", "0=nan", "0=+1", "0=-0x1", "0=0x",
            "0=--1", "0=.", "0=1e",
        ] {
            assert!(text.parse::<Specialization>().is_err(), "{text}");
        }
    }
}

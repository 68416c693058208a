//! Numbers of elements: their bits as integers or floats, and back.

use crate::{Base, Type};

/// A number.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Number {
    /// An integer of any type.
    Integer(i128),
    /// A float of any type: a double has each half and single float exactly.
    Float(f64),
}

/// Returns the number that bits of a type stand for.
pub(super) fn from_bits(kind: Type, bits: u64) -> Number {
    let width = 8 * u32::from(kind.bytes());
    let low = bits & (u64::MAX >> (64 - width.min(64)));
    match (kind.base(), kind) {
        (Base::Unsigned, _) => Number::Integer(i128::from(low)),
        (Base::Signed, _) => {
            let shift = 64 - width;
            Number::Integer(i128::from((low << shift) as i64 >> shift))
        }
        (Base::Float, Type::Hf) => Number::Float(half_to_double(low as u16)),
        (Base::Float, Type::Df | Type::Nf) => Number::Float(f64::from_bits(low)),
        (Base::Float, _) => Number::Float(f64::from(f32::from_bits(low as u32))),
    }
}

/// Returns the bits of a number in a type: rounded to nearest even, and truncated as far as integers go. With `saturate`, a number
/// outside of the type's range becomes the nearest one, and a float is between 0 and 1.
pub(super) fn to_bits(kind: Type, number: Number, saturate: bool) -> u64 {
    if kind.base() == Base::Float {
        let mut float = match number {
            Number::Integer(integer) => integer as f64,
            Number::Float(float) => float,
        };
        if saturate {
            // NaN becomes 0.
            float = if float > 0.0 { float.min(1.0) } else { 0.0 };
        }
        return match (kind.bytes(), number) {
            (2, _) => u64::from(double_to_half(float)),
            (8, _) => float.to_bits(),
            // Once from the integer: through a double it would be rounded twice.
            (_, Number::Integer(integer)) if !saturate => u64::from((integer as f32).to_bits()),
            (_, Number::Integer(_) | Number::Float(_)) => u64::from((float as f32).to_bits()),
        };
    }
    let width = 8 * u32::from(kind.bytes());
    let (least, most) = match kind.base() {
        Base::Signed => (-(1_i128 << (width - 1)), (1_i128 << (width - 1)) - 1),
        Base::Unsigned | Base::Float => (0, (1_i128 << width) - 1),
    };
    let integer = match number {
        Number::Integer(integer) if saturate => integer.clamp(least, most),
        Number::Integer(integer) => integer,
        // The conversion of Rust: towards zero; NaN becomes 0.
        Number::Float(float) => (float as i128).clamp(least, most),
    };
    (integer as u64) & (u64::MAX >> (64 - width))
}

/// Returns the number of an element of a vector immediate, for the channel `at`; `None` for other types.
pub(super) fn of_vector(kind: Type, bits: u64, at: usize) -> Option<Number> {
    let nibble = bits >> (4 * (at % 8)) & 0xf;
    let number = match kind {
        Type::Uv => Number::Integer(i128::from(nibble)),
        Type::V => Number::Integer(i128::from((nibble as i8) << 4 >> 4)),
        Type::Vf => Number::Float(eighth(bits >> (8 * (at % 4)) & 0xff)),
        Type::Ub | Type::B | Type::Uw | Type::W | Type::Ud | Type::D | Type::Uq | Type::Q => return None,
        Type::Hf | Type::Bf | Type::F | Type::Df | Type::Nf => return None,
    };
    Some(number)
}

/// Returns the number of a float of 8 bits: sign, three bits of exponent (bias 3), four of the fraction; zero is 0 or 0x80.
fn eighth(bits: u64) -> f64 {
    let sign = if bits & 0x80 == 0 { 1.0 } else { -1.0 };
    let (exponent, fraction) = ((bits >> 4 & 7) as i32, (bits & 0xf) as f64);
    if bits & 0x7f == 0 { sign * 0.0 } else { sign * (1.0 + fraction / 16.0) * f64::powi(2.0, exponent - 3) }
}

/// Returns the number of a half float.
fn half_to_double(bits: u16) -> f64 {
    let (exponent, fraction) = (i32::from(bits >> 10 & 0x1f), f64::from(bits & 0x3ff));
    let magnitude = match exponent {
        0 => fraction * f64::powi(2.0, -24),
        31 if fraction == 0.0 => f64::INFINITY,
        31 => f64::NAN,
        _ => (1024.0 + fraction) * f64::powi(2.0, exponent - 25),
    };
    if bits & 0x8000 == 0 { magnitude } else { -magnitude }
}

/// Returns the nearest half float; of two, the even one.
fn double_to_half(number: f64) -> u16 {
    let sign = if number.is_sign_negative() { 0x8000 } else { 0 };
    let magnitude = number.abs();
    if number.is_nan() {
        return sign | 0x7e00;
    }
    // The distance of half floats around the number, as a power of two.
    let exponent = ((magnitude.to_bits() >> 52) as i32 - 1023).max(-14);
    let unit = f64::powi(2.0, exponent - 10);
    let steps = (magnitude / unit).round_ties_even();
    let rounded = steps * unit;
    if rounded >= 65536.0 {
        sign | 0x7c00
    } else if exponent == -14 {
        // The code of the least normal number follows that of the largest denormal one.
        sign | steps as u16
    } else {
        sign | ((exponent + 14) as u16 * 1024 + steps as u16)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_half_float_is_itself() {
        for bits in 0..=u16::MAX {
            let number = half_to_double(bits);
            if !number.is_nan() {
                assert_eq!(double_to_half(number), bits, "{bits:#x} {number}");
            }
        }
        assert!(half_to_double(0x7c01).is_nan());
    }

    #[test]
    fn halves_are_rounded_to_the_nearest_even_one() {
        for (number, bits) in [
            (1.0 + 1.0 / 2048.0, 0x3c00),
            (1.0 + 3.0 / 2048.0, 0x3c02),
            (1.0 + 1.0 / 2048.0 + 1e-9, 0x3c01),
            (65519.0, 0x7bff),
            (65520.0, 0x7c00),
            (-65520.0, 0xfc00),
            (2047.5 / 2048.0, 0x3c00),
            (f64::powi(2.0, -25), 0),
            (f64::powi(2.0, -24), 1),
            (1023.5 * f64::powi(2.0, -24), 0x400),
        ] {
            assert_eq!(double_to_half(number), bits, "{number}");
        }
    }

    #[test]
    fn floats_become_integers_towards_zero_and_within_the_range() {
        let of = |kind, float| to_bits(kind, Number::Float(float), false);
        assert_eq!(of(Type::D, -1.9), u64::from(-1_i32 as u32));
        assert_eq!(of(Type::D, 1e30), 0x7fff_ffff);
        assert_eq!(of(Type::Ud, -3.0), 0);
        assert_eq!(of(Type::W, f64::NAN), 0);
        assert_eq!(of(Type::Ub, 255.9), 255);
        assert_eq!(
            to_bits(Type::F, Number::Integer((1 << 24) + 1), false),
            u64::from((16_777_216_f32).to_bits())
        );
    }

    #[test]
    fn integers_are_cut_or_saturated() {
        assert_eq!(to_bits(Type::Uw, Number::Integer(0x1_2345), false), 0x2345);
        assert_eq!(to_bits(Type::Uw, Number::Integer(0x1_2345), true), 0xffff);
        assert_eq!(to_bits(Type::B, Number::Integer(-200), true), 0x80);
        assert_eq!(from_bits(Type::B, 0x80), Number::Integer(-128));
        assert_eq!(to_bits(Type::F, Number::Float(7.0), true), u64::from(1_f32.to_bits()));
    }

    #[test]
    fn vectors_have_an_element_for_each_channel() {
        let elements = |kind, bits| (0..8).map(|at| of_vector(kind, bits, at).unwrap()).collect::<Vec<_>>();
        assert_eq!(elements(Type::Uv, 0x7654_3210), (0..8).map(Number::Integer).collect::<Vec<_>>());
        assert_eq!(elements(Type::V, 0xf000_0008)[0], Number::Integer(-8));
        assert_eq!(elements(Type::V, 0xf000_0008)[7], Number::Integer(-1));
        let floats = [1.0, -1.0, 0.0, 1.5].map(Number::Float);
        assert_eq!(elements(Type::Vf, 0x3800_b030)[..4], floats);
        assert_eq!(of_vector(Type::F, 0, 0), None);
    }
}

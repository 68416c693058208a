//! Floats of 16, 32 and 64 bits. All of them are computed with as doubles, which have twice the bits of a float and more:
//! a sum, a product, a quotient and a root that are rounded to a double, and then to a float, are rounded correctly.

/// Fields of half floats: bits of the fraction, bias of the exponent, and the bits of infinity.
const HALF_FRACTION: u32 = 10;
const HALF_BIAS: i32 = 15;
const HALF_INFINITY: u64 = 0x7c00;

/// Returns the value of a number of so many bytes, in the lower bits.
pub fn value(size: usize, bits: u64) -> f64 {
    match size {
        2 => half(bits as u16),
        4 => f32::from_bits(bits as u32).into(),
        _ => f64::from_bits(bits),
    }
}

/// Returns the bits of the number of so many bytes that is nearest to a value, the even one of two.
pub fn bits(size: usize, value: f64) -> u64 {
    match size {
        2 => half_bits(value),
        4 => (value as f32).to_bits().into(),
        _ => value.to_bits(),
    }
}

/// Returns whether bits are those of a subnormal number of so many bytes.
pub fn is_subnormal(size: usize, bits: u64) -> bool {
    match size {
        2 => bits & HALF_INFINITY == 0 && bits & 0x3ff != 0,
        4 => f32::from_bits(bits as u32).is_subnormal(),
        _ => f64::from_bits(bits).is_subnormal(),
    }
}

fn half(bits: u16) -> f64 {
    let sign = if bits >> 15 != 0 { -1.0 } else { 1.0 };
    let (exponent, fraction) = (i32::from(bits >> HALF_FRACTION & 0x1f), f64::from(bits & 0x3ff));
    sign * match exponent {
        0 => fraction * 2_f64.powi(1 - HALF_BIAS - HALF_FRACTION as i32),
        0x1f if fraction == 0.0 => f64::INFINITY,
        0x1f => f64::NAN,
        _ => (fraction + 1024.0) * 2_f64.powi(exponent - HALF_BIAS - HALF_FRACTION as i32),
    }
}

fn half_bits(value: f64) -> u64 {
    let sign = value.to_bits() >> 63 << 15;
    if value.is_nan() {
        return sign | HALF_INFINITY | 0x200;
    }
    let least = 1 - HALF_BIAS;
    let exponent = ((value.to_bits() >> 52 & 0x7ff) as i32 - 1023).max(least);
    // In units of the last bit: up to eleven bits, or twelve zeros after a one if it is rounded up to the next power of two.
    let units = (value.abs() * 2_f64.powi(HALF_FRACTION as i32 - exponent)).round_ties_even();
    if exponent > HALF_BIAS || units.is_infinite() {
        return sign | HALF_INFINITY;
    }
    // A fraction of eleven bits has the one that counts for the exponent; the one of infinity follows the largest exponent.
    sign | ((exponent - least) as u64 * 1024 + units as u64)
}

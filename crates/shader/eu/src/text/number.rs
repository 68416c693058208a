//! Numbers in the text.

use crate::{Base, Type};

/// Returns an immediate's number, so that its bits can be read from it. Floats whose decimal form is long are hexadecimal.
pub(super) fn print(kind: Type, bits: u64) -> String {
    const LONGEST: usize = 9;
    let decimal = match kind {
        Type::F => {
            float(f64::from(f32::from_bits(bits as u32)), format!("{:?}", f32::from_bits(bits as u32)))
        }
        Type::Df => float(f64::from_bits(bits), format!("{:?}", f64::from_bits(bits))),
        Type::B => Some((bits as i8).to_string()),
        Type::W => Some((bits as i16).to_string()),
        Type::D => Some((bits as i32).to_string()),
        Type::Q => Some((bits as i64).to_string()),
        Type::Ub
        | Type::Uw
        | Type::Ud
        | Type::Uq
        | Type::Hf
        | Type::Bf
        | Type::Nf
        | Type::Uv
        | Type::V
        | Type::Vf => None,
    };
    let is_short = |text: &String| kind.base() != Base::Float || text.len() <= LONGEST;
    decimal.filter(is_short).unwrap_or_else(|| format!("0x{:X}", bits & mask(kind)))
}

/// Returns the decimal form of a float that has one.
fn float(value: f64, text: String) -> Option<String> {
    (value.is_normal() || value == 0.0).then_some(text)
}

/// Returns the bits of a type.
fn mask(kind: Type) -> u64 {
    u64::MAX >> (64 - 8 * u32::from(kind.bytes()))
}

/// Returns the bits of an immediate's number: `None` if it is none, or does not fit. Half floats and vectors are hexadecimal.
pub(super) fn parse(kind: Type, text: &str) -> Option<u64> {
    if let Some(digits) = text.strip_prefix("0x") {
        return u64::from_str_radix(digits, 16).ok().filter(|bits| bits & !mask(kind) == 0);
    }
    match (kind, kind.base()) {
        (Type::F, _) => text.parse::<f32>().ok().map(|value| u64::from(value.to_bits())),
        (Type::Df, _) => text.parse::<f64>().ok().map(f64::to_bits),
        (_, Base::Float) => None,
        _ => {
            let value: i128 = text.parse().ok()?;
            let lowest = -(i128::from(mask(kind)) >> 1) - 1;
            (lowest..=i128::from(mask(kind))).contains(&value).then_some(value as u64 & mask(kind))
        }
    }
}

//! Numbers in the text.

use crate::{Base, Kind};

/// Returns an immediate's number, so that its bits can be read from it. Floats whose decimal form is long are hexadecimal.
pub(super) fn print(kind: Kind, bits: u64) -> String {
    const LONGEST: usize = 9;
    let decimal = match kind {
        Kind::F => {
            float(f64::from(f32::from_bits(bits as u32)), format!("{:?}", f32::from_bits(bits as u32)))
        }
        Kind::Df => float(f64::from_bits(bits), format!("{:?}", f64::from_bits(bits))),
        Kind::B => Some((bits as i8).to_string()),
        Kind::W => Some((bits as i16).to_string()),
        Kind::D => Some((bits as i32).to_string()),
        Kind::Q => Some((bits as i64).to_string()),
        Kind::Ub | Kind::Uw | Kind::Ud | Kind::Uq | Kind::Hf | Kind::Nf | Kind::Uv | Kind::V | Kind::Vf => {
            None
        }
    };
    let is_short = |text: &String| kind.base() != Base::Float || text.len() <= LONGEST;
    decimal.filter(is_short).unwrap_or_else(|| format!("0x{:X}", bits & mask(kind)))
}

/// Returns the decimal form of a float that has one.
fn float(value: f64, text: String) -> Option<String> {
    (value.is_normal() || value == 0.0).then_some(text)
}

/// Returns the bits of a type.
fn mask(kind: Kind) -> u64 {
    u64::MAX >> (64 - 8 * u32::from(kind.bytes()))
}

/// Returns the bits of an immediate's number: `None` if it is none, or does not fit. Half floats and vectors are hexadecimal.
pub(super) fn parse(kind: Kind, text: &str) -> Option<u64> {
    if let Some(digits) = text.strip_prefix("0x") {
        return u64::from_str_radix(digits, 16).ok().filter(|bits| bits & !mask(kind) == 0);
    }
    match (kind, kind.base()) {
        (Kind::F, _) => text.parse::<f32>().ok().map(|value| u64::from(value.to_bits())),
        (Kind::Df, _) => text.parse::<f64>().ok().map(f64::to_bits),
        (_, Base::Float) => None,
        _ => {
            let value: i128 = text.parse().ok()?;
            let lowest = -(i128::from(mask(kind)) >> 1) - 1;
            (lowest..=i128::from(mask(kind))).contains(&value).then_some(value as u64 & mask(kind))
        }
    }
}

//! Types of numbers.

use std::fmt;

/// A type of numbers, or of booleans.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Scalar {
    /// True or false.
    Bool,
    /// An integer.
    Integer {
        /// 8, 16, 32 or 64.
        bits: u8,
        /// The sign of conversions; operations have their own.
        signed: bool,
    },
    /// A float.
    Float {
        /// 16, 32 or 64.
        bits: u8,
    },
}

impl Scalar {
    /// Returns the number of bits; 1 for a boolean.
    #[must_use]
    pub fn bits(self) -> u8 {
        match self {
            Self::Bool => 1,
            Self::Integer { bits, .. } | Self::Float { bits } => bits,
        }
    }

    /// Returns the bits of a number of this type, without those above. Of a boolean, 0 is false, and anything else is true.
    pub(crate) fn masked(self, bits: u64) -> u64 {
        match self.bits() {
            1 => u64::from(bits != 0),
            64.. => bits,
            count => bits & ((1 << count) - 1),
        }
    }

    /// Returns an integer with its sign.
    pub(crate) fn extended(self, bits: u64) -> i64 {
        let above = 64 - u32::from(self.bits());
        ((bits << above) as i64) >> above
    }

    /// Returns whether a number of this type has all of the bits. Those above it are 0, or in an integer with a sign copies of that, as
    /// far as 32 or 64 bits.
    pub(crate) fn holds(self, bits: u64) -> bool {
        let own = self.masked(bits);
        let long = self.extended(own) as u64;
        match self {
            Self::Bool => true,
            Self::Integer { signed: true, .. } => {
                bits == own || bits == long || bits == u64::from(long as u32) && self.bits() <= 32
            }
            Self::Integer { .. } | Self::Float { .. } => bits == own,
        }
    }
}

impl fmt::Display for Scalar {
    /// Formats the name as GLSL has it, with the number of bits: `bool`, `uint8`, `float16`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bool => f.write_str("bool"),
            Self::Integer { bits, signed: true } => write!(f, "int{bits}"),
            Self::Integer { bits, .. } => write!(f, "uint{bits}"),
            Self::Float { bits } => write!(f, "float{bits}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_holds_its_bits_and_its_sign() {
        let (int8, uint8) =
            (Scalar::Integer { bits: 8, signed: true }, Scalar::Integer { bits: 8, signed: false });
        let (long, half) = (Scalar::Integer { bits: 64, signed: true }, Scalar::Float { bits: 16 });
        for (of, bits, holds) in [
            (int8, 127, true),
            (int8, 0x80, true),
            (int8, 0xffff_ff80, true),
            (int8, 0xffff_ffff_ffff_ff80, true),
            (int8, 300, false),
            (int8, 0xff80, false),
            (int8, 0xffff_ff00, false),
            (uint8, 255, true),
            (uint8, 256, false),
            (uint8, 0xffff_ffff, false),
            (half, 0x3e00, true),
            (half, 0x3fc0_0000, false),
            (half, 0xffff_bc00, false),
            (long, u64::MAX, true),
            (Scalar::Bool, 7, true),
        ] {
            assert_eq!(of.holds(bits), holds, "{of} {bits:#x}");
        }
        assert_eq!([int8, uint8, long, half].map(|of| of.to_string()), ["int8", "uint8", "int64", "float16"]);
    }
}

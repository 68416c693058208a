//! Types of numbers.

/// A type of numbers, or of truth.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Scalar {
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
    /// Returns the number of bits; 1 for truth.
    pub(crate) fn bits(self) -> u8 {
        match self {
            Self::Bool => 1,
            Self::Integer { bits, .. } | Self::Float { bits } => bits,
        }
    }
}

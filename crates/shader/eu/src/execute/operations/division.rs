//! Divisions of integers, the functions of `math` that are exact.

use crate::{Instruction, Source, Type};

/// A result of a division.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Division {
    /// Rounded towards zero.
    Quotient,
    /// Has the sign of the dividend.
    Remainder,
}

impl Division {
    /// Returns the division of an instruction: integers of 32 bits, whose types are the same, without modifiers.
    pub fn of(i: &Instruction) -> Option<Self> {
        let division = match i.function {
            12 => Self::Quotient,
            13 => Self::Remainder,
            _ => return None,
        };
        let kind = i.destination?.kind;
        let is_plain = |source: &Option<Source>| match *source {
            Some(Source::Register { kind: own, absolute, negate, .. }) => own == kind && !absolute && !negate,
            Some(Source::Immediate { kind: own, .. }) => own == kind,
            None => false,
        };
        let [dividend, divisor, _] = &i.sources;
        let is_known = matches!(kind, Type::D | Type::Ud) && !i.saturate;
        (is_known && is_plain(dividend) && is_plain(divisor)).then_some(division)
    }

    /// Returns the result; `None` if the divisor is zero, or the quotient is none of the type.
    pub fn perform(self, dividend: i128, divisor: i128) -> Option<i128> {
        let quotient = dividend.checked_div(divisor)?;
        if dividend < 0 && quotient > i128::from(i32::MAX) {
            return None;
        }
        Some(match self {
            Self::Quotient => quotient,
            Self::Remainder => dividend - quotient * divisor,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotients_are_rounded_towards_zero() {
        for (dividend, divisor, quotient, remainder) in [
            (17, 5, 3, 2),
            (-17, 5, -3, -2),
            (17, -5, -3, 2),
            (-17, -5, 3, -2),
            (0xffff_ffff, 1, 0xffff_ffff, 0),
            (-0x8000_0000, 1, -0x8000_0000, 0),
        ] {
            assert_eq!(Division::Quotient.perform(dividend, divisor), Some(quotient));
            assert_eq!(Division::Remainder.perform(dividend, divisor), Some(remainder));
        }
        assert_eq!(Division::Quotient.perform(1, 0), None);
        assert_eq!(Division::Remainder.perform(-0x8000_0000, -1), None);
    }
}

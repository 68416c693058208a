//! Functions of floats that `math` has. The hardware approximates them; here they are computed as doubles and rounded once.

use crate::{Destination, Instruction, Source, Type};

/// A function of floats.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Function {
    /// 1 divided by the number.
    Inverse,
    /// The logarithm to the base 2.
    Logarithm,
    /// 2 to the power of the number.
    Exponential,
    /// The square root.
    Root,
    /// 1 divided by the square root.
    InverseRoot,
    /// The sine of an angle in radians.
    Sine,
    /// The cosine of an angle in radians.
    Cosine,
    /// The first number divided by the second one.
    Quotient,
    /// The first number to the power of the second one.
    Power,
}

impl Function {
    /// Returns the function of an instruction, whose operands are halves or single floats. The codes are those of Mesa's
    /// `BRW_MATH_FUNCTION_*`.
    pub fn of(i: &Instruction) -> Option<Self> {
        let function = match i.function {
            1 => Self::Inverse,
            2 => Self::Logarithm,
            3 => Self::Exponential,
            4 => Self::Root,
            5 => Self::InverseRoot,
            6 => Self::Sine,
            7 => Self::Cosine,
            9 => Self::Quotient,
            10 => Self::Power,
            _ => return None,
        };
        let is_known = |kind| matches!(kind, Type::F | Type::Hf);
        let kind = |source: &Source| match *source {
            Source::Register { kind, .. } | Source::Immediate { kind, .. } => kind,
        };
        let count = i.sources.iter().flatten().count();
        let has_operands = count == if function.has_two() { 2 } else { 1 };
        let are_known = i.sources.iter().flatten().all(|source| is_known(kind(source)));
        (has_operands && are_known && i.destination.is_some_and(|Destination { kind, .. }| is_known(kind)))
            .then_some(function)
    }

    /// Returns whether it has a second operand.
    pub fn has_two(self) -> bool {
        matches!(self, Self::Quotient | Self::Power)
    }

    /// Returns the result; `None` if it is not known: the power of a number below 0, and of 0 unless the exponent is above 0. The second
    /// operand of a function that has one only is left out.
    pub fn perform(self, a: f64, b: f64) -> Option<f64> {
        Some(match self {
            Self::Inverse => 1.0 / a,
            Self::Logarithm => a.log2(),
            Self::Exponential => a.exp2(),
            Self::Root => a.sqrt(),
            Self::InverseRoot => 1.0 / a.sqrt(),
            Self::Sine => a.sin(),
            Self::Cosine => a.cos(),
            Self::Quotient => a / b,
            Self::Power if a < 0.0 || a == 0.0 && b <= 0.0 => return None,
            Self::Power => a.powf(b),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_have_the_values_of_their_definitions() {
        let of = |function: Function, a, b| function.perform(a, b).unwrap();
        assert_eq!(of(Function::Inverse, 8.0, 0.0), 0.125);
        assert_eq!(of(Function::Inverse, -0.0, 0.0), f64::NEG_INFINITY);
        assert_eq!(of(Function::Logarithm, 1024.0, 0.0), 10.0);
        assert_eq!(of(Function::Logarithm, 0.0, 0.0), f64::NEG_INFINITY);
        assert!(of(Function::Logarithm, -1.0, 0.0).is_nan());
        assert_eq!(of(Function::Exponential, -3.0, 0.0), 0.125);
        assert_eq!(of(Function::Root, 144.0, 0.0), 12.0);
        assert!(of(Function::Root, -1.0, 0.0).is_nan());
        assert_eq!(of(Function::InverseRoot, 16.0, 0.0), 0.25);
        assert_eq!(of(Function::Sine, 0.0, 0.0), 0.0);
        assert_eq!(of(Function::Cosine, 0.0, 0.0), 1.0);
        assert_eq!(of(Function::Quotient, 1.0, 4.0), 0.25);
        assert_eq!(of(Function::Power, 3.0, 4.0), 81.0);
    }

    #[test]
    fn a_power_without_a_value_is_not_known() {
        assert_eq!(Function::Power.perform(-2.0, 2.0), None);
        assert_eq!(Function::Power.perform(0.0, 0.0), None);
        assert_eq!(Function::Power.perform(0.0, -1.0), None);
        assert_eq!(Function::Power.perform(0.0, 2.0), Some(0.0));
    }
}

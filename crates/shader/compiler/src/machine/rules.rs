//! The rules of a platform, as the validator of `intel-eu` has them.

use intel_eu::{Opcode, Platform, Rule, Type, Violation, validate};

use super::draft::{At, Draft, Home, LANES, Operand, Target};
use super::encode::{Nominal, instruction};

/// Returns whether a platform has 64-bit integers, as its rules tell.
pub(crate) fn has_long_integers(platform: Platform) -> bool {
    let place = Target { at: At::Home(Home(0), 0), kind: Type::Q, stride: 1 };
    let copy = Draft::of(Opcode::Mov, place, &[Operand::Of(place.read(LANES))]);
    violations(platform, &copy).iter().all(|violation| violation.rule != Rule::Quadword)
}

/// Returns the rules that a draft breaks.
pub(crate) fn violations(platform: Platform, draft: &Draft) -> Vec<Violation> {
    validate(platform, &instruction(platform, draft, &Nominal))
}

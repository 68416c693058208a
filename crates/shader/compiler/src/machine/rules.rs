//! The rules of a platform, as the validator of `intel-eu` has them.

use intel_eu::{Opcode, Platform, Rule, Type, Violation, validate};

use super::encode::{Nominal, instruction};
use super::instr::{Dst, Instr, LANES, Operand, RegRef, VReg};

/// Returns whether a platform has 64-bit integers, as its rules tell.
pub(crate) fn has_long_integers(platform: Platform) -> bool {
    let place = Dst { at: RegRef::VReg(VReg(0), 0), kind: Type::Q, stride: 1 };
    let copy = Instr::of(Opcode::Mov, place, &[Operand::Reg(place.read(LANES))]);
    violations(platform, &copy).iter().all(|violation| violation.rule != Rule::Quadword)
}

/// Returns the rules that an instruction breaks.
pub(crate) fn violations(platform: Platform, instr: &Instr) -> Vec<Violation> {
    validate(platform, &instruction(platform, instr, &Nominal))
}

//! Operations on constants, as OpSpecConstantOp has them.

#![expect(clippy::wildcard_enum_match_arm, reason = "SPIR-V has hundreds of opcodes, and gets more")]

use rspirv::spirv::Op;

use crate::ir::Scalar;
use crate::spirv::constants::Constant;

/// Returns a part of a composite.
pub(crate) fn part(whole: &Constant, index: u32) -> Option<&Constant> {
    match whole {
        Constant::Composite(parts) => parts.get(index as usize),
        Constant::Scalar(..) => None,
    }
}

/// [`part`], to be changed.
pub(crate) fn part_mut(whole: &mut Constant, index: u32) -> Option<&mut Constant> {
    match whole {
        Constant::Composite(parts) => parts.get_mut(index as usize),
        Constant::Scalar(..) => None,
    }
}

/// Returns a component of a vector; that of a number is itself.
pub(crate) fn component(whole: &Constant, index: u32) -> Option<(Scalar, u64)> {
    let found = match whole {
        Constant::Composite(parts) => parts.get(index as usize)?,
        Constant::Scalar(..) => whole,
    };
    match found {
        Constant::Scalar(scalar, bits) => Some((*scalar, *bits)),
        Constant::Composite(_) => None,
    }
}

/// Returns the bits of the result of an operation on numbers; none for one that shaders cannot have on constants. A result that
/// SPIR-V leaves undefined, as that of a division by 0 or of a shift by all bits, is 0.
pub(crate) fn operation(opcode: Op, result: Scalar, operands: &[(Scalar, u64)]) -> Option<u64> {
    let boolean = |value: bool| Some(u64::from(value));
    if opcode != Op::Select && operands.iter().any(|(of, _)| matches!(of, Scalar::Float { .. })) {
        return None;
    }
    Some(match *operands {
        [(of, a)] => match opcode {
            Op::SConvert => of.extended(a) as u64,
            Op::UConvert => a,
            Op::FConvert | Op::QuantizeToF16 => return None,
            Op::SNegate => a.wrapping_neg(),
            Op::Not => !a,
            Op::LogicalNot => u64::from(a == 0),
            _ => return None,
        },
        [(of, a), (by, b)] => {
            let (sa, sb) = (of.extended(a), by.extended(b));
            let shift = u32::try_from(b).ok().filter(|shift| *shift < u32::from(of.bits()));
            match opcode {
                Op::IAdd => a.wrapping_add(b),
                Op::ISub => a.wrapping_sub(b),
                Op::IMul => a.wrapping_mul(b),
                Op::UDiv => a.checked_div(b).unwrap_or(0),
                Op::UMod => a.checked_rem(b).unwrap_or(0),
                Op::SDiv => sa.checked_div(sb).unwrap_or(0) as u64,
                Op::SRem => sa.checked_rem(sb).unwrap_or(0) as u64,
                // The sign is that of the divisor.
                Op::SMod => match sa.checked_rem(sb) {
                    Some(rest) if rest != 0 && (rest < 0) != (sb < 0) => rest.wrapping_add(sb) as u64,
                    Some(rest) => rest as u64,
                    None => 0,
                },
                Op::ShiftLeftLogical => shift.map_or(0, |shift| a << shift),
                Op::ShiftRightLogical => shift.map_or(0, |shift| a >> shift),
                Op::ShiftRightArithmetic => shift.map_or(0, |shift| (sa >> shift) as u64),
                Op::BitwiseAnd => a & b,
                Op::BitwiseOr => a | b,
                Op::BitwiseXor => a ^ b,
                Op::LogicalAnd => return boolean(a != 0 && b != 0),
                Op::LogicalOr => return boolean(a != 0 || b != 0),
                Op::LogicalEqual | Op::IEqual => return boolean(a == b),
                Op::LogicalNotEqual | Op::INotEqual => return boolean(a != b),
                Op::ULessThan => return boolean(a < b),
                Op::ULessThanEqual => return boolean(a <= b),
                Op::UGreaterThan => return boolean(a > b),
                Op::UGreaterThanEqual => return boolean(a >= b),
                Op::SLessThan => return boolean(sa < sb),
                Op::SLessThanEqual => return boolean(sa <= sb),
                Op::SGreaterThan => return boolean(sa > sb),
                Op::SGreaterThanEqual => return boolean(sa >= sb),
                _ => return None,
            }
        }
        [(Scalar::Bool, condition), (_, a), (_, b)] if opcode == Op::Select => {
            result.masked(if condition != 0 { a } else { b })
        }
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const INT: Scalar = Scalar::Integer { bits: 32, signed: true };

    fn of_two(opcode: Op, a: i32, b: i32) -> Option<i32> {
        let number = |value: i32| (INT, u64::from(value as u32));
        operation(opcode, INT, &[number(a), number(b)]).map(|bits| INT.masked(bits) as u32 as i32)
    }

    #[test]
    fn divisions_have_the_sign_that_their_names_say() {
        for (a, b) in [(7, 2), (-7, 2), (7, -2), (-7, -2), (6, 3), (-6, 3), (i32::MIN, -1), (1, 0)] {
            assert_eq!(of_two(Op::SDiv, a, b), Some(if b == 0 { 0 } else { a.wrapping_div(b) }), "{a} / {b}");
            assert_eq!(
                of_two(Op::SRem, a, b),
                Some(if b == 0 { 0 } else { a.wrapping_rem(b) }),
                "{a} rem {b}"
            );
        }
        let modulos = [(7, 2, 1), (-7, 2, 1), (7, -2, -1), (-7, -2, -1), (6, 3, 0), (-6, 3, 0), (1, 0, 0)];
        for (a, b, expected) in modulos {
            assert_eq!(of_two(Op::SMod, a, b), Some(expected), "{a} mod {b}");
        }
    }

    #[test]
    fn shifts_by_all_bits_are_zero_and_arithmetic_ones_keep_the_sign() {
        assert_eq!(of_two(Op::ShiftLeftLogical, 1, 31), Some(i32::MIN));
        assert_eq!(of_two(Op::ShiftLeftLogical, 1, 32), Some(0));
        assert_eq!(of_two(Op::ShiftRightLogical, -1, 31), Some(1));
        assert_eq!(of_two(Op::ShiftRightArithmetic, -8, 1), Some(-4));
    }

    #[test]
    fn conversions_extend_by_their_own_sign() {
        let byte = (Scalar::Integer { bits: 8, signed: false }, 0x80);
        assert_eq!(operation(Op::SConvert, INT, &[byte]).map(|bits| INT.masked(bits)), Some(0xffff_ff80));
        assert_eq!(operation(Op::UConvert, INT, &[byte]), Some(0x80));
        assert_eq!(operation(Op::FAdd, INT, &[byte, byte]), None);
    }
}

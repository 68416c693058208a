//! The operations on the numbers of one channel.

use crate::execute::value::Number;
use crate::execute::value::Number::{Float, Integer};
use crate::{Condition, Opcode, Type};

/// Returns the result of an operation with up to three sources, whose execution type is `kind`; `None` if it is not known here.
pub(super) fn perform(opcode: Opcode, kind: Type, sources: [Number; 3]) -> Option<Number> {
    let width = 8 * i128::from(kind.bytes());
    let ones = (1_i128 << width) - 1;
    Some(match (opcode, sources) {
        (Opcode::Mov | Opcode::Dim, [number, ..]) => number,
        (Opcode::Not, [Integer(a), ..]) => Integer(!a),
        (Opcode::And, [Integer(a), Integer(b), _]) => Integer(a & b),
        (Opcode::Or, [Integer(a), Integer(b), _]) => Integer(a | b),
        (Opcode::Xor, [Integer(a), Integer(b), _]) => Integer(a ^ b),
        // Counts are those of the type's bits: 5 of 32, 6 of 64.
        (Opcode::Shl, [Integer(a), Integer(b), _]) => Integer(a << (b & (width.max(32) - 1))),
        (Opcode::Shr, [Integer(a), Integer(b), _]) => Integer((a & ones) >> (b & (width.max(32) - 1))),
        (Opcode::Asr, [Integer(a), Integer(b), _]) => Integer(a >> (b & (width.max(32) - 1))),
        (Opcode::Rol | Opcode::Ror, [Integer(a), Integer(b), _]) => {
            let count = b.rem_euclid(width);
            let left = if opcode == Opcode::Rol { count } else { (width - count) % width };
            let a = a & ones;
            Integer((a << left | a >> (width - left)) & ones)
        }
        (Opcode::Add, [Integer(a), Integer(b), _]) => Integer(a + b),
        (Opcode::Add, [a, b, _]) => Float(float(a, kind) + float(b, kind)),
        (Opcode::Add3, [Integer(a), Integer(b), Integer(c)]) => Integer(a + b + c),
        // The full product of quadwords has 128 bits.
        (Opcode::Mul, [Integer(a), Integer(b), _]) => Integer(a.wrapping_mul(b)),
        (Opcode::Mul, [a, b, _]) => Float(float(a, kind) * float(b, kind)),
        (Opcode::Mad, [Integer(a), Integer(b), Integer(c)]) => Integer(b.wrapping_mul(c).wrapping_add(a)),
        (Opcode::Mad, [a, b, c]) => {
            let [a, b, c] = [a, b, c].map(|number| float(number, kind));
            let is_single = kind == Type::F;
            Float(if is_single { f64::from((b as f32).mul_add(c as f32, a as f32)) } else { b.mul_add(c, a) })
        }
        (Opcode::Avg, [Integer(a), Integer(b), _]) => Integer((a + b + 1) >> 1),
        (Opcode::Frc, [a, ..]) => Float(float(a, kind) - float(a, kind).floor()),
        (Opcode::Rndd, [a, ..]) => Float(float(a, kind).floor()),
        (Opcode::Rndu, [a, ..]) => Float(float(a, kind).ceil()),
        (Opcode::Rndz, [a, ..]) => Float(float(a, kind).trunc()),
        (Opcode::Rnde, [a, ..]) => Float(float(a, kind).round_ties_even()),
        (Opcode::Cbit, [Integer(a), ..]) => Integer(i128::from((a & ones).count_ones())),
        (Opcode::Lzd, [Integer(a), ..]) => Integer(i128::from(((a & 0xffff_ffff) as u32).leading_zeros())),
        (Opcode::Fbl, [Integer(a), ..]) => match (a & 0xffff_ffff) as u32 {
            0 => Integer(0xffff_ffff),
            bits => Integer(i128::from(bits.trailing_zeros())),
        },
        (Opcode::Bfrev, [Integer(a), ..]) => Integer(i128::from(((a & 0xffff_ffff) as u32).reverse_bits())),
        (Opcode::Bfi1, [Integer(bits), Integer(offset), _]) => {
            let (bits, offset) = ((bits & 31) as u32, (offset & 31) as u32);
            Integer(i128::from(((1_u32 << bits) - 1) << offset))
        }
        (Opcode::Bfi2, [Integer(mask), Integer(field), Integer(base)]) => {
            let mask = (mask & 0xffff_ffff) as u32;
            let shift = mask.trailing_zeros() % 32;
            Integer(i128::from((field as u32) << shift & mask | base as u32 & !mask))
        }
        (Opcode::Bfe, [Integer(bits), Integer(offset), Integer(from)]) => {
            let (bits, offset) = ((bits & 31) as u32, (offset & 31) as u32);
            let shifted = (from & 0xffff_ffff) as u32 >> offset;
            match (bits, kind) {
                (0, _) => Integer(0),
                // A field that reaches over the highest bit ends there, with its sign.
                _ if bits + offset > 31 => Integer(if kind == Type::D {
                    i128::from(from as i32 >> offset)
                } else {
                    i128::from(shifted)
                }),
                (_, Type::D) => Integer(i128::from((shifted << (32 - bits)) as i32 >> (32 - bits))),
                _ => Integer(i128::from(shifted & ((1 << bits) - 1))),
            }
        }
        _ => return None,
    })
}

/// Returns whether a condition holds for the comparison of two numbers. Each but "not equal" is false for NaN.
pub(super) fn holds(condition: Condition, left: Number, right: Number) -> Option<bool> {
    use std::cmp::Ordering::{Equal, Greater, Less};
    let order = match (left, right) {
        (Integer(a), Integer(b)) => Some(a.cmp(&b)),
        (a, b) => float(a, Type::Df).partial_cmp(&float(b, Type::Df)),
    };
    Some(match condition {
        Condition::Zero => order == Some(Equal),
        Condition::NotZero => order != Some(Equal),
        Condition::Greater => order == Some(Greater),
        Condition::GreaterOrEqual => matches!(order, Some(Greater | Equal)),
        Condition::Less => order == Some(Less),
        Condition::LessOrEqual => matches!(order, Some(Less | Equal)),
        Condition::Unordered => order.is_none(),
        Condition::Overflow => return None,
    })
}

/// Returns a number as a float of the execution type.
pub(super) fn float(number: Number, kind: Type) -> f64 {
    match number {
        Float(float) => float,
        Integer(integer) if kind == Type::F => f64::from(integer as f32),
        Integer(integer) => integer as f64,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(opcode: Opcode, kind: Type, sources: [i128; 3]) -> Option<Number> {
        perform(opcode, kind, sources.map(Integer))
    }

    #[test]
    fn shifts_take_the_counts_lowest_bits() {
        assert_eq!(of(Opcode::Shl, Type::Ud, [1, 35, 0]), Some(Integer(8)));
        assert_eq!(of(Opcode::Shl, Type::Uq, [1, 35, 0]), Some(Integer(1 << 35)));
        assert_eq!(of(Opcode::Shr, Type::D, [-1, 28, 0]), Some(Integer(15)));
        assert_eq!(of(Opcode::Asr, Type::D, [-16, 2, 0]), Some(Integer(-4)));
        assert_eq!(of(Opcode::Rol, Type::Ud, [0x8000_0001, 1, 0]), Some(Integer(3)));
        assert_eq!(of(Opcode::Ror, Type::Ud, [3, 1, 0]), Some(Integer(0x8000_0001)));
        assert_eq!(of(Opcode::Rol, Type::Ud, [5, 32, 0]), Some(Integer(5)));
    }

    #[test]
    fn fields_of_bits_are_taken_and_put() {
        assert_eq!(of(Opcode::Bfe, Type::Ud, [4, 8, 0xabcd]), Some(Integer(0xb)));
        assert_eq!(of(Opcode::Bfe, Type::D, [4, 8, 0xabcd]), Some(Integer(-5)));
        assert_eq!(of(Opcode::Bfe, Type::D, [0, 8, -1]), Some(Integer(0)));
        assert_eq!(of(Opcode::Bfi1, Type::Ud, [8, 4, 0]), Some(Integer(0xff0)));
        assert_eq!(of(Opcode::Bfi2, Type::Ud, [0xff0, 0x12, 0xf_f00f]), Some(Integer(0xf_f12f)));
        assert_eq!(of(Opcode::Fbl, Type::Ud, [0, 0, 0]), Some(Integer(0xffff_ffff)));
        assert_eq!(of(Opcode::Lzd, Type::Ud, [1, 0, 0]), Some(Integer(31)));
    }

    #[test]
    fn an_unknown_operation_has_no_result() {
        assert_eq!(of(Opcode::Sad2, Type::W, [1, 2, 3]), None);
        assert_eq!(perform(Opcode::And, Type::F, [Float(1.0), Float(2.0), Float(0.0)]), None);
    }

    #[test]
    fn comparisons_with_nan_are_false_but_one() {
        for (condition, holds_for_nan) in [
            (Condition::Zero, false),
            (Condition::NotZero, true),
            (Condition::Less, false),
            (Condition::GreaterOrEqual, false),
            (Condition::Unordered, true),
        ] {
            assert_eq!(holds(condition, Float(f64::NAN), Float(0.0)), Some(holds_for_nan), "{condition:?}");
        }
        assert_eq!(holds(Condition::Less, Integer(-1), Integer(0)), Some(true));
        assert_eq!(holds(Condition::Overflow, Integer(-1), Integer(0)), None);
    }
}

//! The results that operations have, from Rust's own conversions and the arithmetic of its types.

use std::cmp::Ordering;
use std::sync::OnceLock;

use intel_eu::{Base, Condition, Opcode, Type};

use crate::machine::instr::{Dst, Instr, Operand, Predicate, VReg};

/// An operation: both sources have a type, and the destination has one.
#[derive(Clone, Copy, Debug)]
pub(super) struct Case {
    pub opcode: Opcode,
    pub from: Type,
    pub to: Type,
    pub saturate: bool,
    pub predicated: bool,
    pub negate: bool,
    pub condition: Option<Condition>,
}

/// The virtual registers of the sources and of the destination.
pub(super) const FIRST: VReg = VReg(0);
pub(super) const SECOND: VReg = VReg(1);
pub(super) const RESULT: VReg = VReg(2);

/// The operations on one number.
const ONE_SOURCE: [Opcode; 9] = [
    Opcode::Mov,
    Opcode::Not,
    Opcode::Rndd,
    Opcode::Rndz,
    Opcode::Rnde,
    Opcode::Cbit,
    Opcode::Fbl,
    Opcode::Lzd,
    Opcode::Bfrev,
];

impl Case {
    pub fn new(opcode: Opcode, from: Type, to: Type) -> Self {
        Self { opcode, from, to, saturate: false, predicated: false, negate: false, condition: None }
    }

    /// Returns the operation as an instruction.
    pub fn instr(&self, instr: Instr) -> Instr {
        let first = Operand::lanes(FIRST, self.from);
        let mut sources = vec![if self.negate { first.negated() } else { first }];
        if !ONE_SOURCE.contains(&self.opcode) {
            sources.push(Operand::lanes(SECOND, self.from));
        }
        if let (Opcode::Cmp, Some(condition), [first, second]) =
            (self.opcode, self.condition, sources.as_slice())
        {
            return Instr::compare(condition, self.from, [*first, *second]);
        }
        let (destination, predicate) =
            (Some(Dst::lanes(RESULT, self.to)), self.predicated.then_some(Predicate::SET));
        let Self { saturate, condition, .. } = *self;
        Instr { destination, sources, saturate, predicate, condition, ..instr }
    }
}

/// A number of a type.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Number {
    Integer(i128),
    Half(f64),
    Float(f32),
    Double(f64),
}

/// Returns all half floats that are numbers, in their order.
fn halves() -> &'static [(f64, u16)] {
    static HALVES: OnceLock<Vec<(f64, u16)>> = OnceLock::new();
    HALVES.get_or_init(|| {
        let all = (0..=u16::MAX).map(|bits| (half::f16::from_bits(bits).to_f64(), bits));
        let mut halves: Vec<_> =
            all.filter(|(number, _)| number.is_finite() && !number.is_sign_negative()).collect();
        halves.sort_by(|a, b| a.0.total_cmp(&b.0));
        halves
    })
}

/// Returns the half float nearest to a number; of two, the one whose last bit is clear.
fn nearest_half(number: f64) -> u16 {
    let sign = if number.is_sign_negative() { 0x8000 } else { 0 };
    if number.is_nan() {
        return sign | 0x7e00;
    }
    let magnitude = number.abs();
    if magnitude >= 65520.0 {
        return sign | 0x7c00;
    }
    let place = halves().partition_point(|(half, _)| *half < magnitude);
    let above = halves().get(place).copied().unwrap_or((65504.0, 0x7bff));
    let below = halves()[place.saturating_sub(1)];
    let (to_above, to_below) = (above.0 - magnitude, magnitude - below.0);
    let is_below = to_below.total_cmp(&to_above).then((below.1 & 1).cmp(&(above.1 & 1))) == Ordering::Less;
    sign | if is_below { below.1 } else { above.1 }
}

fn number(kind: Type, bits: u64) -> Number {
    match kind {
        Type::Ub => Number::Integer(i128::from(bits as u8)),
        Type::B => Number::Integer(i128::from(bits as i8)),
        Type::Uw => Number::Integer(i128::from(bits as u16)),
        Type::W => Number::Integer(i128::from(bits as i16)),
        Type::D => Number::Integer(i128::from(bits as i32)),
        Type::Uq => Number::Integer(i128::from(bits)),
        Type::Q => Number::Integer(i128::from(bits as i64)),
        Type::Hf => Number::Half(half::f16::from_bits(bits as u16).to_f64()),
        Type::F => Number::Float(f32::from_bits(bits as u32)),
        Type::Df => Number::Double(f64::from_bits(bits)),
        Type::Ud | Type::Nf | Type::Bf | Type::Uv | Type::V | Type::Vf => {
            Number::Integer(i128::from(bits as u32))
        }
    }
}

fn limits(kind: Type) -> (i128, i128) {
    let bits = 8 * u32::from(kind.bytes());
    match kind.base() {
        Base::Signed => (-(1 << (bits - 1)), (1 << (bits - 1)) - 1),
        Base::Unsigned | Base::Float => (0, (1 << bits) - 1),
    }
}

/// Converts a number; half floats and 64-bit types by a float, as the hardware has to.
fn bits(kind: Type, number: Number, saturate: bool) -> u64 {
    let mask = u64::MAX >> (64 - 8 * u32::from(kind.bytes()));
    if kind.base() != Base::Float {
        let (least, most) = limits(kind);
        let integer = match number {
            Number::Integer(integer) if saturate => integer.clamp(least, most),
            Number::Integer(integer) => integer,
            Number::Float(float) => (float as i128).clamp(least, most),
            Number::Half(float) | Number::Double(float) => (float as i128).clamp(least, most),
        };
        return integer as u64 & mask;
    }
    let number = match (number, kind) {
        (Number::Integer(integer), Type::Hf) if integer.unsigned_abs() >= 1 << 32 => {
            Number::Float(integer as f32)
        }
        (Number::Double(double), Type::Hf) => Number::Float(double as f32),
        (other, _) => other,
    };
    let zero_to_one = |number: f64| {
        if !saturate {
            number
        } else if number > 0.0 {
            number.min(1.0)
        } else {
            0.0
        }
    };
    match (kind, number) {
        (Type::F, Number::Integer(integer)) if !saturate => u64::from((integer as f32).to_bits()),
        (Type::F, Number::Float(float)) if !saturate => u64::from(float.to_bits()),
        (_, number) => {
            let double = zero_to_one(match number {
                Number::Integer(integer) => integer as f64,
                Number::Float(float) => f64::from(float),
                Number::Half(float) | Number::Double(float) => float,
            });
            if kind == Type::Hf {
                u64::from(nearest_half(double))
            } else if kind == Type::F {
                u64::from((double as f32).to_bits())
            } else {
                double.to_bits()
            }
        }
    }
}

/// Returns the bits with which all values that are no numbers are compared.
pub(super) fn canonical(kind: Type, bits: u64) -> u64 {
    let is_nan = match number(kind, bits) {
        Number::Integer(_) => false,
        Number::Float(float) => float.is_nan(),
        Number::Half(float) | Number::Double(float) => float.is_nan(),
    };
    if is_nan { u64::MAX } else { bits }
}

fn compare(a: Number, b: Number) -> Option<Ordering> {
    match (a, b) {
        (Number::Integer(a), Number::Integer(b)) => Some(a.cmp(&b)),
        (Number::Float(a), Number::Float(b)) => a.partial_cmp(&b),
        (Number::Half(a), Number::Half(b)) | (Number::Double(a), Number::Double(b)) => a.partial_cmp(&b),
        _ => None,
    }
}

fn is_nan(number: Number) -> bool {
    compare(number, number).is_none()
}

/// Returns a float that is rounded to an integer.
fn rounded(opcode: Opcode, number: Number) -> Number {
    let round = |float: f64| {
        if opcode == Opcode::Rndd {
            float.floor()
        } else if opcode == Opcode::Rndz {
            float.trunc()
        } else {
            float.round_ties_even()
        }
    };
    match number {
        Number::Integer(integer) => Number::Integer(integer),
        Number::Half(float) => Number::Half(round(float)),
        Number::Float(float) => Number::Float(round(f64::from(float)) as f32),
        Number::Double(float) => Number::Double(round(float)),
    }
}

/// Returns the bits of an operation's result.
pub(super) fn reference(case: &Case, first: u64, second: u64, chosen: bool) -> u64 {
    let (a, b) = (number(case.from, first), number(case.from, second));
    let integers = match (a, b) {
        (Number::Integer(a), Number::Integer(b)) => Some((a, b)),
        _ => None,
    };
    let negated = |number| match number {
        Number::Integer(integer) => Number::Integer(-integer),
        Number::Half(float) => Number::Half(-float),
        Number::Float(float) => Number::Float(-float),
        Number::Double(float) => Number::Double(-float),
    };
    let order = compare(a, b);
    let result = match (case.opcode, integers) {
        (Opcode::Mov, _) => {
            if case.negate {
                negated(a)
            } else {
                a
            }
        }
        (Opcode::Cmp, _) => {
            let holds = match case.condition {
                Some(Condition::Zero) => order == Some(Ordering::Equal),
                Some(Condition::NotZero) => order != Some(Ordering::Equal),
                Some(Condition::Less) => order == Some(Ordering::Less),
                Some(Condition::LessOrEqual) => matches!(order, Some(Ordering::Less | Ordering::Equal)),
                Some(Condition::Greater) => order == Some(Ordering::Greater),
                _ => matches!(order, Some(Ordering::Greater | Ordering::Equal)),
            };
            return u64::from(holds);
        }
        (Opcode::Sel, _) => match case.condition {
            None => {
                if chosen {
                    a
                } else {
                    b
                }
            }
            Some(_) if is_nan(a) => b,
            Some(_) if is_nan(b) => a,
            Some(Condition::Less) => {
                if order == Some(Ordering::Less) {
                    a
                } else {
                    b
                }
            }
            Some(_) => {
                if order == Some(Ordering::Less) {
                    b
                } else {
                    a
                }
            }
        },
        (opcode @ (Opcode::Rndd | Opcode::Rndz | Opcode::Rnde), _) => rounded(opcode, a),
        (Opcode::Cbit, Some((a, _))) => Number::Integer(i128::from((a as u32).count_ones())),
        (Opcode::Lzd, Some((a, _))) => Number::Integer(i128::from((a as u32).leading_zeros())),
        (Opcode::Bfrev, Some((a, _))) => Number::Integer(i128::from((a as u32).reverse_bits())),
        (Opcode::Fbl, Some((a, _))) => {
            Number::Integer(if a as u32 == 0 { -1 } else { i128::from((a as u32).trailing_zeros()) })
        }
        (Opcode::Not, Some((a, _))) => Number::Integer(!a),
        (Opcode::Add, Some((a, b))) => Number::Integer(a + b),
        (Opcode::Mul, Some((a, b))) => Number::Integer(a * b),
        (Opcode::And, Some((a, b))) => Number::Integer(a & b),
        (Opcode::Or, Some((a, b))) => Number::Integer(a | b),
        (Opcode::Xor, Some((a, b))) => Number::Integer(a ^ b),
        (Opcode::Shl | Opcode::Shr | Opcode::Asr, Some((a, b))) => {
            let count = b as u32 & if case.from.bytes() == 8 { 63 } else { 31 };
            Number::Integer(if case.opcode == Opcode::Shl { a << count } else { a >> count })
        }
        (opcode, _) => {
            let operate = |a: f64, b: f64| if opcode == Opcode::Add { a + b } else { a * b };
            match (a, b) {
                (Number::Float(a), Number::Float(b)) => {
                    Number::Float(if opcode == Opcode::Add { a + b } else { a * b })
                }
                (Number::Half(a), Number::Half(b)) => {
                    let exact = operate(a, b);
                    // Where the destination is wider, the operation is one of floats.
                    if case.to == Type::Hf {
                        number(Type::Hf, nearest_half(exact).into())
                    } else {
                        Number::Float(exact as f32)
                    }
                }
                (Number::Double(a), Number::Double(b)) => Number::Double(operate(a, b)),
                (other, _) => other,
            }
        }
    };
    bits(case.to, result, case.saturate)
}

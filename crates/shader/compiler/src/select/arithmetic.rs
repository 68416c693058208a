//! Operations on numbers.

use intel_eu::{Condition, Opcode, Type};

use super::{Selection, bits_of, kind};
use crate::Error;
use crate::ir::{Binary, Comparison, Conversion, Scalar, Unary, Value};
use crate::machine::instr::{Dst, Instr, Operand, Predicate, RegRegion, VReg};
use crate::machine::regions;

/// Functions of `math`.
const LOGARITHM: u8 = 2;
const EXPONENTIAL: u8 = 3;
const ROOT: u8 = 4;
const INVERSE_ROOT: u8 = 5;
const SINE: u8 = 6;
const COSINE: u8 = 7;
const FLOAT_QUOTIENT: u8 = 9;
const QUOTIENT: u8 = 12;
const REST: u8 = 13;

impl Selection<'_> {
    pub(super) fn unary(&mut self, to: VReg, scalar: Scalar, unary: Unary, a: Value) -> Result<(), Error> {
        let signed = kind(scalar, true);
        let bits = bits_of(scalar);
        let refused = || Error::Opcode { name: format!("{} of type {signed}", unary.name()) };
        if let Some(function) = function(unary) {
            if signed != Type::F {
                return Err(refused());
            }
            let source = self.register(a, Type::F);
            self.math(to, Type::F, function, &[source]);
            return Ok(());
        }
        if matches!(unary, Unary::Floor | Unary::Ceil | Unary::Truncate | Unary::Round) && signed == Type::Df
            || matches!(unary, Unary::BitCount | Unary::LowestBit | Unary::HighestBit | Unary::BitReverse)
                && bits != Type::Ud
            || unary == Unary::Absolute && signed == Type::Q
        {
            return Err(refused());
        }
        let source = self.register(a, signed);
        let raw = self.register(a, bits);
        match unary {
            Unary::Negate => self.put(Opcode::Mov, to, signed, &[source.negated()]),
            Unary::Absolute => self.put(Opcode::Mov, to, signed, &[source.absolute()]),
            Unary::Not => self.put(Opcode::Not, to, bits, &[raw]),
            Unary::Floor => self.put(Opcode::Rndd, to, signed, &[source]),
            Unary::Truncate => self.put(Opcode::Rndz, to, signed, &[source]),
            Unary::Round => self.put(Opcode::Rnde, to, signed, &[source]),
            Unary::Ceil => {
                let below = self.vreg(scalar);
                self.put(Opcode::Rndd, below, signed, &[source.negated()]);
                self.put(Opcode::Mov, to, signed, &[Operand::lanes(below, signed).negated()]);
            }
            Unary::BitCount => self.put(Opcode::Cbit, to, bits, &[raw]),
            Unary::LowestBit => self.put(Opcode::Fbl, to, bits, &[raw]),
            Unary::BitReverse => self.put(Opcode::Bfrev, to, bits, &[raw]),
            Unary::HighestBit => {
                let zeroes = self.dwords();
                self.put(Opcode::Lzd, zeroes, Type::Ud, &[raw]);
                let last = Operand::Imm { kind: Type::D, bits: 31 };
                self.put(Opcode::Add, to, Type::D, &[Operand::lanes(zeroes, Type::D).negated(), last]);
            }
            Unary::Sqrt | Unary::Rsqrt | Unary::Exp2 | Unary::Log2 | Unary::Sine | Unary::Cosine => {
                return Err(refused());
            }
        }
        Ok(())
    }

    pub(super) fn binary(
        &mut self,
        to: VReg,
        scalar: Scalar,
        binary: Binary,
        a: Value,
        b: Value,
    ) -> Result<(), Error> {
        let is_float = matches!(scalar, Scalar::Float { .. });
        let plain = kind(scalar, true);
        let refused = || Error::Opcode { name: format!("{} of type {plain}", binary.name()) };
        let (opcode, of) = match binary {
            Binary::Add => (Opcode::Add, plain),
            Binary::Subtract => {
                let sources = [self.register(a, plain), self.register(b, plain).negated()];
                self.put(Opcode::Add, to, plain, &sources);
                return Ok(());
            }
            Binary::Multiply if plain.bytes() == 4 && !is_float => {
                self.multiply(to, a, b);
                return Ok(());
            }
            Binary::Multiply if plain == Type::Q => return Err(refused()),
            Binary::Multiply => (Opcode::Mul, plain),
            Binary::And => (Opcode::And, bits_of(scalar)),
            Binary::Or => (Opcode::Or, bits_of(scalar)),
            Binary::Xor => (Opcode::Xor, bits_of(scalar)),
            Binary::ShiftLeft => (Opcode::Shl, bits_of(scalar)),
            Binary::ShiftRight { signed: false } => (Opcode::Shr, bits_of(scalar)),
            Binary::ShiftRight { signed: true } => (Opcode::Asr, plain),
            Binary::Minimum { signed } | Binary::Maximum { signed } => {
                let least = matches!(binary, Binary::Minimum { .. });
                let condition = if least { Condition::Less } else { Condition::GreaterOrEqual };
                let kind = kind(scalar, signed);
                let sources = self.two(a, b, kind);
                let select = Instr::of(Opcode::Sel, Dst::lanes(to, kind), &sources);
                self.push(Instr { condition: Some(condition), ..select });
                return Ok(());
            }
            Binary::Divide { .. } if plain == Type::F => {
                let sources = [self.register(a, plain), self.register(b, plain)];
                self.math(to, plain, FLOAT_QUOTIENT, &sources);
                return Ok(());
            }
            Binary::Divide { signed } | Binary::Remainder { signed } if !is_float && plain.bytes() == 4 => {
                let rest = matches!(binary, Binary::Remainder { .. });
                self.divide(to, kind(scalar, signed), if rest { REST } else { QUOTIENT }, a, b);
                return Ok(());
            }
            Binary::Divide { .. } | Binary::Remainder { .. } | Binary::MultiplyHigh { .. } => {
                return Err(refused());
            }
        };
        let is_shift = matches!(opcode, Opcode::Shl | Opcode::Shr | Opcode::Asr);
        let first = self.register(a, of);
        // The type of a count is its own.
        let second = self.operand(b, if is_shift { bits_of(self.program.kind(b)) } else { of });
        self.put(opcode, to, of, &[first, second]);
        Ok(())
    }

    /// Adds a function of `math`, 8 lanes at a time.
    fn math(&mut self, to: VReg, kind: Type, function: u8, sources: &[Operand]) {
        let math = Instr { function, ..Instr::of(Opcode::Math, Dst::lanes(to, kind), sources) };
        for half in 0..2 {
            self.push(regions::half_of_lanes(&math, half));
        }
    }

    /// Adds a multiplication by halves, which every generation has: the low half of the product.
    fn multiply(&mut self, to: VReg, a: Value, b: Value) {
        if let Some(bits @ ..=0xffff) = self.constants.get(&b).copied() {
            let first = self.register(a, Type::Ud);
            self.put(Opcode::Mul, to, Type::Ud, &[first, Operand::Imm { kind: Type::Uw, bits }]);
            return;
        }
        let (first, second) = (self.register(a, Type::Ud), self.vreg_of(b));
        let half = |byte| {
            Operand::Reg(RegRegion::apart(crate::machine::instr::RegRef::VReg(second, byte), Type::Uw, 4, 16))
        };
        let [high, low] = [self.dwords(), self.dwords()];
        let number = |vreg| Operand::lanes(vreg, Type::Ud);
        let sixteen = Operand::Imm { kind: Type::Ud, bits: 16 };
        let upper = self.dwords();
        self.put(Opcode::Mul, high, Type::Ud, &[first, half(2)]);
        self.put(Opcode::Shl, upper, Type::Ud, &[number(high), sixteen]);
        self.put(Opcode::Mul, low, Type::Ud, &[first, half(0)]);
        self.put(Opcode::Add, to, Type::Ud, &[number(low), number(upper)]);
    }

    /// Adds a division of integers. A divisor of 0, whose result SPIR-V leaves undefined, counts as 1.
    fn divide(&mut self, to: VReg, kind: Type, function: u8, a: Value, b: Value) {
        let (dividend, divisor) = (self.register(a, kind), self.register(b, Type::Ud));
        if self.constants.get(&b).is_some_and(|bits| *bits != 0) {
            let divisor = self.register(b, kind);
            self.math(to, kind, function, &[dividend, divisor]);
            return;
        }
        let safe = self.dwords();
        // The larger one of 1 and a divisor without a sign.
        let one = Operand::Imm { kind: Type::Ud, bits: 1 };
        let select = Instr::of(Opcode::Sel, Dst::lanes(safe, Type::Ud), &[divisor, one]);
        self.push(Instr { condition: Some(Condition::GreaterOrEqual), ..select });
        self.math(to, kind, function, &[dividend, Operand::lanes(safe, kind)]);
    }

    pub(super) fn compare(
        &mut self,
        value: Value,
        to: VReg,
        comparison: Comparison,
        of: Scalar,
        [a, b]: [Value; 2],
    ) {
        let (condition, signed) = match comparison {
            Comparison::Equal => (Condition::Zero, false),
            Comparison::Unequal => (Condition::NotZero, false),
            Comparison::Less { signed } => (Condition::Less, signed),
            Comparison::LessOrEqual { signed } => (Condition::LessOrEqual, signed),
        };
        let kind = kind(of, signed);
        let sources = self.two(a, b, kind);
        if kind.bytes() == 4 {
            // The result of a comparison is a dword of no or of all bits.
            let compare = Instr::of(Opcode::Cmp, Dst::lanes(to, kind), &sources);
            self.push(Instr { condition: Some(condition), ..compare });
        } else {
            self.push(Instr::compare(condition, kind, sources));
            self.write_bool(to, Predicate::SET);
        }
        self.tested = Some(value);
    }

    /// Adds the choice between two numbers.
    pub(super) fn choose(&mut self, to: VReg, scalar: Scalar, condition: Value, [a, b]: [Value; 2]) {
        let kind = bits_of(scalar);
        let sources = self.two(a, b, kind);
        self.test(condition);
        if kind.bytes() > 1 {
            self.push(Instr::of(Opcode::Sel, Dst::lanes(to, kind), &sources).when(Predicate::SET));
            return;
        }
        // A selection cannot write bytes, and a move of them can.
        let other = self.register(b, kind);
        self.put(Opcode::Mov, to, kind, &[other]);
        self.push(Instr::of(Opcode::Mov, Dst::lanes(to, kind), &sources[..1]).when(Predicate::SET));
    }

    /// Adds a conversion from the first type to the second one.
    pub(super) fn convert(
        &mut self,
        to: VReg,
        conversion: Conversion,
        [from, scalar]: [Scalar; 2],
        a: Value,
    ) {
        let (from, kind) = match conversion {
            Conversion::Bitcast => (bits_of(from), bits_of(scalar)),
            Conversion::Signed => (kind(from, true), kind(scalar, true)),
            Conversion::Unsigned => (kind(from, false), kind(scalar, false)),
            Conversion::Float => (kind(from, false), kind(scalar, true)),
            Conversion::FloatToUnsigned => (kind(from, false), kind(scalar, false)),
        };
        let source = self.register(a, from);
        self.put(Opcode::Mov, to, kind, &[source]);
    }
}

/// Returns the function of `math` that an operation is.
fn function(unary: Unary) -> Option<u8> {
    match unary {
        Unary::Sqrt => Some(ROOT),
        Unary::Rsqrt => Some(INVERSE_ROOT),
        Unary::Exp2 => Some(EXPONENTIAL),
        Unary::Log2 => Some(LOGARITHM),
        Unary::Sine => Some(SINE),
        Unary::Cosine => Some(COSINE),
        Unary::Negate
        | Unary::Not
        | Unary::Absolute
        | Unary::Floor
        | Unary::Ceil
        | Unary::Truncate
        | Unary::Round
        | Unary::BitCount
        | Unary::LowestBit
        | Unary::HighestBit
        | Unary::BitReverse => None,
    }
}

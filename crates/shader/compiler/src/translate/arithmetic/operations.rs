//! Operations on numbers, component by component.

use rspirv::dr;
use rspirv::spirv::{Op, Word};

use crate::Error;
use crate::interface::Stage;
use crate::ir::{Binary, Comparison, Conversion, Operation, Scalar, Unary, Value};
use crate::spirv::types::{Type, id, malformed, unsupported};
use crate::translate::Translator;
use crate::translate::arithmetic::componentwise::componentwise;
use crate::translate::values::check::is_same;
use crate::translate::values::data::Data;
use crate::translate::variables::atomics::is_atomic;

impl Translator<'_> {
    /// Returns the one number that is an operand.
    pub(in crate::translate) fn number(
        &mut self,
        one: &dr::Instruction,
        place: usize,
    ) -> Result<Value, Error> {
        match *self.operand(one, place)? {
            [value] => Ok(value),
            _ => Err(malformed(one, "an operand is no number")),
        }
    }

    /// Returns the type of the numbers of an instruction's result.
    pub(in crate::translate) fn kind(&self, one: &dr::Instruction) -> Result<Scalar, Error> {
        match self.result_type(one)? {
            Type::Scalar(kind) | Type::Vector { of: kind, .. } => Ok(*kind),
            Type::Void
            | Type::Matrix { .. }
            | Type::Array { .. }
            | Type::Struct { .. }
            | Type::Pointer { .. }
            | Type::Function { .. } => Err(unsupported(one)),
        }
    }

    /// Returns the type of an instruction's result.
    pub(in crate::translate) fn result_type(&self, one: &dr::Instruction) -> Result<&Type, Error> {
        self.globals.result_type(one)
    }

    /// Returns the type of the result that is an operand.
    pub(in crate::translate) fn type_of(&self, one: &dr::Instruction, place: usize) -> Result<Word, Error> {
        let found = self.types.get(&id(one, place)?).copied();
        found.ok_or_else(|| malformed(one, "an operand has no type"))
    }

    /// Adds an operation on one number of its type.
    pub(in crate::translate) fn unary(&mut self, unary: Unary, a: Value) -> Result<Value, Error> {
        self.make(self.program.kind(a), Operation::Unary(unary, a))
    }

    /// Adds an operation on two numbers of the type of the first one.
    pub(in crate::translate) fn binary(
        &mut self,
        binary: Binary,
        a: Value,
        b: Value,
    ) -> Result<Value, Error> {
        self.make(self.program.kind(a), Operation::Binary(binary, a, b))
    }

    /// Adds a comparison.
    pub(in crate::translate) fn compare(
        &mut self,
        comparison: Comparison,
        a: Value,
        b: Value,
    ) -> Result<Value, Error> {
        let kind = self.program.kind(a);
        self.make(Scalar::Bool, Operation::Compare(comparison, kind, a, b))
    }

    /// Adds a choice between two numbers.
    pub(in crate::translate) fn choose(
        &mut self,
        condition: Value,
        a: Value,
        b: Value,
    ) -> Result<Value, Error> {
        self.make(self.program.kind(a), Operation::Select(condition, a, b))
    }

    /// Adds a constant integer.
    pub(in crate::translate) fn integer(&mut self, kind: Scalar, bits: u64) -> Result<Value, Error> {
        self.make(kind, Operation::Constant(kind.masked(bits)))
    }

    /// Adds a constant float.
    pub(in crate::translate) fn real(&mut self, kind: Scalar, number: f64) -> Result<Value, Error> {
        let bits = match kind {
            Scalar::Float { bits: 64 } => number.to_bits(),
            Scalar::Float { bits: 16 } => half(number),
            Scalar::Float { .. } | Scalar::Integer { .. } | Scalar::Bool => {
                u64::from((number as f32).to_bits())
            }
        };
        self.make(kind, Operation::Constant(bits))
    }

    /// Returns an integer without a sign in the type of another one.
    pub(in crate::translate) fn convert_to(&mut self, kind: Scalar, value: Value) -> Result<Value, Error> {
        let from = self.program.kind(value);
        if is_same(from, kind) {
            return Ok(value);
        }
        self.make(kind, Operation::Convert(Conversion::Unsigned, from, value))
    }

    /// Returns the bits of a number as those of another type of the same size.
    pub(in crate::translate) fn retyped(&mut self, kind: Scalar, value: Value) -> Result<Value, Error> {
        let from = self.program.kind(value);
        if from == kind {
            return Ok(value);
        }
        self.make(kind, Operation::Convert(Conversion::Bitcast, from, value))
    }

    /// Translates an instruction that is no branch, and no call.
    pub(in crate::translate) fn instruction(&mut self, one: &dr::Instruction) -> Result<(), Error> {
        let data = match one.class.opcode {
            Op::Nop | Op::Line | Op::NoLine => return Ok(()),
            Op::Variable => return self.declare(one),
            Op::AccessChain | Op::InBoundsAccessChain => return self.chain(one),
            Op::Store => return self.store(one),
            Op::Load => self.load(one)?,
            Op::ArrayLength => self.length(one)?,
            Op::CopyMemory => return self.copy(one),
            Op::CopyObject if self.copy_pointer(one)? => return Ok(()),
            Op::CopyObject | Op::CopyLogical => self.operand(one, 0)?,
            Op::Undef => {
                let kinds = self.numbers(one.result_type.unwrap_or_default())?;
                kinds
                    .into_iter()
                    .map(|kind| self.make(kind, Operation::Constant(0)))
                    .collect::<Result<_, _>>()?
            }
            Op::CompositeConstruct => self.construct(one)?,
            Op::CompositeExtract => self.extract(one)?,
            Op::CompositeInsert => self.insert(one)?,
            Op::VectorShuffle => self.shuffle(one)?,
            Op::VectorExtractDynamic => self.pick(one)?,
            Op::VectorInsertDynamic => self.put(one)?,
            Op::Select => self.select(one)?,
            Op::Bitcast => self.bitcast(one)?,
            Op::Dot => self.dot(one)?,
            Op::VectorTimesScalar | Op::MatrixTimesScalar => {
                let (vector, by) = (self.operand(one, 0)?, self.number(one, 1)?);
                let products = vector.into_iter().map(|value| {
                    let kind = self.program.kind(value);
                    self.make(kind, Operation::Binary(Binary::Multiply, value, by))
                });
                products.collect::<Result<_, _>>()?
            }
            Op::MatrixTimesVector | Op::VectorTimesMatrix | Op::MatrixTimesMatrix => self.product(one)?,
            Op::OuterProduct => self.outer_product(one)?,
            Op::Transpose => self.transpose(one)?,
            Op::SMod | Op::FMod | Op::FRem => self.modulo(one)?,
            Op::FOrdNotEqual | Op::FUnordEqual => self.ordered(one)?,
            Op::BitFieldInsert => self.insert_field(one)?,
            Op::BitFieldSExtract => self.extract_field(one, true)?,
            Op::BitFieldUExtract => self.extract_field(one, false)?,
            Op::IAddCarry | Op::ISubBorrow | Op::UMulExtended | Op::SMulExtended => {
                self.extended_arithmetic(one)?
            }
            Op::Any | Op::All => {
                let operation = if one.class.opcode == Op::Any { Binary::Or } else { Binary::And };
                let all = self.operand(one, 0)?;
                vec![self.reduce(one, all, operation)?]
            }
            Op::IsNan => {
                let values = self.operand(one, 0)?;
                let test = |value| self.compare(Comparison::Unequal, value, value);
                values.into_iter().map(test).collect::<Result<_, _>>()?
            }
            Op::IsInf => {
                let values = self.operand(one, 0)?;
                let test = |value| {
                    let infinity = self.real(self.program.kind(value), f64::INFINITY)?;
                    let magnitude = self.unary(Unary::Absolute, value)?;
                    self.compare(Comparison::Equal, magnitude, infinity)
                };
                values.into_iter().map(test).collect::<Result<_, _>>()?
            }
            Op::ExtInst => self.extended(one)?,
            Op::AtomicStore => return self.atomic_store(one),
            opcode if is_atomic(opcode) => self.atomic(one)?,
            Op::DPdx => self.derivative(one, &[0])?,
            Op::DPdy => self.derivative(one, &[1])?,
            Op::Fwidth => self.derivative(one, &[0, 1])?,
            Op::ControlBarrier => {
                let name = "OpControlBarrier, for which the threads of a group have to run at once,";
                return Err(Error::Opcode { name: name.to_owned() });
            }
            // Accesses of a lane to a surface stay in their order.
            Op::MemoryBarrier => return Ok(()),
            opcode => match componentwise(opcode) {
                Some(operation) => self.componentwise(one, &operation)?,
                None => return Err(unsupported(one)),
            },
        };
        let kinds = self.numbers(one.result_type.unwrap_or_default())?;
        if !self.has_kinds(&data, &kinds) {
            return Err(malformed(one, "its result does not have its type"));
        }
        self.data.insert(one.result_id.unwrap_or_default(), data);
        Ok(())
    }

    /// Combines all numbers with an operation.
    pub(in crate::translate) fn reduce(
        &mut self,
        one: &dr::Instruction,
        data: Data,
        operation: Binary,
    ) -> Result<Value, Error> {
        let mut values = data.into_iter();
        let mut all = values.next().ok_or_else(|| malformed(one, "an operand has no components"))?;
        for value in values {
            let kind = self.program.kind(value);
            all = self.make(kind, Operation::Binary(operation, all, value))?;
        }
        Ok(all)
    }

    /// Returns the rest of a division: with the sign of the second operand, but of the first one for `OpFRem`.
    fn modulo(&mut self, one: &dr::Instruction) -> Result<Data, Error> {
        let kind = self.kind(one)?;
        let (a, b) = (self.operand(one, 0)?, self.operand(one, 1)?);
        let rounding = if one.class.opcode == Op::FRem { Unary::Truncate } else { Unary::Floor };
        let pairs = a.into_iter().zip(b);
        pairs
            .map(|(a, b)| match kind {
                Scalar::Float { .. } => self.float_modulo(rounding, a, b),
                Scalar::Integer { .. } | Scalar::Bool => self.integer_modulo(a, b),
            })
            .collect()
    }

    /// Returns the remainder of a division of floats, with the quotient rounded by `rounding`.
    fn float_modulo(&mut self, rounding: Unary, a: Value, b: Value) -> Result<Value, Error> {
        let quotient = self.binary(Binary::Divide { signed: false }, a, b)?;
        let rounded = self.unary(rounding, quotient)?;
        let product = self.binary(Binary::Multiply, b, rounded)?;
        self.binary(Binary::Subtract, a, product)
    }

    /// Returns the rest of a division of integers, with the sign of the second one.
    fn integer_modulo(&mut self, a: Value, b: Value) -> Result<Value, Error> {
        let kind = self.program.kind(a);
        let rest = self.binary(Binary::Remainder { signed: true }, a, b)?;
        let zero = self.integer(kind, 0)?;
        let differ = self.binary(Binary::Xor, rest, b)?;
        let differ = self.compare(Comparison::Less { signed: true }, differ, zero)?;
        let is_rest = self.compare(Comparison::Unequal, rest, zero)?;
        let moved = self.binary(Binary::And, differ, is_rest)?;
        let sum = self.binary(Binary::Add, rest, b)?;
        self.choose(moved, sum, rest)
    }

    /// Translates the comparisons whose results for NaN differ from those of the hardware.
    fn ordered(&mut self, one: &dr::Instruction) -> Result<Data, Error> {
        let (a, b) = (self.operand(one, 0)?, self.operand(one, 1)?);
        let mut data = Data::new();
        for (a, b) in a.into_iter().zip(b) {
            let less = self.compare(Comparison::Less { signed: false }, a, b)?;
            let greater = self.compare(Comparison::Less { signed: false }, b, a)?;
            let differ = self.binary(Binary::Or, less, greater)?;
            data.push(if one.class.opcode == Op::FUnordEqual {
                self.unary(Unary::Not, differ)?
            } else {
                differ
            });
        }
        Ok(data)
    }

    /// Translates a derivative in one direction, or the sum of the magnitudes in both directions.
    fn derivative(&mut self, one: &dr::Instruction, ways: &[u8]) -> Result<Data, Error> {
        if self.stage == Stage::Compute {
            return Err(Error::Opcode { name: format!("Op{:?} in a compute shader", one.class.opcode) });
        }
        let kind = self.kind(one)?;
        let mut data = Data::new();
        for value in self.operand(one, 0)? {
            let differences = ways.iter().map(|way| self.make(kind, Operation::Derivative(*way, value)));
            data.push(match *differences.collect::<Result<Vec<_>, _>>()? {
                [x, y] => {
                    let (x, y) = (self.unary(Unary::Absolute, x)?, self.unary(Unary::Absolute, y)?);
                    self.binary(Binary::Add, x, y)?
                }
                [difference, ..] => difference,
                [] => value,
            });
        }
        Ok(data)
    }
}

/// Returns a type of integers with a sign; other types are as they are.
pub(in crate::translate) fn signed(kind: Scalar) -> Scalar {
    match kind {
        Scalar::Integer { bits, .. } => Scalar::Integer { bits, signed: true },
        Scalar::Bool | Scalar::Float { .. } => kind,
    }
}

/// Returns the bits of the nearest half float to a number that is zero, infinite, or within the range of normal half floats.
fn half(number: f64) -> u64 {
    let sign = u64::from(number.is_sign_negative()) << 15;
    if number == 0.0 || number.is_infinite() {
        return sign | if number == 0.0 { 0 } else { 0x7c00 };
    }
    let bits = number.to_bits();
    let exponent = (bits >> 52 & 0x7ff).saturating_sub(1023 - 15);
    let fraction = bits & ((1 << 52) - 1);
    // To the nearest even one. A fraction that overflows adds 1 to the exponent.
    sign | ((exponent << 10) + ((fraction + (1 << 41) - 1 + (fraction >> 42 & 1)) >> 42))
}

#[cfg(test)]
mod tests {
    use super::half;

    #[test]
    fn constants_become_the_nearest_half_floats() {
        // The codes are those of IEEE 754: 5 bits of exponent with bias 15, and 10 bits of fraction.
        for (number, code) in [
            (0.0, 0),
            (-0.0, 0x8000),
            (1.0, 0x3c00),
            (-1.0, 0xbc00),
            (3.0, 0x4200),
            (f64::INFINITY, 0x7c00),
            (1.0 / 3.0, 0x3555),
            (65504.0, 0x7bff),
            (1.0 + 1.0 / 2048.0, 0x3c00),
            (1.0 + 3.0 / 2048.0, 0x3c02),
            (2.0 - 1.0 / 4096.0, 0x4000),
            (std::f64::consts::PI, 0x4248),
        ] {
            assert_eq!(half(number), code, "{number}");
        }
    }
}

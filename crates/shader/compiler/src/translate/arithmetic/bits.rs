//! Bit fields, arithmetic with results of two words, and bit casts.

use rspirv::dr;
use rspirv::spirv::Op;

use crate::Error;
use crate::ir::{Binary, Comparison, Conversion, Operation, Scalar, Unary, Value};
use crate::spirv::types::{malformed, unsupported};
use crate::translate::Translator;
use crate::translate::values::data::Data;

impl Translator<'_> {
    /// Returns a mask of the lowest `count` bits.
    fn field(&mut self, kind: Scalar, count: Value) -> Result<Value, Error> {
        let (one, all) = (self.integer(kind, 1)?, self.integer(kind, u64::MAX)?);
        let above = self.binary(Binary::ShiftLeft, one, count)?;
        let below = self.binary(Binary::Subtract, above, one)?;
        // The hardware takes the lowest bits of a shift's count, so that a shift by the width does nothing.
        let width = self.integer(kind, u64::from(kind.bits()))?;
        let is_all = self.compare(Comparison::LessOrEqual { signed: false }, width, count)?;
        self.choose(is_all, all, below)
    }

    /// Returns the offset and the number of bits of a field, in the type of the number that has it.
    fn field_operands(
        &mut self,
        one: &dr::Instruction,
        first: usize,
        kind: Scalar,
    ) -> Result<[Value; 2], Error> {
        if !matches!(kind, Scalar::Integer { bits: 32 | 64, .. }) {
            return Err(unsupported(one));
        }
        let (offset, count) = (self.number(one, first)?, self.number(one, first + 1)?);
        Ok([self.convert_to(kind, offset)?, self.convert_to(kind, count)?])
    }

    /// Translates the replacement of a field.
    pub(in crate::translate) fn insert_field(&mut self, one: &dr::Instruction) -> Result<Data, Error> {
        let kind = self.kind(one)?;
        let (base, insert) = (self.operand(one, 0)?, self.operand(one, 1)?);
        let [offset, count] = self.field_operands(one, 2, kind)?;
        let field = self.field(kind, count)?;
        let field = self.binary(Binary::ShiftLeft, field, offset)?;
        let rest = self.unary(Unary::Not, field)?;
        let mut data = Data::new();
        for (base, insert) in base.into_iter().zip(insert) {
            let kept = self.binary(Binary::And, base, rest)?;
            let moved = self.binary(Binary::ShiftLeft, insert, offset)?;
            let moved = self.binary(Binary::And, moved, field)?;
            data.push(self.binary(Binary::Or, kept, moved)?);
        }
        Ok(data)
    }

    /// Translates the extraction of a field, whose highest bit may be its sign.
    pub(in crate::translate) fn extract_field(
        &mut self,
        one: &dr::Instruction,
        signed: bool,
    ) -> Result<Data, Error> {
        let kind = self.kind(one)?;
        let base = self.operand(one, 0)?;
        let [offset, count] = self.field_operands(one, 1, kind)?;
        let field = self.field(kind, count)?;
        let one = self.integer(kind, 1)?;
        let mut data = Data::new();
        for base in base {
            let moved = self.binary(Binary::ShiftRight { signed: false }, base, offset)?;
            let mut value = self.binary(Binary::And, moved, field)?;
            if signed {
                // The value of a field without bits is 0, and stays 0 with any sign bit.
                let highest = self.binary(Binary::Subtract, count, one)?;
                let sign = self.binary(Binary::ShiftLeft, one, highest)?;
                let flipped = self.binary(Binary::Xor, value, sign)?;
                value = self.binary(Binary::Subtract, flipped, sign)?;
            }
            data.push(value);
        }
        Ok(data)
    }

    /// Translates sums, differences and products whose results are structs of two words.
    pub(in crate::translate) fn extended_arithmetic(&mut self, one: &dr::Instruction) -> Result<Data, Error> {
        let (a, b) = (self.operand(one, 0)?, self.operand(one, 1)?);
        if a.len() != b.len() {
            return Err(malformed(one, "its operands have different numbers of components"));
        }
        let (mut low, mut high) = (Data::new(), Data::new());
        for (a, b) in a.into_iter().zip(b) {
            let kind = self.program.kind(a);
            if !matches!(kind, Scalar::Integer { bits: 32, .. }) {
                return Err(unsupported(one));
            }
            let operation = match one.class.opcode {
                Op::IAddCarry => Binary::Add,
                Op::ISubBorrow => Binary::Subtract,
                _ => Binary::Multiply,
            };
            let value = self.binary(operation, a, b)?;
            low.push(value);
            high.push(if operation == Binary::Multiply {
                self.binary(Binary::MultiplyHigh { signed: one.class.opcode == Op::SMulExtended }, a, b)?
            } else {
                let (first, second) = if operation == Binary::Add { (value, a) } else { (a, b) };
                let carries = self.compare(Comparison::Less { signed: false }, first, second)?;
                let (yes, no) = (self.integer(kind, 1)?, self.integer(kind, 0)?);
                self.choose(carries, yes, no)?
            });
        }
        low.extend(high);
        Ok(low)
    }

    /// Translates a bit cast.
    pub(in crate::translate) fn bitcast(&mut self, one: &dr::Instruction) -> Result<Data, Error> {
        let kind = self.kind(one)?;
        let data = self.operand(one, 0)?;
        self.recast(one, kind, data)
    }

    /// Returns the bits of numbers as numbers of a type, which may have another size. The lowest bits are those of the first number.
    pub(in crate::translate) fn recast(
        &mut self,
        one: &dr::Instruction,
        kind: Scalar,
        data: Data,
    ) -> Result<Data, Error> {
        let Some(first) = data.first() else { return Err(malformed(one, "its operand has no components")) };
        let from = self.program.kind(*first);
        if from == Scalar::Bool || kind == Scalar::Bool {
            return Err(malformed(one, "a boolean has no bits"));
        }
        let (narrow, wide) = (from.bits().min(kind.bits()), from.bits().max(kind.bits()));
        let [narrow_uint, wide_uint] = [narrow, wide].map(|bits| Scalar::Integer { bits, signed: false });
        let mut found = Data::new();
        if from.bits() == kind.bits() {
            for value in data {
                found.push(self.retyped(kind, value)?);
            }
        } else if from.bits() == wide {
            for value in data {
                let whole = self.retyped(wide_uint, value)?;
                for shift in (0..wide).step_by(usize::from(narrow)) {
                    let shift = self.integer(wide_uint, u64::from(shift))?;
                    let moved = self.binary(Binary::ShiftRight { signed: false }, whole, shift)?;
                    let part = Operation::Convert(Conversion::Unsigned, wide_uint, moved);
                    let part = self.make(narrow_uint, part)?;
                    found.push(self.retyped(kind, part)?);
                }
            }
        } else {
            let count = usize::from(wide / narrow);
            if !data.len().is_multiple_of(count) {
                return Err(malformed(one, "its operand has other bits than its result"));
            }
            for parts in data.chunks(count) {
                let mut whole = self.integer(wide_uint, 0)?;
                for (shift, part) in (0..wide).step_by(usize::from(narrow)).zip(parts) {
                    let part = self.retyped(narrow_uint, *part)?;
                    let part = self.convert_to(wide_uint, part)?;
                    let shift = self.integer(wide_uint, u64::from(shift))?;
                    let moved = self.binary(Binary::ShiftLeft, part, shift)?;
                    whole = self.binary(Binary::Or, whole, moved)?;
                }
                found.push(self.retyped(kind, whole)?);
            }
        }
        Ok(found)
    }
}

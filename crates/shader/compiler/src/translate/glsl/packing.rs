//! Functions of GLSL.std.450 that pack floats into words, and take them out.

use rspirv::dr;
use rspirv::spirv::GlslStd450Op as Glsl;

use crate::Error;
use crate::ir::{Binary, Conversion, Operation, Scalar, Unary, Value};
use crate::spirv::types::malformed;
use crate::translate::values::data::Data;
use crate::translate::{Translator, UINT};

/// The floats that are packed.
const SINGLE: Scalar = Scalar::Float { bits: 32 };
/// Half floats.
const HALF: Scalar = Scalar::Float { bits: 16 };
/// The integers that fields with a sign are.
const INT: Scalar = Scalar::Integer { bits: 32, signed: true };

/// Fields of a word that stand for fractions.
#[derive(Clone, Copy, Debug)]
struct Fields {
    /// Bits of a field.
    bits: u32,
    /// Fractions between -1 and 1; if not, between 0 and 1.
    signed: bool,
}

impl Fields {
    /// Returns the fields of a function; none if it packs no fractions.
    fn of(function: Glsl) -> Option<Self> {
        Some(match function {
            Glsl::PackUnorm4x8 | Glsl::UnpackUnorm4x8 => Self { bits: 8, signed: false },
            Glsl::PackSnorm4x8 | Glsl::UnpackSnorm4x8 => Self { bits: 8, signed: true },
            Glsl::PackUnorm2x16 | Glsl::UnpackUnorm2x16 => Self { bits: 16, signed: false },
            Glsl::PackSnorm2x16 | Glsl::UnpackSnorm2x16 => Self { bits: 16, signed: true },
            _ => return None,
        })
    }

    /// Returns the field of the fraction 1.
    fn most(self) -> f64 {
        f64::from((1_u32 << (self.bits - u32::from(self.signed))) - 1)
    }

    /// Returns the least fraction.
    fn least(self) -> f64 {
        if self.signed { -1.0 } else { 0.0 }
    }
}

impl Translator<'_> {
    /// Returns the result of a function that packs or unpacks; none if it is no such function.
    pub(in crate::translate) fn packing(
        &mut self,
        one: &dr::Instruction,
        function: Glsl,
        operands: &[Data],
    ) -> Result<Option<Data>, Error> {
        let [operand] = operands else { return Ok(None) };
        match function {
            Glsl::PackHalf2x16 => {
                let halves = operand
                    .iter()
                    .map(|value| self.make(HALF, Operation::Convert(Conversion::Float, SINGLE, *value)));
                let halves = halves.collect::<Result<_, _>>()?;
                return self.recast(one, UINT, halves).map(Some);
            }
            Glsl::UnpackHalf2x16 => {
                let halves = self.recast(one, HALF, operand.clone())?;
                let floats = halves
                    .into_iter()
                    .map(|value| self.make(SINGLE, Operation::Convert(Conversion::Float, HALF, value)));
                return floats.collect::<Result<_, _>>().map(Some);
            }
            Glsl::PackDouble2x32 => {
                return self.recast(one, Scalar::Float { bits: 64 }, operand.clone()).map(Some);
            }
            Glsl::UnpackDouble2x32 => return self.recast(one, UINT, operand.clone()).map(Some),
            _ => {}
        }
        let Some(fields) = Fields::of(function) else { return Ok(None) };
        match *operand.as_slice() {
            [word] => self.unpack(fields, word).map(Some),
            _ if operand.len() as u32 * fields.bits == 32 => Ok(Some(vec![self.pack(fields, operand)?])),
            _ => Err(malformed(one, "its operand has another number of components")),
        }
    }

    /// Returns the word of fractions.
    fn pack(&mut self, fields: Fields, values: &[Value]) -> Result<Value, Error> {
        let (least, unit) = (self.real(SINGLE, fields.least())?, self.real(SINGLE, 1.0)?);
        let most = self.real(SINGLE, fields.most())?;
        let mut word = self.uint(0)?;
        for (place, value) in (0..).zip(values) {
            let raised = self.binary(Binary::Maximum { signed: false }, *value, least)?;
            let fraction = self.binary(Binary::Minimum { signed: false }, raised, unit)?;
            let scaled = self.binary(Binary::Multiply, fraction, most)?;
            let rounded = self.unary(Unary::Round, scaled)?;
            let integer = self.make(INT, Operation::Convert(Conversion::Float, SINGLE, rounded))?;
            let integer = self.retyped(UINT, integer)?;
            let field = self.uint((1 << fields.bits) - 1)?;
            let field = self.binary(Binary::And, integer, field)?;
            let shift = self.uint(place * fields.bits)?;
            let moved = self.binary(Binary::ShiftLeft, field, shift)?;
            word = self.binary(Binary::Or, word, moved)?;
        }
        Ok(word)
    }

    /// Returns the fractions of a word.
    fn unpack(&mut self, fields: Fields, word: Value) -> Result<Data, Error> {
        let kind = if fields.signed { INT } else { UINT };
        let word = self.retyped(kind, word)?;
        let most = self.real(SINGLE, fields.most())?;
        let mut data = Data::new();
        for place in 0..32 / fields.bits {
            // The field becomes the highest one, and then the lowest one, with its sign.
            let (up, down) = (
                self.integer(kind, u64::from(32 - (place + 1) * fields.bits))?,
                self.integer(kind, u64::from(32 - fields.bits))?,
            );
            let high = self.binary(Binary::ShiftLeft, word, up)?;
            let field = self.binary(Binary::ShiftRight { signed: fields.signed }, high, down)?;
            let conversion = if fields.signed { Conversion::Signed } else { Conversion::Unsigned };
            let float = self.make(SINGLE, Operation::Convert(conversion, kind, field))?;
            let mut fraction = self.binary(Binary::Divide { signed: false }, float, most)?;
            if fields.signed {
                // The least field is below -1.
                let least = self.real(SINGLE, fields.least())?;
                fraction = self.binary(Binary::Maximum { signed: false }, fraction, least)?;
            }
            data.push(fraction);
        }
        Ok(data)
    }
}

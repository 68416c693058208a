//! Instructions of the set GLSL.std.450.

use std::f64::consts::{LN_2, LOG2_E, PI};

use rspirv::dr::{self, Operand};
use rspirv::spirv::GlslStd450Op as Glsl;

use crate::Error;
use crate::ir::{Binary, Comparison, Operation, Scalar, Unary, Value};
use crate::spirv::types::{Type, id, malformed};
use crate::translate::Translator;
use crate::translate::arithmetic::operations::signed;
use crate::translate::values::data::Data;

/// The name of the set.
const SET: &str = "GLSL.std.450";

impl Translator<'_> {
    /// Translates an instruction of an extended set.
    pub(in crate::translate) fn extended(&mut self, one: &dr::Instruction) -> Result<Data, Error> {
        let set = self.imported(id(one, 0)?);
        let set = set.ok_or_else(|| malformed(one, "its set is not imported"))?;
        if set != SET {
            return Err(Error::Opcode { name: format!("OpExtInst of the set {set}") });
        }
        let Some(Operand::LiteralExtInstInteger(number)) = one.operands.get(1) else {
            return Err(malformed(one, "an operand is no instruction"));
        };
        let function =
            Glsl::from_u32(*number).ok_or_else(|| malformed(one, "there is no such instruction"))?;
        let refused = || Error::Opcode { name: format!("{SET} {function:?}") };
        if let Some(data) = self.parts(one, function)? {
            return Ok(data);
        }
        if let Some(data) = self.square_matrix(one, function)? {
            return Ok(data);
        }
        let (Type::Scalar(kind) | Type::Vector { of: kind, .. }) = *self.result_type(one)? else {
            return Err(refused());
        };
        let mut operands = Vec::new();
        for place in 2..one.operands.len() {
            // Only instructions that are not supported, such as interpolations, have pointers.
            if self.pointers.contains_key(&id(one, place)?) {
                return Err(refused());
            }
            operands.push(self.operand(one, place)?);
        }
        if let Some(data) = self.packing(one, function, &operands)? {
            return Ok(data);
        }
        if let Some(data) = self.geometry(one, function, &operands)? {
            return Ok(data);
        }
        let count = operands.first().map_or(0, Vec::len);
        let mut data = Data::new();
        for component in 0..count {
            let numbers: Option<Vec<Value>> =
                operands.iter().map(|operand| operand.get(component).copied()).collect();
            let numbers =
                numbers.ok_or_else(|| malformed(one, "its operands have different numbers of components"))?;
            if let Some(found) = self.in_single(function, &numbers)? {
                data.push(found);
                continue;
            }
            let found = match *numbers {
                [a] => self.function_of_one(kind, function, a)?,
                [a, b] => self.function_of_two(function, a, b)?,
                [a, b, c] => self.function_of_three(function, a, b, c)?,
                _ => None,
            };
            data.push(found.ok_or_else(refused)?);
        }
        Ok(data)
    }

    /// Returns the name of an imported set.
    fn imported(&self, id: u32) -> Option<&str> {
        let import = self.module.ext_inst_imports.iter().find(|one| one.result_id == Some(id))?;
        match import.operands.first() {
            Some(Operand::LiteralString(name)) => Some(name),
            _ => None,
        }
    }

    /// Returns the result of a function of one number; none if it is not supported.
    fn function_of_one(&mut self, kind: Scalar, function: Glsl, a: Value) -> Result<Option<Value>, Error> {
        let own = self.program.kind(a);
        let is_supported = match function {
            Glsl::FindILsb | Glsl::FindSMsb | Glsl::FindUMsb => own.bits() == 32,
            Glsl::Exp | Glsl::Exp2 | Glsl::Log | Glsl::Log2 | Glsl::Sin | Glsl::Cos | Glsl::Tan => {
                own.bits() != 64
            }
            _ => true,
        };
        if !is_supported {
            return Ok(None);
        }
        Ok(Some(match function {
            Glsl::FAbs => self.unary(Unary::Absolute, a)?,
            Glsl::SAbs => {
                let value = self.retyped(signed(own), a)?;
                let magnitude = self.unary(Unary::Absolute, value)?;
                self.retyped(kind, magnitude)?
            }
            Glsl::SSign | Glsl::FSign => self.sign(a)?,
            Glsl::Floor => self.unary(Unary::Floor, a)?,
            Glsl::Ceil => self.unary(Unary::Ceil, a)?,
            Glsl::Trunc => self.unary(Unary::Truncate, a)?,
            Glsl::Round | Glsl::RoundEven => self.unary(Unary::Round, a)?,
            Glsl::Fract => {
                let floor = self.unary(Unary::Floor, a)?;
                self.binary(Binary::Subtract, a, floor)?
            }
            Glsl::FindILsb => self.unary(Unary::LowestBit, a)?,
            Glsl::FindUMsb => self.unary(Unary::HighestBit, a)?,
            Glsl::FindSMsb => {
                // The highest bit that differs from the sign.
                let shift = self.integer(own, 31)?;
                let signs = self.binary(Binary::ShiftRight { signed: true }, a, shift)?;
                let differ = self.binary(Binary::Xor, a, signs)?;
                self.unary(Unary::HighestBit, differ)?
            }
            Glsl::Sqrt => self.unary(Unary::Sqrt, a)?,
            Glsl::InverseSqrt => self.unary(Unary::Rsqrt, a)?,
            Glsl::Exp2 => self.unary(Unary::Exp2, a)?,
            Glsl::Log2 => self.unary(Unary::Log2, a)?,
            Glsl::Exp => {
                let exponent = self.times(a, LOG2_E)?;
                self.unary(Unary::Exp2, exponent)?
            }
            Glsl::Log => {
                let logarithm = self.unary(Unary::Log2, a)?;
                self.times(logarithm, LN_2)?
            }
            Glsl::Sin => self.unary(Unary::Sine, a)?,
            Glsl::Cos => self.unary(Unary::Cosine, a)?,
            Glsl::Tan => {
                let (sine, cosine) = (self.unary(Unary::Sine, a)?, self.unary(Unary::Cosine, a)?);
                self.binary(Binary::Divide { signed: false }, sine, cosine)?
            }
            Glsl::Radians => self.times(a, PI / 180.0)?,
            Glsl::Degrees => self.times(a, 180.0 / PI)?,
            _ => return Ok(None),
        }))
    }

    /// Returns the result of a function of two numbers; none if it is not supported.
    fn function_of_two(&mut self, function: Glsl, a: Value, b: Value) -> Result<Option<Value>, Error> {
        Ok(Some(match function {
            // If one operand is NaN, the hardware chooses the other one.
            Glsl::FMin | Glsl::NMin | Glsl::UMin => self.binary(Binary::Minimum { signed: false }, a, b)?,
            Glsl::SMin => self.binary(Binary::Minimum { signed: true }, a, b)?,
            Glsl::FMax | Glsl::NMax | Glsl::UMax => self.binary(Binary::Maximum { signed: false }, a, b)?,
            Glsl::SMax => self.binary(Binary::Maximum { signed: true }, a, b)?,
            Glsl::Step => {
                let less = self.compare(Comparison::Less { signed: false }, b, a)?;
                let kind = self.program.kind(a);
                let (zero, unit) = (self.real(kind, 0.0)?, self.real(kind, 1.0)?);
                self.choose(less, zero, unit)?
            }
            Glsl::Pow if self.program.kind(a).bits() != 64 => {
                let logarithm = self.unary(Unary::Log2, a)?;
                let exponent = self.binary(Binary::Multiply, b, logarithm)?;
                self.unary(Unary::Exp2, exponent)?
            }
            _ => return Ok(None),
        }))
    }

    /// Returns the result of a function of three numbers; none if it is not supported.
    fn function_of_three(
        &mut self,
        function: Glsl,
        a: Value,
        b: Value,
        c: Value,
    ) -> Result<Option<Value>, Error> {
        let kind = self.program.kind(a);
        Ok(Some(match function {
            Glsl::Fma => self.make(kind, Operation::Fma(a, b, c))?,
            Glsl::FClamp | Glsl::NClamp | Glsl::UClamp => self.clamp(false, a, b, c)?,
            Glsl::SClamp => self.clamp(true, a, b, c)?,
            Glsl::FMix => {
                let unit = self.real(kind, 1.0)?;
                let rest = self.binary(Binary::Subtract, unit, c)?;
                let first = self.binary(Binary::Multiply, a, rest)?;
                let second = self.binary(Binary::Multiply, b, c)?;
                self.binary(Binary::Add, first, second)?
            }
            Glsl::SmoothStep => {
                let (zero, unit) = (self.real(kind, 0.0)?, self.real(kind, 1.0)?);
                let (above, width) =
                    (self.binary(Binary::Subtract, c, a)?, self.binary(Binary::Subtract, b, a)?);
                let quotient = self.binary(Binary::Divide { signed: false }, above, width)?;
                let t = self.clamp(false, quotient, zero, unit)?;
                let twice = self.binary(Binary::Add, t, t)?;
                let three = self.real(kind, 3.0)?;
                let rest = self.binary(Binary::Subtract, three, twice)?;
                let square = self.binary(Binary::Multiply, t, t)?;
                self.binary(Binary::Multiply, square, rest)?
            }
            _ => return Ok(None),
        }))
    }

    /// Returns a number that is not below the second one, and not above the third one.
    pub(in crate::translate) fn clamp(
        &mut self,
        signed: bool,
        a: Value,
        least: Value,
        most: Value,
    ) -> Result<Value, Error> {
        let raised = self.binary(Binary::Maximum { signed }, a, least)?;
        self.binary(Binary::Minimum { signed }, raised, most)
    }

    /// Returns a float times a constant.
    pub(in crate::translate) fn times(&mut self, a: Value, factor: f64) -> Result<Value, Error> {
        let factor = self.real(self.program.kind(a), factor)?;
        self.binary(Binary::Multiply, a, factor)
    }

    /// Returns -1, 0 or 1.
    fn sign(&mut self, a: Value) -> Result<Value, Error> {
        let kind = self.program.kind(a);
        let zero = self.integer(kind, 0)?;
        let below = self.compare(Comparison::Less { signed: true }, a, zero)?;
        let above = self.compare(Comparison::Less { signed: true }, zero, a)?;
        let unit = match kind {
            Scalar::Float { .. } => self.real(kind, 1.0)?,
            Scalar::Integer { .. } | Scalar::Bool => self.integer(kind, 1)?,
        };
        let minus = self.unary(Unary::Negate, unit)?;
        let up = self.choose(above, unit, a)?;
        self.choose(below, minus, up)
    }
}

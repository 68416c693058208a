//! Functions of GLSL.std.450 on vectors as a whole.

use rspirv::dr;
use rspirv::spirv::GlslStd450Op as Glsl;

use crate::Error;
use crate::ir::{Binary, Comparison, Conversion, Operation, Unary, Value};
use crate::spirv::types::malformed;
use crate::translate::Translator;
use crate::translate::values::data::Data;

impl Translator<'_> {
    /// Returns the result of a function on vectors; none if it is no such function.
    pub(in crate::translate) fn geometry(
        &mut self,
        one: &dr::Instruction,
        function: Glsl,
        operands: &[Data],
    ) -> Result<Option<Data>, Error> {
        Ok(Some(match (function, operands) {
            (Glsl::Length, [v]) => vec![self.vector_length(one, v)?],
            (Glsl::Distance, [a, b]) => {
                let difference = self.pairs(one, Binary::Subtract, a, b)?;
                vec![self.vector_length(one, &difference)?]
            }
            (Glsl::Normalize, [v]) => {
                let square = self.inner_product(one, v, v)?;
                let inverse = self.unary(Unary::Rsqrt, square)?;
                self.scaled(v, inverse)?
            }
            (Glsl::Cross, [a, b]) => self.cross(one, a, b)?,
            (Glsl::FaceForward, [n, i, reference]) => {
                let product = self.inner_product(one, reference, i)?;
                let zero = self.real(self.program.kind(product), 0.0)?;
                let is_facing = self.compare(Comparison::Less { signed: false }, product, zero)?;
                let mut found = Data::new();
                for value in n {
                    let negated = self.unary(Unary::Negate, *value)?;
                    found.push(self.choose(is_facing, *value, negated)?);
                }
                found
            }
            (Glsl::Reflect, [i, n]) => {
                let product = self.inner_product(one, n, i)?;
                let twice = self.binary(Binary::Add, product, product)?;
                let back = self.scaled(n, twice)?;
                self.pairs(one, Binary::Subtract, i, &back)?
            }
            (Glsl::Refract, [i, n, eta]) => {
                let [eta] = *eta.as_slice() else { return Err(malformed(one, "an operand is no number")) };
                self.refract(one, i, n, eta)?
            }
            _ => return Ok(None),
        }))
    }

    /// Returns the sum of the products of two vectors' components.
    pub(in crate::translate) fn inner_product(
        &mut self,
        one: &dr::Instruction,
        a: &[Value],
        b: &[Value],
    ) -> Result<Value, Error> {
        let products = self.pairs(one, Binary::Multiply, a, b)?;
        self.reduce(one, products, Binary::Add)
    }

    /// Combines the components of two vectors.
    fn pairs(
        &mut self,
        one: &dr::Instruction,
        operation: Binary,
        a: &[Value],
        b: &[Value],
    ) -> Result<Data, Error> {
        if a.len() != b.len() {
            return Err(malformed(one, "its operands have different numbers of components"));
        }
        a.iter().zip(b).map(|(a, b)| self.binary(operation, *a, *b)).collect()
    }

    /// Returns a vector times a number.
    pub(in crate::translate) fn scaled(&mut self, vector: &[Value], by: Value) -> Result<Data, Error> {
        vector.iter().map(|value| self.binary(Binary::Multiply, *value, by)).collect()
    }

    /// Returns the length of a vector; of a number, its magnitude, which does not overflow.
    fn vector_length(&mut self, one: &dr::Instruction, vector: &[Value]) -> Result<Value, Error> {
        if let [number] = *vector {
            return self.unary(Unary::Absolute, number);
        }
        let square = self.inner_product(one, vector, vector)?;
        self.unary(Unary::Sqrt, square)
    }

    /// Returns the vector that is at right angles to two vectors.
    fn cross(&mut self, one: &dr::Instruction, a: &[Value], b: &[Value]) -> Result<Data, Error> {
        let ([ax, ay, az], [bx, by, bz]) = (a, b) else {
            return Err(malformed(one, "an operand has not 3 components"));
        };
        let parts = [(ay, bz, by, az), (az, bx, bz, ax), (ax, by, bx, ay)];
        let mut found = Data::new();
        for (a, b, c, d) in parts {
            let first = self.binary(Binary::Multiply, *a, *b)?;
            let second = self.binary(Binary::Multiply, *c, *d)?;
            found.push(self.binary(Binary::Subtract, first, second)?);
        }
        Ok(found)
    }

    /// Returns `eta * i - (eta * dot(n, i) + sqrt(k)) * n` with `k = 1 - eta * eta * (1 - dot(n, i) * dot(n, i))`; zeroes if `k` is
    /// below 0.
    fn refract(
        &mut self,
        one: &dr::Instruction,
        i: &[Value],
        n: &[Value],
        eta: Value,
    ) -> Result<Data, Error> {
        let product = self.inner_product(one, n, i)?;
        let kind = self.program.kind(product);
        let (zero, unit) = (self.real(kind, 0.0)?, self.real(kind, 1.0)?);
        let from = self.program.kind(eta);
        let eta = match from == kind {
            true => eta,
            false => self.make(kind, Operation::Convert(Conversion::Float, from, eta))?,
        };
        let square = self.binary(Binary::Multiply, product, product)?;
        let sine = self.binary(Binary::Subtract, unit, square)?;
        let scale = self.binary(Binary::Multiply, eta, eta)?;
        let scaled = self.binary(Binary::Multiply, scale, sine)?;
        let k = self.binary(Binary::Subtract, unit, scaled)?;
        let is_reflected = self.compare(Comparison::Less { signed: false }, k, zero)?;
        let root = self.unary(Unary::Sqrt, k)?;
        let along = self.binary(Binary::Multiply, eta, product)?;
        let along = self.binary(Binary::Add, along, root)?;
        let (first, second) = (self.scaled(i, eta)?, self.scaled(n, along)?);
        let difference = self.pairs(one, Binary::Subtract, &first, &second)?;
        difference.into_iter().map(|value| self.choose(is_reflected, zero, value)).collect()
    }
}

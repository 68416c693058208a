//! Operations that the execution units lack, as several others.

mod conversions;
mod division;
mod products;

use intel_eu::Platform;

use crate::Error;
use crate::ir::walk::with_parts;
use crate::ir::{Binary, Comparison, Conversion, Node, Operation, Program, Scalar, Unary, Value};
use crate::machine::rules::has_long_integers;

const UINT: Scalar = Scalar::Integer { bits: 32, signed: false };
const INT: Scalar = Scalar::Integer { bits: 32, signed: true };
const FLOAT: Scalar = Scalar::Float { bits: 32 };

/// Replaces operations that the execution units of a platform lack.
///
/// # Errors
/// [`Error::Opcode`] for one that is not supported on its type.
pub(crate) fn lower_alu(program: &mut Program, platform: Platform) -> Result<(), Error> {
    let body = std::mem::take(&mut program.body);
    let has_longs = has_long_integers(platform);
    let mut made = Made { program, has_longs, nodes: Vec::new() };
    let body = made.replace(body)?;
    program.body = body;
    Ok(())
}

/// Nodes that are being made.
struct Made<'a> {
    program: &'a mut Program,
    /// The platform has 64-bit integers.
    has_longs: bool,
    nodes: Vec<Node>,
}

impl Made<'_> {
    /// Returns nodes with replacements.
    fn replace(&mut self, body: Vec<Node>) -> Result<Vec<Node>, Error> {
        let before = std::mem::take(&mut self.nodes);
        for node in body {
            let node = if let Node::Def(value, operation) = node {
                Node::Def(value, self.operation(value, operation)?)
            } else {
                with_parts(node, |part| self.replace(part))?
            };
            self.nodes.push(node);
        }
        Ok(std::mem::replace(&mut self.nodes, before))
    }

    fn make(&mut self, kind: Scalar, operation: Operation) -> Value {
        let value = self.program.value(kind);
        self.nodes.push(Node::Def(value, operation));
        value
    }

    fn two(&mut self, kind: Scalar, binary: Binary, a: Value, b: Value) -> Value {
        self.make(kind, Operation::Binary(binary, a, b))
    }

    fn constant(&mut self, kind: Scalar, bits: u64) -> Value {
        self.make(kind, Operation::Constant(bits))
    }

    fn convert(&mut self, to: Scalar, conversion: Conversion, a: Value) -> Value {
        let from = self.program.kind(a);
        self.make(to, Operation::Convert(conversion, from, a))
    }

    /// Returns the last operation of a replacement, or the operation itself.
    fn operation(&mut self, value: Value, operation: Operation) -> Result<Operation, Error> {
        let kind = self.program.kind(value);
        let is_half = kind == Scalar::Float { bits: 16 };
        Ok(match (operation, kind) {
            (Operation::Fma(a, b, c), _) => {
                let product = self.two(kind, Binary::Multiply, a, b);
                Operation::Binary(Binary::Add, product, c)
            }
            (Operation::Binary(Binary::Divide { .. }, a, b), _) if is_half => {
                let [a, b] = [a, b].map(|value| self.convert(FLOAT, Conversion::Float, value));
                let quotient = self.two(FLOAT, Binary::Divide { signed: false }, a, b);
                Operation::Convert(Conversion::Float, FLOAT, quotient)
            }
            (Operation::Unary(unary, a), _) if is_half && is_function(unary) => {
                let a = self.convert(FLOAT, Conversion::Float, a);
                let result = self.make(FLOAT, Operation::Unary(unary, a));
                Operation::Convert(Conversion::Float, FLOAT, result)
            }
            (
                Operation::Binary(binary @ (Binary::Divide { signed } | Binary::Remainder { signed }), a, b),
                Scalar::Integer { bits: 8 | 16, .. },
            ) => {
                let conversion = if signed { Conversion::Signed } else { Conversion::Unsigned };
                let wide = if signed { INT } else { UINT };
                let [a, b] = [a, b].map(|value| self.convert(wide, conversion, value));
                let result = self.two(wide, binary, a, b);
                Operation::Convert(conversion, wide, result)
            }
            (Operation::Binary(Binary::Divide { signed }, a, b), Scalar::Integer { bits: 64, .. }) => {
                self.long_division(kind, signed, false, [a, b])
            }
            (Operation::Binary(Binary::Remainder { signed }, a, b), Scalar::Integer { bits: 64, .. }) => {
                self.long_division(kind, signed, true, [a, b])
            }
            (Operation::Binary(Binary::MultiplyHigh { signed }, a, b), Scalar::Integer { bits: 32, .. }) => {
                self.high_product(signed, a, b)
            }
            (Operation::Binary(Binary::Multiply, a, b), Scalar::Integer { bits: 64, .. }) => {
                self.long_product(kind, a, b)
            }
            (Operation::Unary(Unary::Absolute, a), Scalar::Integer { bits: 64, .. }) => {
                let zero = self.constant(kind, 0);
                let is_negative = Operation::Compare(Comparison::Less { signed: true }, kind, a, zero);
                let is_negative = self.make(Scalar::Bool, is_negative);
                let negated = self.make(kind, Operation::Unary(Unary::Negate, a));
                Operation::Select(is_negative, negated, a)
            }
            (Operation::Convert(conversion, from, a), _) if !self.has_longs => {
                self.conversion(conversion, [from, kind], a).unwrap_or(operation)
            }
            (Operation::Size(_), _) => {
                return Err(Error::Opcode { name: "the size of a surface".to_owned() });
            }
            (operation, _) => operation,
        })
    }
}

/// Returns whether an operation is a function that only floats of 32 bits have.
fn is_function(unary: Unary) -> bool {
    matches!(unary, Unary::Sqrt | Unary::Rsqrt | Unary::Exp2 | Unary::Log2 | Unary::Sine | Unary::Cosine)
}

//! Constant folding, and algebraic identities: operations on integers of which one operand or both are constants.

use std::collections::HashMap;
use std::convert::Infallible;

use crate::ir::walk::{with_parts, with_uses};
use crate::ir::{Binary, Node, Operation, Program, Scalar, Value};

/// Replaces operations by simpler ones that make the same value.
pub(crate) fn opt_algebraic(program: &mut Program) {
    let body = std::mem::take(&mut program.body);
    let mut pass = Pass { program, same: HashMap::new(), constants: HashMap::new() };
    program.body = pass.nodes(body);
}

struct Pass<'a> {
    program: &'a mut Program,
    /// Values that are the same as others; those are not in the map themselves.
    same: HashMap<Value, Value>,
    constants: HashMap<Value, u64>,
}

impl Pass<'_> {
    fn nodes(&mut self, nodes: Vec<Node>) -> Vec<Node> {
        let mut found = Vec::new();
        for node in nodes {
            let node = with_uses(node, |value| self.same.get(&value).copied().unwrap_or(value));
            if let Node::Def(value, operation) = node {
                self.make(value, operation, &mut found);
            } else {
                let Ok(node) = with_parts(node, |part| Ok::<_, Infallible>(self.nodes(part)));
                found.push(node);
            }
        }
        found
    }

    /// Adds what makes a value: the operation or a simpler one, with the constant that it needs; nothing if another value is the same.
    fn make(&mut self, value: Value, operation: Operation, nodes: &mut Vec<Node>) {
        let kind = self.program.kind(value);
        let operation = match simplify(kind, &operation, |value| self.constants.get(&value).copied()) {
            None => operation,
            Some(Simple::Constant(bits)) => Operation::Constant(bits),
            Some(Simple::Same(other)) => {
                self.same.insert(value, other);
                return;
            }
            Some(Simple::With(binary, a, bits)) => {
                let constant = self.program.value(kind);
                self.constants.insert(constant, bits);
                nodes.push(Node::Def(constant, Operation::Constant(bits)));
                Operation::Binary(binary, a, constant)
            }
        };
        if let Operation::Constant(bits) = operation {
            self.constants.insert(value, bits);
        }
        nodes.push(Node::Def(value, operation));
    }
}

/// A simpler form of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Simple {
    /// Another value.
    Same(Value),
    /// A constant.
    Constant(u64),
    /// An operation on a value and a constant.
    With(Binary, Value, u64),
}

/// Returns what an operation comes to, if that is simpler. `constant` returns the bits of a constant.
fn simplify(kind: Scalar, operation: &Operation, constant: impl Fn(Value) -> Option<u64>) -> Option<Simple> {
    let (Operation::Binary(binary, a, b), Scalar::Integer { bits, .. }) = (*operation, kind) else {
        return None;
    };
    match (constant(a), constant(b)) {
        (Some(a), Some(b)) => both(binary, a, b).map(|bits| Simple::Constant(kind.masked(bits))),
        (None, Some(constant)) => one(binary, a, constant, bits),
        (Some(constant), None) if commutes(binary) => {
            // A constant can only be the second operand of an instruction.
            one(binary, b, constant, bits).or(Some(Simple::With(binary, b, constant)))
        }
        _ => None,
    }
}

/// Returns whether the operands may change places.
fn commutes(binary: Binary) -> bool {
    matches!(binary, Binary::Add | Binary::Multiply | Binary::And | Binary::Or | Binary::Xor)
}

/// Returns the result of an operation on constants, which may have bits above those of its type.
fn both(binary: Binary, a: u64, b: u64) -> Option<u64> {
    Some(match binary {
        Binary::Add => a.wrapping_add(b),
        Binary::Subtract => a.wrapping_sub(b),
        Binary::Multiply => a.wrapping_mul(b),
        Binary::And => a & b,
        Binary::Or => a | b,
        Binary::Xor => a ^ b,
        Binary::MultiplyHigh { .. }
        | Binary::Divide { .. }
        | Binary::Remainder { .. }
        | Binary::Minimum { .. }
        | Binary::Maximum { .. }
        | Binary::ShiftLeft
        | Binary::ShiftRight { .. } => return None,
    })
}

/// Returns what an operation on a value and a constant comes to.
fn one(binary: Binary, a: Value, constant: u64, bits: u8) -> Option<Simple> {
    let signed = false;
    match (binary, constant) {
        (Binary::Add | Binary::Subtract | Binary::Or | Binary::Xor, 0)
        | (Binary::ShiftLeft | Binary::ShiftRight { .. }, 0)
        | (Binary::Multiply | Binary::Divide { .. }, 1) => Some(Simple::Same(a)),
        (Binary::Multiply | Binary::And, 0) | (Binary::Remainder { signed: false }, 1) => {
            Some(Simple::Constant(0))
        }
        // The shifts of small types have counts of their own types.
        _ if bits < 32 || !constant.is_power_of_two() => None,
        (Binary::Multiply, _) => Some(Simple::With(Binary::ShiftLeft, a, constant.trailing_zeros().into())),
        (Binary::Divide { signed: false }, _) => {
            Some(Simple::With(Binary::ShiftRight { signed }, a, constant.trailing_zeros().into()))
        }
        (Binary::Remainder { signed: false }, _) => Some(Simple::With(Binary::And, a, constant - 1)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const UINT: Scalar = Scalar::Integer { bits: 32, signed: false };
    const A: Value = Value(0);
    const B: Value = Value(1);

    /// Returns what an operation on two values comes to, of which some are constants.
    fn of(binary: Binary, a: Option<u64>, b: Option<u64>) -> Option<Simple> {
        simplify(UINT, &Operation::Binary(binary, A, B), |value| if value == A { a } else { b })
    }

    #[test]
    fn constants_are_folded_within_their_type() {
        assert_eq!(of(Binary::Add, Some(0xffff_ffff), Some(2)), Some(Simple::Constant(1)));
        assert_eq!(of(Binary::Subtract, Some(1), Some(2)), Some(Simple::Constant(0xffff_ffff)));
        assert_eq!(of(Binary::Divide { signed: false }, Some(1), Some(0)), None);
    }

    #[test]
    fn powers_of_two_are_shifted() {
        let signed = false;
        assert_eq!(of(Binary::Multiply, None, Some(8)), Some(Simple::With(Binary::ShiftLeft, A, 3)));
        let shift = Binary::ShiftRight { signed };
        assert_eq!(of(Binary::Divide { signed }, None, Some(16)), Some(Simple::With(shift, A, 4)));
        assert_eq!(of(Binary::Remainder { signed }, None, Some(16)), Some(Simple::With(Binary::And, A, 15)));
        for binary in [Binary::Divide { signed: true }, Binary::Remainder { signed: true }] {
            assert_eq!(of(binary, None, Some(16)), None, "a negative number is rounded the other way");
        }
        assert_eq!(of(Binary::Multiply, None, Some(12)), None);
    }

    #[test]
    fn neutral_operands_are_left_out_and_constants_come_second() {
        assert_eq!(of(Binary::Add, None, Some(0)), Some(Simple::Same(A)));
        assert_eq!(of(Binary::Or, Some(0), None), Some(Simple::Same(B)));
        assert_eq!(of(Binary::And, None, Some(0)), Some(Simple::Constant(0)));
        assert_eq!(of(Binary::Add, Some(5), None), Some(Simple::With(Binary::Add, B, 5)));
        assert_eq!(of(Binary::Subtract, Some(0), None), None);
    }
}

//! Type checks of operations: a module may be malformed, and later passes rely on the types.

use crate::ir::{Binary, Comparison, Conversion, Node, Operation, Program, Scalar, Unary, Value};

/// Returns whether two types are the same, apart from the sign: operations say whether they are signed.
pub(in crate::translate) fn is_same(a: Scalar, b: Scalar) -> bool {
    match (a, b) {
        (Scalar::Integer { bits: a, .. }, Scalar::Integer { bits: b, .. }) => a == b,
        _ => a == b,
    }
}

/// Returns whether the operands of an operation, whose result has the type `kind`, have the types that it requires.
pub(in crate::translate) fn has_types(program: &Program, kind: Scalar, operation: &Operation) -> bool {
    let is = |value: Value, of: Scalar| is_same(program.kind(value), of);
    if let Operation::Unary(unary, a) = *operation {
        return is(a, kind) && has_unary(kind, unary);
    }
    if let Operation::Binary(binary, a, b) = *operation {
        return is(a, kind) && is(b, kind) && has_binary(kind, binary);
    }
    if let Operation::Fma(a, b, c) = *operation {
        return matches!(kind, Scalar::Float { .. }) && [a, b, c].into_iter().all(|value| is(value, kind));
    }
    if let Operation::Compare(comparison, of, a, b) = *operation {
        let has_order = of != Scalar::Bool || matches!(comparison, Comparison::Equal | Comparison::Unequal);
        return kind == Scalar::Bool && is(a, of) && is(b, of) && has_order;
    }
    if let Operation::Select(condition, a, b) = *operation {
        return is(condition, Scalar::Bool) && is(a, kind) && is(b, kind);
    }
    if let Operation::Convert(conversion, from, a) = *operation {
        return is(a, from) && has_conversion(conversion, from, kind);
    }
    if let Operation::Atomic(_, _, _, value) = *operation {
        return matches!(kind, Scalar::Integer { bits: 32, .. }) && is(value, kind);
    }
    if let Operation::Derivative(_, a) = *operation {
        return matches!(kind, Scalar::Float { .. }) && is(a, kind);
    }
    true
}

/// Returns whether the numbers of a node have the types that it requires.
pub(in crate::translate) fn is_sound(program: &Program, node: &Node) -> bool {
    let is = |value: Value, of: Scalar| is_same(program.kind(value), of);
    if let Node::StoreVar(variable, value) = *node {
        let kind = program.variables.get(variable.0 as usize);
        return kind.is_some_and(|kind| is(value, *kind));
    }
    if let Node::If(condition, ..) = *node {
        return is(condition, Scalar::Bool);
    }
    true
}

/// Returns whether a type has an operation on one number.
fn has_unary(kind: Scalar, unary: Unary) -> bool {
    match kind {
        Scalar::Bool => unary == Unary::Not,
        Scalar::Integer { .. } => matches!(
            unary,
            Unary::Negate
                | Unary::Not
                | Unary::Absolute
                | Unary::BitCount
                | Unary::LowestBit
                | Unary::HighestBit
                | Unary::BitReverse
        ),
        Scalar::Float { .. } => !matches!(
            unary,
            Unary::Not | Unary::BitCount | Unary::LowestBit | Unary::HighestBit | Unary::BitReverse
        ),
    }
}

/// Returns whether a type has an operation on two numbers.
fn has_binary(kind: Scalar, binary: Binary) -> bool {
    match kind {
        Scalar::Bool => matches!(binary, Binary::And | Binary::Or | Binary::Xor),
        Scalar::Integer { .. } => true,
        Scalar::Float { .. } => matches!(
            binary,
            Binary::Add
                | Binary::Subtract
                | Binary::Multiply
                | Binary::Divide { .. }
                | Binary::Minimum { .. }
                | Binary::Maximum { .. }
        ),
    }
}

/// Returns whether there is a conversion between two types.
fn has_conversion(conversion: Conversion, from: Scalar, to: Scalar) -> bool {
    let is_integer = |kind| matches!(kind, Scalar::Integer { .. });
    let is_float = |kind| matches!(kind, Scalar::Float { .. });
    match conversion {
        Conversion::Signed | Conversion::Unsigned => is_integer(from) && to != Scalar::Bool,
        Conversion::Float => is_float(from) && to != Scalar::Bool,
        Conversion::FloatToUnsigned => is_float(from) && is_integer(to),
        Conversion::Bitcast => from.bits() == to.bits() && from != Scalar::Bool && to != Scalar::Bool,
    }
}

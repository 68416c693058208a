//! Walks over programs: the numbers that operations depend on, and the parts of nodes.

use crate::ir::{Atomic, Node, Operation, Value};

/// Returns an operation with other operands.
pub(crate) fn with_operands(operation: Operation, mut of: impl FnMut(Value) -> Value) -> Operation {
    match operation {
        Operation::Constant(_)
        | Operation::Input(_)
        | Operation::LoadVar(_)
        | Operation::Size(_)
        | Operation::QuadAny(_) => operation,
        Operation::Unary(unary, a) => Operation::Unary(unary, of(a)),
        Operation::Convert(conversion, kind, a) => Operation::Convert(conversion, kind, of(a)),
        Operation::Load(surface, a) => Operation::Load(surface, of(a)),
        Operation::Derivative(way, a) => Operation::Derivative(way, of(a)),
        Operation::Binary(binary, a, b) => Operation::Binary(binary, of(a), of(b)),
        Operation::Compare(comparison, kind, a, b) => Operation::Compare(comparison, kind, of(a), of(b)),
        Operation::Fma(a, b, c) => Operation::Fma(of(a), of(b), of(c)),
        Operation::Select(a, b, c) => Operation::Select(of(a), of(b), of(c)),
        Operation::Atomic(Atomic::CompareExchange(c), surface, a, b) => {
            Operation::Atomic(Atomic::CompareExchange(of(c)), surface, of(a), of(b))
        }
        Operation::Atomic(atomic, surface, a, b) => Operation::Atomic(atomic, surface, of(a), of(b)),
    }
}

/// Returns the operands of an operation.
pub(crate) fn operands(operation: &Operation) -> Vec<Value> {
    let mut found = Vec::new();
    with_operands(*operation, |value| {
        found.push(value);
        value
    });
    found
}

/// Returns the numbers that a node uses itself.
pub(crate) fn uses(node: &Node) -> Vec<Value> {
    match node {
        Node::Def(_, operation) => operands(operation),
        Node::StoreVar(_, value) | Node::If(value, ..) | Node::End(_, Some(value)) => vec![*value],
        Node::Store(_, offset, value) => vec![*offset, *value],
        Node::End(_, None) | Node::Loop(..) | Node::Block(..) | Node::Break(_) | Node::Continue(_) => {
            Vec::new()
        }
    }
}

/// Returns a node that uses other numbers itself; its parts are the same.
pub(crate) fn with_uses(node: Node, mut of: impl FnMut(Value) -> Value) -> Node {
    match node {
        Node::Def(value, operation) => Node::Def(value, with_operands(operation, of)),
        Node::StoreVar(variable, value) => Node::StoreVar(variable, of(value)),
        Node::Store(surface, offset, value) => Node::Store(surface, of(offset), of(value)),
        Node::End(end, condition) => Node::End(end, condition.map(of)),
        Node::If(condition, first, second) => Node::If(of(condition), first, second),
        Node::Loop(..) | Node::Block(..) | Node::Break(_) | Node::Continue(_) => node,
    }
}

/// Returns the parts of a node, in their order.
pub(crate) fn parts(node: &Node) -> [&[Node]; 2] {
    match node {
        Node::If(_, first, second) | Node::Loop(_, first, second) => [first, second],
        Node::Block(_, body) => [body, &[]],
        Node::Def(..)
        | Node::StoreVar(..)
        | Node::Store(..)
        | Node::End(..)
        | Node::Break(_)
        | Node::Continue(_) => [&[], &[]],
    }
}

/// Returns a node with other parts.
pub(crate) fn with_parts<E>(
    node: Node,
    mut of: impl FnMut(Vec<Node>) -> Result<Vec<Node>, E>,
) -> Result<Node, E> {
    Ok(match node {
        Node::If(condition, first, second) => Node::If(condition, of(first)?, of(second)?),
        Node::Loop(scope, first, second) => Node::Loop(scope, of(first)?, of(second)?),
        Node::Block(scope, body) => Node::Block(scope, of(body)?),
        Node::Def(..)
        | Node::StoreVar(..)
        | Node::Store(..)
        | Node::End(..)
        | Node::Break(_)
        | Node::Continue(_) => node,
    })
}

/// Calls a function for each node, and then for those of its parts.
pub(crate) fn visit(nodes: &[Node], call: &mut impl FnMut(&Node)) {
    for node in nodes {
        call(node);
        for part in parts(node) {
            visit(part, call);
        }
    }
}

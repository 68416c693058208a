//! Numbers of variables, taken from the stores before; operations that come to simpler ones, and those that nothing uses.

use std::collections::{HashMap, HashSet};
use std::convert::Infallible;

use crate::ir::walk::{uses, visit, with_operands, with_parts};
use crate::ir::{Node, Operation, Program, Value, Variable};
use crate::passes::simplify::{Simple, simplify};

/// Replaces loads of variables by the numbers that were stored, where that is one on every way, and leaves out what nothing uses.
pub(crate) fn forward(program: &mut Program) {
    let body = std::mem::take(&mut program.body);
    let mut pass = Pass { program, same: HashMap::new(), known: HashMap::new(), constants: HashMap::new() };
    let body = pass.nodes(body);
    program.body = used(body);
}

struct Pass<'a> {
    program: &'a mut Program,
    /// Values that are the same as others, which are none of these.
    same: HashMap<Value, Value>,
    /// The numbers of variables.
    known: HashMap<Variable, Value>,
    constants: HashMap<Value, u64>,
}

impl Pass<'_> {
    fn of(&self, value: Value) -> Value {
        self.same.get(&value).copied().unwrap_or(value)
    }

    /// Returns an operation, or a simpler one that makes the same value; none if another value is the same.
    fn simpler(&mut self, value: Value, operation: Operation, before: &mut Vec<Node>) -> Option<Operation> {
        let kind = self.program.kind(value);
        let simple = simplify(kind, &operation, |value| self.constants.get(&value).copied());
        Some(match simple {
            None => operation,
            Some(Simple::Constant(bits)) => Operation::Constant(bits),
            Some(Simple::Same(other)) => {
                self.same.insert(value, other);
                return None;
            }
            Some(Simple::With(binary, a, bits)) => {
                let constant = self.program.value(kind);
                self.constants.insert(constant, bits);
                before.push(Node::Make(constant, Operation::Constant(bits)));
                Operation::Binary(binary, a, constant)
            }
        })
    }

    fn forget(&mut self, nodes: &[Node]) {
        visit(nodes, &mut |node| {
            if let Node::Set(variable, _) = node {
                self.known.remove(variable);
            }
        });
    }

    fn nodes(&mut self, nodes: Vec<Node>) -> Vec<Node> {
        let mut found = Vec::new();
        for node in nodes {
            let node = self.node(node, &mut found);
            found.extend(node);
        }
        found
    }

    /// Returns a node with numbers that are known; none if it only makes one again. It may need a constant before it.
    fn node(&mut self, node: Node, before: &mut Vec<Node>) -> Option<Node> {
        Some(match node {
            Node::Make(value, Operation::Get(variable)) => {
                if let Some(known) = self.known.get(&variable) {
                    self.same.insert(value, *known);
                    return None;
                }
                // The next load finds the same number.
                self.known.insert(variable, value);
                Node::Make(value, Operation::Get(variable))
            }
            Node::Make(value, operation) => {
                let operation = with_operands(operation, |value| self.of(value));
                let operation = self.simpler(value, operation, before)?;
                if let Operation::Constant(bits) = operation {
                    self.constants.insert(value, bits);
                }
                Node::Make(value, operation)
            }
            Node::Set(variable, value) => {
                let value = self.of(value);
                self.known.insert(variable, value);
                Node::Set(variable, value)
            }
            Node::Store(surface, offset, value) => Node::Store(surface, self.of(offset), self.of(value)),
            Node::End(end, condition) => Node::End(end, condition.map(|condition| self.of(condition))),
            Node::If(condition, first, second) => {
                let (condition, before) = (self.of(condition), self.known.clone());
                let first = self.nodes(first);
                self.known.clone_from(&before);
                let second = self.nodes(second);
                self.known = before;
                self.forget(&first);
                self.forget(&second);
                Node::If(condition, first, second)
            }
            Node::Block(scope, body) => {
                let before = self.known.clone();
                let body = self.nodes(body);
                self.known = before;
                self.forget(&body);
                Node::Block(scope, body)
            }
            Node::Loop(scope, first, second) => {
                self.forget(&first);
                self.forget(&second);
                let before = self.known.clone();
                let first = self.nodes(first);
                // Lanes that continue come from other places.
                self.known.clone_from(&before);
                let second = self.nodes(second);
                self.known = before;
                Node::Loop(scope, first, second)
            }
            Node::Break(_) | Node::Continue(_) => node,
        })
    }
}

/// Returns the nodes without operations whose values nothing uses, and stores of variables that nothing loads.
fn used(mut body: Vec<Node>) -> Vec<Node> {
    loop {
        let (mut values, mut variables, mut before) = (HashSet::new(), HashSet::new(), 0);
        visit(&body, &mut |node| {
            before += 1;
            values.extend(uses(node));
            if let Node::Make(_, Operation::Get(variable) | Operation::LivesInQuad(variable)) = node {
                variables.insert(*variable);
            }
        });
        let mut after = 0;
        body = kept(body, &values, &variables);
        visit(&body, &mut |_| after += 1);
        if after == before {
            return body;
        }
    }
}

fn kept(nodes: Vec<Node>, values: &HashSet<Value>, variables: &HashSet<Variable>) -> Vec<Node> {
    let is_kept = |node: &Node| match node {
        Node::Make(_, Operation::Atomic(..)) => true,
        Node::Make(value, _) => values.contains(value),
        Node::Set(variable, _) => variables.contains(variable),
        Node::If(_, first, second) => !(first.is_empty() && second.is_empty()),
        Node::Block(_, body) => !body.is_empty(),
        Node::Loop(..) | Node::Store(..) | Node::End(..) | Node::Break(_) | Node::Continue(_) => true,
    };
    let inner = |node| with_parts(node, |part| Ok::<_, Infallible>(kept(part, values, variables)));
    let all = nodes.into_iter().map(inner).map(|Ok(node)| node);
    all.filter(is_kept).collect()
}

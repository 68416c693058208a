//! Loads of variables whose number is known: it was stored, or loaded, before on every way.

use std::collections::HashMap;

use crate::ir::walk::{visit, with_uses};
use crate::ir::{Node, Operation, Program, Value, Variable};

/// Replaces loads of variables by the numbers that were stored, where that is one on every way.
pub(crate) fn opt_forward_stores(program: &mut Program) {
    let mut pass = Pass::default();
    program.body = pass.nodes(std::mem::take(&mut program.body));
}

#[derive(Default)]
struct Pass {
    /// Loaded values, and the values that they are the same as; those are not in the map themselves.
    same: HashMap<Value, Value>,
    /// The numbers of variables.
    known: HashMap<Variable, Value>,
}

impl Pass {
    fn forget(&mut self, nodes: &[Node]) {
        visit(nodes, &mut |node| {
            if let Node::StoreVar(variable, _) = node {
                self.known.remove(variable);
            }
        });
    }

    fn nodes(&mut self, nodes: Vec<Node>) -> Vec<Node> {
        nodes.into_iter().filter_map(|node| self.node(node)).collect()
    }

    /// Returns a node with numbers that are known; none if it only loads one.
    fn node(&mut self, node: Node) -> Option<Node> {
        let node = with_uses(node, |value| self.same.get(&value).copied().unwrap_or(value));
        Some(match node {
            Node::Def(value, Operation::LoadVar(variable)) => {
                if let Some(known) = self.known.get(&variable) {
                    self.same.insert(value, *known);
                    return None;
                }
                // The next load finds the same number.
                self.known.insert(variable, value);
                node
            }
            Node::StoreVar(variable, value) => {
                self.known.insert(variable, value);
                node
            }
            Node::If(condition, first, second) => {
                let before = self.known.clone();
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
            Node::Def(..) | Node::Store(..) | Node::End(..) | Node::Break(_) | Node::Continue(_) => node,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::{Scalar, Surface};

    const UINT: Scalar = Scalar::Integer { bits: 32, signed: false };

    /// Returns the last line of a program that stores to a variable and loads it, with `between`.
    fn last(between: impl FnOnce(Variable, Value) -> Vec<Node>) -> String {
        let mut program = Program::default();
        let variable = program.variable(UINT);
        let [stored, loaded] = [(); 2].map(|()| program.value(UINT));
        program.body = vec![Node::Def(stored, Operation::Constant(7)), Node::StoreVar(variable, stored)];
        program.body.extend(between(variable, stored));
        program.body.push(Node::Def(loaded, Operation::LoadVar(variable)));
        program.body.push(Node::Store(Surface(0), stored, loaded));
        opt_forward_stores(&mut program);
        program.to_string().lines().last().unwrap_or_default().to_owned()
    }

    #[test]
    fn a_load_is_the_number_that_was_stored_on_every_way() {
        assert_eq!(last(|_, _| Vec::new()), "store.u32 surface0[%0], %0");
        let branch =
            |variable, stored| vec![Node::If(stored, vec![Node::StoreVar(variable, stored)], Vec::new())];
        assert_eq!(last(branch), "store.u32 surface0[%0], %1", "only one way stores again");
    }
}

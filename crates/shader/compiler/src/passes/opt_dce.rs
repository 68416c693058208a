//! Dead code elimination.

use std::collections::HashSet;
use std::convert::Infallible;

use crate::ir::walk::{uses, visit, with_parts};
use crate::ir::{Node, Operation, Program, Value, Variable};

/// Removes operations whose values nothing uses, stores of variables that nothing loads, and branches and blocks without nodes.
pub(crate) fn opt_dce(program: &mut Program) {
    let mut body = std::mem::take(&mut program.body);
    loop {
        let (mut values, mut variables, mut before) = (HashSet::new(), HashSet::new(), 0);
        visit(&body, &mut |node| {
            before += 1;
            values.extend(uses(node));
            if let Node::Def(_, Operation::LoadVar(variable) | Operation::QuadAny(variable)) = node {
                variables.insert(*variable);
            }
        });
        let mut after = 0;
        body = kept(body, &values, &variables);
        visit(&body, &mut |_| after += 1);
        if after == before {
            break;
        }
    }
    program.body = body;
}

fn kept(nodes: Vec<Node>, values: &HashSet<Value>, variables: &HashSet<Variable>) -> Vec<Node> {
    let is_kept = |node: &Node| match node {
        Node::Def(_, Operation::Atomic(..)) => true,
        Node::Def(value, _) => values.contains(value),
        Node::StoreVar(variable, _) => variables.contains(variable),
        Node::If(_, first, second) => !(first.is_empty() && second.is_empty()),
        Node::Block(_, body) => !body.is_empty(),
        Node::Loop(..) | Node::Store(..) | Node::End(..) | Node::Break(_) | Node::Continue(_) => true,
    };
    let inner = |node| with_parts(node, |part| Ok::<_, Infallible>(kept(part, values, variables)));
    let all = nodes.into_iter().map(inner).map(|Ok(node)| node);
    all.filter(is_kept).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::{Scalar, Surface};

    const UINT: Scalar = Scalar::Integer { bits: 32, signed: false };

    /// Returns a program that loads a number, and stores it in a variable; `stores`: and in a surface.
    fn program(stores: bool) -> Program {
        let mut program = Program::default();
        let variable = program.variable(UINT);
        let [offset, loaded] = [(); 2].map(|()| program.value(UINT));
        program.body = vec![
            Node::Def(offset, Operation::Constant(0)),
            Node::Def(loaded, Operation::Load(Surface(0), offset)),
            Node::StoreVar(variable, loaded),
            Node::If(offset, vec![Node::StoreVar(variable, offset)], Vec::new()),
        ];
        program.body.extend(stores.then_some(Node::Store(Surface(1), offset, loaded)));
        program
    }

    #[test]
    fn what_nothing_uses_is_removed_and_what_a_store_uses_stays() {
        let mut dead = program(false);
        opt_dce(&mut dead);
        assert_eq!(dead.body, []);
        let mut live = program(true);
        opt_dce(&mut live);
        assert_eq!(
            live.to_string().lines().skip(2).collect::<Vec<_>>(),
            ["%0 = const.u32 0x0", "%1 = load.u32 surface0[%0]", "store.u32 surface1[%0], %1"]
        );
    }
}

//! Hoists early returns and discards to the top of a program, so that lanes which have nothing to do read nothing.
//!
//! Both are an [`End`] of lanes, called a discard below. A discard is movable if it is in no other control flow, and its condition
//! depends on nothing that has an order: not on a variable, which may be stored before, an atomic operation or a derivative. All movable ones go to the top, with what
//! their conditions depend on, in their order. None is moved across an effect that others see: a store, an atomic operation, or another
//! discard that stays. A derivative stops those that leave the lane's neighbours without it, but not a demotion, whose lane goes on
//! for them. So a program has the same results in GLSL's and SPIR-V's semantics, where a derivative after a discard is undefined;
//! none relies on the lanes that were discarded, as in DirectX.
//!
//! Loads of surfaces move, too: before the first effect, nothing in the program orders them.

use std::collections::{HashMap, HashSet};
use std::convert::Infallible;

use crate::ir::walk::{operands, visit, with_parts};
use crate::ir::{End, Node, Operation, Program, Unary, Value};

/// Hoists the discards; returns how many it hoisted.
pub(crate) fn hoist_discard(program: &mut Program) -> usize {
    let body = std::mem::take(&mut program.body);
    let body = conditional(body, program);
    let (top, hoisted) = movable(&body);
    let (mut first, mut rest) = (Vec::new(), Vec::new());
    for (place, node) in body.into_iter().enumerate() {
        if top.contains(&place) { first.push(node) } else { rest.push(node) }
    }
    first.extend(rest);
    program.body = first;
    hoisted
}

/// Replaces an `if` that contains only an end by an end with a condition; what is in the other branch follows it.
fn conditional(nodes: Vec<Node>, program: &mut Program) -> Vec<Node> {
    let mut found = Vec::new();
    for node in nodes {
        let Ok(node) = with_parts(node, |part| Ok::<_, Infallible>(conditional(part, program)));
        match node {
            Node::If(condition, first, second) => match (first.as_slice(), second.as_slice()) {
                ([Node::End(end, None)], _) => {
                    found.push(Node::End(*end, Some(condition)));
                    found.extend(second);
                }
                (_, [Node::End(end, None)]) => {
                    let other = program.value(program.kind(condition));
                    found.push(Node::Def(other, Operation::Unary(Unary::Not, condition)));
                    found.push(Node::End(*end, Some(other)));
                    found.extend(first);
                }
                _ => found.push(Node::If(condition, first, second)),
            },
            Node::Def(..)
            | Node::StoreVar(..)
            | Node::Store(..)
            | Node::End(..)
            | Node::Loop(..)
            | Node::Block(..)
            | Node::Break(_)
            | Node::Continue(_) => found.push(node),
        }
    }
    found
}

/// Returns the places of nodes that go to the top, and the number of discards among them.
fn movable(body: &[Node]) -> (HashSet<usize>, usize) {
    let mut made: HashMap<Value, (usize, &Operation)> = HashMap::new();
    let (mut top, mut hoisted) = (HashSet::new(), 0);
    // Discards that leave neighbours without derivatives may still be moved.
    let mut may_leave = true;
    for (place, node) in body.iter().enumerate() {
        if let Node::Def(value, operation) = node {
            made.insert(*value, (place, operation));
        }
        if let Node::End(end, Some(condition)) = node
            && (*end == End::Demote || may_leave)
            && let Some(needed) = dependencies(*condition, &made)
        {
            top.extend(needed);
            top.insert(place);
            hoisted += 1;
            continue;
        }
        let mut has_effect = false;
        visit(std::slice::from_ref(node), &mut |node| match node {
            Node::Store(..) | Node::End(..) | Node::Def(_, Operation::Atomic(..)) => has_effect = true,
            Node::Def(_, Operation::Derivative(..)) => may_leave = false,
            Node::Def(..)
            | Node::StoreVar(..)
            | Node::If(..)
            | Node::Loop(..)
            | Node::Block(..)
            | Node::Break(_)
            | Node::Continue(_) => {}
        });
        if has_effect {
            break;
        }
    }
    (top, hoisted)
}

/// Returns the places of what a value depends on, itself included; none if something of that has an order.
fn dependencies(value: Value, made: &HashMap<Value, (usize, &Operation)>) -> Option<HashSet<usize>> {
    let (mut found, mut left) = (HashSet::new(), vec![value]);
    while let Some(value) = left.pop() {
        let (place, operation) = *made.get(&value)?;
        let has_order = matches!(
            operation,
            Operation::LoadVar(_) | Operation::QuadAny(_) | Operation::Atomic(..) | Operation::Derivative(..)
        );
        if has_order {
            return None;
        }
        if found.insert(place) {
            left.extend(operands(operation));
        }
    }
    Some(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::{Input, Scalar, Surface};

    const UINT: Scalar = Scalar::Integer { bits: 32, signed: false };

    /// A program that is being built.
    #[derive(Default)]
    struct Build(Program);

    impl Build {
        fn make(&mut self, kind: Scalar, operation: Operation) -> Value {
            let value = self.0.value(kind);
            self.0.body.push(Node::Def(value, operation));
            value
        }

        fn lane(&mut self) -> Value {
            self.make(UINT, Operation::Input(Input::Lane))
        }

        fn load(&mut self, offset: Value) -> Value {
            self.make(UINT, Operation::Load(Surface(0), offset))
        }

        fn end(&mut self, end: End, condition: Value) {
            self.0.body.push(Node::If(condition, vec![Node::End(end, None)], Vec::new()));
        }

        /// Returns the number of discards that are hoisted, and those in front of the first load.
        fn hoisted(mut self) -> (usize, usize) {
            let hoisted = hoist_discard(&mut self.0);
            let loads = |node: &Node| matches!(node, Node::Def(_, Operation::Load(..)));
            let before = self.0.body.iter().take_while(|node| !loads(node));
            (hoisted, before.filter(|node| matches!(node, Node::End(..))).count())
        }
    }

    #[test]
    fn all_discards_go_to_the_top_in_front_of_loads() {
        let mut build = Build::default();
        let (lane, other) = (build.lane(), build.lane());
        build.load(lane);
        build.end(End::Kill, other);
        build.end(End::Return, lane);
        assert_eq!(build.hoisted(), (2, 2));
    }

    #[test]
    fn a_discard_after_a_store_stays() {
        let mut build = Build::default();
        let lane = build.lane();
        let loaded = build.load(lane);
        build.0.body.push(Node::Store(Surface(1), lane, loaded));
        build.end(End::Kill, lane);
        assert_eq!(build.hoisted(), (0, 0));
    }

    #[test]
    fn a_discard_that_depends_on_a_variable_stays_and_stops_the_others() {
        let mut build = Build::default();
        let variable = build.0.variable(UINT);
        let lane = build.lane();
        let read = build.make(UINT, Operation::LoadVar(variable));
        build.load(lane);
        build.end(End::Return, read);
        build.end(End::Return, lane);
        assert_eq!(build.hoisted(), (0, 0));
    }

    #[test]
    fn a_derivative_stops_kills_and_no_demotion() {
        for (end, hoisted) in [(End::Kill, 0), (End::Demote, 1)] {
            let mut build = Build::default();
            let lane = build.lane();
            build.make(UINT, Operation::Derivative(0, lane));
            build.end(end, lane);
            assert_eq!(build.hoisted().0, hoisted, "{end:?}");
        }
    }

    #[test]
    fn a_discard_moves_with_the_load_that_it_depends_on() {
        let mut build = Build::default();
        let lane = build.lane();
        build.load(lane);
        let condition = build.load(lane);
        build.end(End::Return, condition);
        let hoisted = hoist_discard(&mut build.0);
        assert_eq!(hoisted, 1);
        let place = |wanted: &dyn Fn(&Node) -> bool| build.0.body.iter().position(wanted);
        let needed = place(&|node| matches!(node, Node::Def(value, _) if *value == condition));
        let end = place(&|node| matches!(node, Node::End(..)));
        let loads =
            build.0.body.iter().filter(|node| matches!(node, Node::Def(_, Operation::Load(..)))).count();
        assert!(needed < end && end < Some(build.0.body.len() - 1) && loads == 2);
    }
}

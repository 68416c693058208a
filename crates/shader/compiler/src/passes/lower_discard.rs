//! Ends of pixels: lanes that leave the program, or go on for the derivatives of their neighbours.
//!
//! In a program without derivatives, a pixel that ends leaves the program. In one with derivatives it only clears its boolean variable: its
//! stores have no effect any more, and the lanes of a quad leave the program when none of them lives. So a derivative finds the numbers
//! of all neighbours of a pixel that lives.
//!
//! A demoted pixel goes on by definition. One that is killed may not: in a loop that its numbers never end, it would go on forever,
//! which DirectX allows, and GLSL and SPIR-V do not. So OpKill is refused in a program that has derivatives and loops.

use crate::Error;
use crate::ir::walk::visit;
use crate::ir::{Binary, End, Node, Operation, Program, Scalar, Unary, Value, Variable};

/// Replaces the ends of pixels.
///
/// # Errors
/// [`Error::Opcode`] for OpKill in a program that has derivatives and loops.
pub(crate) fn lower_discard(program: &mut Program) -> Result<(), Error> {
    let mut body = std::mem::take(&mut program.body);
    let (mut has_derivatives, mut has_loops, mut has_kills, mut has_ends) = (false, false, false, false);
    visit(&body, &mut |node| match node {
        Node::Def(_, Operation::Derivative(..)) => has_derivatives = true,
        Node::Loop(..) => has_loops = true,
        Node::End(End::Kill, _) => (has_kills, has_ends) = (true, true),
        Node::End(End::Demote, _) => has_ends = true,
        Node::Def(..)
        | Node::StoreVar(..)
        | Node::Store(..)
        | Node::If(..)
        | Node::Block(..)
        | Node::End(End::Return, _)
        | Node::Break(_)
        | Node::Continue(_) => {}
    });
    if has_derivatives && has_loops && has_kills {
        let name = "OpKill in a program with derivatives and loops (demote is)".to_owned();
        return Err(Error::Opcode { name });
    }
    if !has_derivatives {
        leaving(&mut body);
    } else if has_ends {
        let variable = program.variable(Scalar::Bool);
        let mut pass = Pass { program, variable };
        let mut nodes = pass.set(true);
        nodes.extend(pass.nodes(body));
        body = nodes;
    }
    program.body = body;
    Ok(())
}

/// Lets the lanes of all ends leave the program.
fn leaving(nodes: &mut [Node]) {
    for node in nodes {
        match node {
            Node::End(end, _) => *end = End::Return,
            Node::If(_, first, second) | Node::Loop(_, first, second) => {
                leaving(first);
                leaving(second);
            }
            Node::Block(_, body) => leaving(body),
            Node::Def(..) | Node::StoreVar(..) | Node::Store(..) | Node::Break(_) | Node::Continue(_) => {}
        }
    }
}

struct Pass<'a> {
    program: &'a mut Program,
    /// True for the pixels that live.
    variable: Variable,
}

impl Pass<'_> {
    fn make(&mut self, nodes: &mut Vec<Node>, kind: Scalar, operation: Operation) -> Value {
        let value = self.program.value(kind);
        nodes.push(Node::Def(value, operation));
        value
    }

    fn set(&mut self, lives: bool) -> Vec<Node> {
        let mut nodes = Vec::new();
        let value = self.make(&mut nodes, Scalar::Bool, Operation::Constant(u64::from(lives)));
        nodes.push(Node::StoreVar(self.variable, value));
        nodes
    }

    fn nodes(&mut self, nodes: Vec<Node>) -> Vec<Node> {
        let mut found = Vec::new();
        for node in nodes {
            match node {
                Node::End(End::Kill | End::Demote, condition) => self.end(&mut found, condition),
                Node::Store(..) => {
                    let lives = self.make(&mut found, Scalar::Bool, Operation::LoadVar(self.variable));
                    found.push(Node::If(lives, vec![node], Vec::new()));
                }
                Node::Def(value, operation @ Operation::Atomic(..)) => {
                    self.atomic(&mut found, value, operation)
                }
                Node::If(condition, first, second) => {
                    let (first, second) = (self.nodes(first), self.nodes(second));
                    found.push(Node::If(condition, first, second));
                }
                Node::Loop(scope, first, second) => {
                    let (first, second) = (self.nodes(first), self.nodes(second));
                    found.push(Node::Loop(scope, first, second));
                }
                Node::Block(scope, body) => found.push(Node::Block(scope, self.nodes(body))),
                Node::Def(..)
                | Node::StoreVar(..)
                | Node::End(End::Return, _)
                | Node::Break(_)
                | Node::Continue(_) => {
                    found.push(node);
                }
            }
        }
        found
    }

    /// Ends pixels, and lets the quads leave in which none lives.
    fn end(&mut self, nodes: &mut Vec<Node>, condition: Option<Value>) {
        match condition {
            None => nodes.extend(self.set(false)),
            Some(condition) => {
                let lives = self.make(nodes, Scalar::Bool, Operation::LoadVar(self.variable));
                let goes_on = self.make(nodes, Scalar::Bool, Operation::Unary(Unary::Not, condition));
                let both = Operation::Binary(Binary::And, lives, goes_on);
                let lives = self.make(nodes, Scalar::Bool, both);
                nodes.push(Node::StoreVar(self.variable, lives));
            }
        }
        let lives = self.make(nodes, Scalar::Bool, Operation::QuadAny(self.variable));
        let dead = self.make(nodes, Scalar::Bool, Operation::Unary(Unary::Not, lives));
        nodes.push(Node::End(End::Return, Some(dead)));
    }

    /// Operates on memory for the pixels that live. The result of the others is 0.
    fn atomic(&mut self, nodes: &mut Vec<Node>, value: Value, operation: Operation) {
        let kind = self.program.kind(value);
        let result = self.program.variable(kind);
        let zero = self.make(nodes, kind, Operation::Constant(0));
        nodes.push(Node::StoreVar(result, zero));
        let lives = self.make(nodes, Scalar::Bool, Operation::LoadVar(self.variable));
        let mut then = Vec::new();
        let old = self.make(&mut then, kind, operation);
        then.push(Node::StoreVar(result, old));
        nodes.push(Node::If(lives, then, Vec::new()));
        nodes.push(Node::Def(value, Operation::LoadVar(result)));
    }
}

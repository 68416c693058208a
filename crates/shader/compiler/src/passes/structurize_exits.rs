//! Exits from nested scopes, as exits from the innermost one.
//!
//! The execution units leave only the innermost loop. A lane that leaves a scope around it notes that in a variable of that scope, leaves
//! the innermost one, and looks after it whether it has to leave the next one, too. The end of a lane is the exit from a scope around
//! the whole program. A lane that continues leaves a scope around the first part of its loop.

use crate::Error;
use crate::ir::{Node, Operation, Program, Scalar, Scope, Value, Variable};

/// Deepest nesting of scopes.
const DEEPEST: usize = 256;

/// A scope that is open.
#[derive(Clone, Copy, Debug)]
struct Opened {
    /// The place of the exits to it.
    target: Target,
    /// The loop or the block that exits from the innermost scope leave.
    scope: Scope,
    /// True for the lanes that are about to leave it, and have left a scope in it.
    leaves: Option<Variable>,
}

/// The part that an exit leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Target {
    /// A loop or a block.
    Whole(Scope),
    /// The first part of a loop.
    First(Scope),
    /// The program.
    Program,
}

/// Lets nodes leave only the innermost scope, by [`Node::Break`].
///
/// # Errors
/// [`Error::Malformed`] for scopes that are nested too deeply.
pub(crate) fn structurize_exits(program: &mut Program) -> Result<(), Error> {
    let body = std::mem::take(&mut program.body);
    let scope = program.scope();
    let mut pass = Pass { program, opened: Vec::new() };
    program.body = pass.scope(Target::Program, scope, body)?;
    Ok(())
}

struct Pass<'a> {
    program: &'a mut Program,
    opened: Vec<Opened>,
}

impl Pass<'_> {
    fn make(&mut self, nodes: &mut Vec<Node>, operation: Operation) -> Value {
        let value = self.program.value(Scalar::Bool);
        nodes.push(Node::Def(value, operation));
        value
    }

    fn set(&mut self, nodes: &mut Vec<Node>, variable: Variable, leaves: bool) {
        let value = self.make(nodes, Operation::Constant(u64::from(leaves)));
        nodes.push(Node::StoreVar(variable, value));
    }

    /// Returns the nodes of a block that can be left as `target`: what it has, what precedes it, and what is after it.
    fn scope(&mut self, target: Target, scope: Scope, body: Vec<Node>) -> Result<Vec<Node>, Error> {
        let (body, leaves) = self.within(target, scope, body)?;
        let mut nodes = Vec::new();
        if let Some(leaves) = leaves {
            self.set(&mut nodes, leaves, false);
        }
        nodes.push(Node::Block(scope, body));
        self.look_after(&mut nodes);
        Ok(nodes)
    }

    /// Returns the nodes of a part in a new scope, and the scope's variable if it has one.
    fn within(
        &mut self,
        target: Target,
        scope: Scope,
        body: Vec<Node>,
    ) -> Result<(Vec<Node>, Option<Variable>), Error> {
        if self.opened.len() == DEEPEST {
            return Err(Error::Malformed { why: format!("scopes are nested more than {DEEPEST} deep") });
        }
        self.opened.push(Opened { target, scope, leaves: None });
        let nodes = self.nodes(body)?;
        let leaves = self.opened.pop().and_then(|opened| opened.leaves);
        Ok((nodes, leaves))
    }

    /// Adds the exits, after a scope, of the lanes that leave one around it.
    fn look_after(&mut self, nodes: &mut Vec<Node>) {
        let around: Vec<_> = self.opened.iter().rev().filter_map(|opened| opened.leaves).collect();
        for leaves in around {
            let leaving = self.make(nodes, Operation::LoadVar(leaves));
            nodes.push(Node::If(leaving, self.innermost().into_iter().collect(), Vec::new()));
        }
    }

    /// Returns the exit from the innermost scope; none outside of all.
    fn innermost(&self) -> Option<Node> {
        self.opened.last().map(|opened| Node::Break(opened.scope))
    }

    /// Adds an exit.
    fn exit(&mut self, nodes: &mut Vec<Node>, target: Target) -> Result<(), Error> {
        let place = self.opened.iter().rposition(|opened| opened.target == target);
        let place = place.ok_or_else(|| Error::Malformed { why: "a branch leaves no scope".to_owned() })?;
        if place + 1 < self.opened.len() {
            let leaves = match self.opened[place].leaves {
                Some(leaves) => leaves,
                None => *self.opened[place].leaves.insert(self.program.variable(Scalar::Bool)),
            };
            self.set(nodes, leaves, true);
        }
        nodes.extend(self.innermost());
        Ok(())
    }

    fn nodes(&mut self, body: Vec<Node>) -> Result<Vec<Node>, Error> {
        let mut nodes = Vec::new();
        for node in body {
            match node {
                Node::Break(scope) => self.exit(&mut nodes, Target::Whole(scope))?,
                Node::Continue(scope) => self.exit(&mut nodes, Target::First(scope))?,
                Node::End(_, None) => self.exit(&mut nodes, Target::Program)?,
                Node::End(end, Some(condition)) => {
                    let ended = self.nodes(vec![Node::End(end, None)])?;
                    nodes.push(Node::If(condition, ended, Vec::new()));
                }
                Node::If(condition, first, second) => {
                    let (first, second) = (self.nodes(first)?, self.nodes(second)?);
                    nodes.push(Node::If(condition, first, second));
                }
                Node::Block(scope, body) => {
                    let block = self.scope(Target::Whole(scope), scope, body)?;
                    nodes.extend(block);
                }
                Node::Loop(scope, first, second) => self.repeat(&mut nodes, scope, first, second)?,
                Node::Def(..) | Node::StoreVar(..) | Node::Store(..) => nodes.push(node),
            }
        }
        Ok(nodes)
    }

    /// Adds a loop. Its first part is a block of its own, which lanes that continue leave.
    fn repeat(
        &mut self,
        nodes: &mut Vec<Node>,
        scope: Scope,
        first: Vec<Node>,
        second: Vec<Node>,
    ) -> Result<(), Error> {
        let inner = self.program.scope();
        self.opened.push(Opened { target: Target::Whole(scope), scope, leaves: None });
        let mut body = self.scope(Target::First(scope), inner, first)?;
        body.extend(self.nodes(second)?);
        let leaves = self.opened.pop().and_then(|opened| opened.leaves);
        if let Some(leaves) = leaves {
            self.set(nodes, leaves, false);
        }
        nodes.push(Node::Loop(scope, body, Vec::new()));
        self.look_after(nodes);
        Ok(())
    }
}

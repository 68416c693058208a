//! Calls of functions, which are inlined.

use rspirv::dr::{self, Operand};
use rspirv::spirv::Word;

use crate::Error;
use crate::interface::Stage;
use crate::ir::{Node, Operation, Scope};
use crate::spirv::types::{Type, id, malformed};
use crate::translate::control::flow::Frame;
use crate::translate::variables::memory::Pointer;
use crate::translate::{DEEPEST_CALL, Translator};

/// An argument of a call.
pub(in crate::translate) enum Argument {
    /// Numbers.
    Data(crate::translate::Data),
    /// A pointer.
    Pointer(Pointer),
}

impl<'a> Translator<'a> {
    /// Translates a call.
    pub(in crate::translate) fn call_from(
        &mut self,
        one: &dr::Instruction,
        calls: usize,
    ) -> Result<(), Error> {
        let function = id(one, 0)?;
        let mut arguments = Vec::new();
        for operand in one.operands.get(1..).unwrap_or_default() {
            let Operand::IdRef(argument) = operand else {
                return Err(malformed(one, "an argument is no id"));
            };
            arguments.push(match self.pointers.get(argument) {
                Some(pointer) => Argument::Pointer(pointer.clone()),
                None => Argument::Data(self.known(one, *argument)?),
            });
        }
        let data = self.call(function, &arguments, calls + 1)?;
        if let Some(result) = one.result_id {
            self.data.insert(result, data);
        }
        Ok(())
    }

    /// Inlines a function; returns the numbers of its result. An entry point, whose depth is 0, has none.
    pub(in crate::translate) fn call(
        &mut self,
        function: Word,
        arguments: &[Argument],
        depth: usize,
    ) -> Result<crate::translate::Data, Error> {
        if depth > DEEPEST_CALL {
            let why = format!("functions call each other, or more than {DEEPEST_CALL} deep");
            return Err(Error::Malformed { why });
        }
        let found: Option<&'a dr::Function> = self.functions.get(&function).copied();
        let found =
            found.ok_or_else(|| Error::Malformed { why: format!("there is no function %{function}") })?;
        self.count(found.blocks.len())?;
        let kind = found.def.as_ref().and_then(|def| def.result_type);
        self.pass(found, arguments)?;
        let start = found.blocks.first().and_then(|block| block.label.as_ref()?.result_id);
        let start =
            start.ok_or_else(|| Error::Malformed { why: format!("function %{function} has no block") })?;
        // Pixels that return write their outputs; lanes of a compute shader have nothing more to do.
        if depth == 0 && self.stage == Stage::Compute {
            self.follow(&mut Frame::new(found, None, 0)?, start)?;
            return Ok(Vec::new());
        }
        let kinds = match kind.map(|kind| (kind, self.globals.types.get(&kind))) {
            Some((_, Some(Type::Void))) | None => Vec::new(),
            Some((kind, _)) => self.numbers(kind)?,
        };
        let variables: Vec<_> = kinds.iter().map(|kind| self.program.variable(*kind)).collect();
        let scope = self.program.scope();
        let mut frame = Frame::new(found, Some((scope, variables.clone())), depth)?;
        let mut nodes = self.apart(|this| this.follow(&mut frame, start))?;
        // Only functions that are left before their end need a block.
        match breaks(&nodes, scope) {
            0 => self.nodes.append(&mut nodes),
            1 if nodes.last() == Some(&Node::Break(scope)) => {
                nodes.pop();
                self.nodes.append(&mut nodes);
            }
            _ => self.add(Node::Block(scope, nodes))?,
        }
        let gets = variables.into_iter().zip(kinds);
        gets.map(|(variable, kind)| self.make(kind, Operation::LoadVar(variable))).collect()
    }

    /// Gives arguments to the parameters of a function.
    fn pass(&mut self, function: &dr::Function, arguments: &[Argument]) -> Result<(), Error> {
        let wrong = || Error::Malformed { why: "a function is called with other parameters".to_owned() };
        if function.parameters.len() != arguments.len() {
            return Err(wrong());
        }
        for (parameter, argument) in function.parameters.iter().zip(arguments) {
            let (Some(result), Some(of)) = (parameter.result_id, parameter.result_type) else {
                return Err(wrong());
            };
            match argument {
                Argument::Data(data) => {
                    if !self.has_kinds(data, &self.numbers(of)?) {
                        return Err(wrong());
                    }
                    self.data.insert(result, data.clone());
                }
                Argument::Pointer(pointer) => {
                    self.pointers.insert(result, pointer.clone());
                }
            }
        }
        Ok(())
    }
}

/// Returns how often nodes leave a scope.
fn breaks(nodes: &[Node], scope: Scope) -> usize {
    let of = |node: &Node| {
        if let Node::If(_, first, second) | Node::Loop(_, first, second) = node {
            breaks(first, scope) + breaks(second, scope)
        } else if let Node::Block(_, body) = node {
            breaks(body, scope)
        } else {
            usize::from(*node == Node::Break(scope))
        }
    };
    nodes.iter().map(of).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::Value;

    #[test]
    fn exits_are_counted_wherever_they_are() {
        let (scope, other) = (Scope(1), Scope(2));
        let exits = vec![Node::Break(scope), Node::Break(other)];
        assert_eq!(breaks(&exits, scope), 1);
        assert_eq!(breaks(&[Node::Continue(scope)], scope), 0);
        let nested = vec![
            Node::If(Value(0), exits.clone(), exits.clone()),
            Node::Loop(other, exits.clone(), Vec::new()),
            Node::Block(Scope(3), exits),
        ];
        assert_eq!(breaks(&nested, scope), 4);
        assert_eq!(breaks(&nested, Scope(4)), 0);
    }
}

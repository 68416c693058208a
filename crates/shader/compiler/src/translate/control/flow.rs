//! Control flow: the blocks of a function as nodes.
//!
//! A structured function is followed from block to block. A block that branches to the merge of a selection, to the merge or the continue
//! target of a loop, or to the next case of a switch ends the part that is being followed.

use std::collections::{HashMap, HashSet};

use rspirv::dr::{self, Operand};
use rspirv::spirv::{Op, Word};

use crate::Error;
use crate::interface::Stage;
use crate::ir::{End, Node, Operation, Scope, Value, Variable};
use crate::spirv::types::{id, malformed};
use crate::translate::Translator;

/// Deepest nesting of control flow, functions that are inlined included, so that the stack suffices.
const DEEPEST: usize = 64;

/// The end of a part that is followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::translate) enum Exit {
    /// The part's successor.
    End,
    /// The successor of a loop or a block.
    Break(Scope),
    /// The second part of a loop.
    Continue(Scope),
}

/// A function that is being followed.
pub(in crate::translate) struct Frame<'a> {
    blocks: HashMap<Word, &'a dr::Block>,
    visited: HashSet<Word>,
    /// The blocks at which the part ends.
    pub(in crate::translate) exits: Vec<(Word, Exit)>,
    /// The variables of phis, by their results.
    phis: HashMap<Word, Vec<Variable>>,
    /// The block that is left by a return, and the variables of the result. None in an entry point.
    result: Option<(Scope, Vec<Variable>)>,
    /// Functions that this one is inlined in.
    pub(in crate::translate) calls: usize,
}

/// The declaration of a merge.
#[derive(Clone, Copy, Debug)]
enum Merge {
    /// The block after a selection.
    Selection(Word),
    /// The block after a loop, and its continue target.
    Loop(Word, Word),
}

impl<'a> Frame<'a> {
    /// Returns the frame of a function.
    ///
    /// # Errors
    /// [`Error::Malformed`] if a block has no label.
    pub(in crate::translate) fn new(
        function: &'a dr::Function,
        result: Option<(Scope, Vec<Variable>)>,
        calls: usize,
    ) -> Result<Self, Error> {
        let mut blocks = HashMap::new();
        for block in &function.blocks {
            let label = block.label.as_ref().and_then(|label| label.result_id);
            let label = label.ok_or_else(|| Error::Malformed { why: "a block has no label".to_owned() })?;
            blocks.insert(label, block);
        }
        let (visited, exits, phis) = (HashSet::new(), Vec::new(), HashMap::new());
        Ok(Self { blocks, visited, exits, phis, result, calls })
    }

    /// Returns the exit that a branch to a block is, if it is one.
    fn exit(&self, label: Word) -> Option<Exit> {
        self.exits.iter().rev().find(|(one, _)| *one == label).map(|(_, exit)| *exit)
    }

    /// Returns the blocks of `stops` that a part can branch to, from a block on, before it ends.
    pub(in crate::translate) fn ends(&self, from: Word, stops: &HashSet<Word>) -> HashSet<Word> {
        let (mut found, mut visited, mut next) = (HashSet::new(), HashSet::from([from]), vec![from]);
        while let Some(label) = next.pop() {
            // Operands that are no labels, such as conditions, name no block.
            let Some(block) = self.blocks.get(&label) else { continue };
            let operands = block.instructions.last().map_or(&[][..], |one| &one.operands);
            for label in operands.iter().filter_map(Operand::id_ref_any) {
                if stops.contains(&label) {
                    found.insert(label);
                } else if self.exit(label).is_none() && visited.insert(label) {
                    next.push(label);
                }
            }
        }
        found
    }

    /// Returns a block of the function.
    pub(in crate::translate) fn block(&self, label: Word) -> Result<&'a dr::Block, Error> {
        let found = self.blocks.get(&label).copied();
        found.ok_or_else(|| Error::Malformed { why: format!("there is no block %{label}") })
    }
}

/// Returns the merge that a block declares.
fn merge(block: &dr::Block) -> Result<Option<Merge>, Error> {
    for one in &block.instructions {
        match one.class.opcode {
            Op::SelectionMerge => return Ok(Some(Merge::Selection(id(one, 0)?))),
            Op::LoopMerge => return Ok(Some(Merge::Loop(id(one, 0)?, id(one, 1)?))),
            _ => {}
        }
    }
    Ok(None)
}

impl<'a> Translator<'a> {
    /// Makes nodes apart from the others.
    pub(in crate::translate) fn apart(
        &mut self,
        make: impl FnOnce(&mut Self) -> Result<(), Error>,
    ) -> Result<Vec<Node>, Error> {
        let before = std::mem::take(&mut self.nodes);
        let made = make(self);
        let nodes = std::mem::replace(&mut self.nodes, before);
        made.map(|()| nodes)
    }

    /// Follows a part from a block on, until it ends.
    pub(in crate::translate) fn follow(&mut self, frame: &mut Frame<'a>, start: Word) -> Result<(), Error> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err(Error::Type {
                name: format!("control flow and calls nested more than {DEEPEST} deep"),
            });
        }
        let mut next = Some(start);
        while let Some(label) = next {
            let block = frame.block(label)?;
            if !frame.visited.insert(label) {
                return Err(Error::Malformed { why: format!("block %{label} is reached twice") });
            }
            next = match merge(block)? {
                Some(Merge::Loop(behind, continues)) => self.repeat(frame, label, behind, continues)?,
                Some(Merge::Selection(behind)) => self.block(frame, label, Some(behind))?,
                None => self.block(frame, label, None)?,
            };
        }
        self.depth -= 1;
        Ok(())
    }

    /// Branches from a block to another one; returns it, if the part goes on there.
    fn branch(&mut self, frame: &mut Frame<'a>, from: Word, to: Word) -> Result<Option<Word>, Error> {
        self.store_phis(frame, from, to)?;
        let innermost = frame.exits.iter().rev().find(|(_, exit)| *exit == Exit::End);
        match frame.exit(to) {
            Some(Exit::End) if innermost.is_some_and(|(label, _)| *label != to) => Err(Error::Malformed {
                why: format!("block %{from} leaves a selection by a branch to %{to}"),
            }),
            Some(Exit::End) => Ok(None),
            Some(Exit::Break(scope)) => self.add(Node::Break(scope)).map(|()| None),
            Some(Exit::Continue(scope)) => self.add(Node::Continue(scope)).map(|()| None),
            None => Ok(Some(to)),
        }
    }

    /// Branches, and follows the part if it goes on.
    fn branch_and_follow(&mut self, frame: &mut Frame<'a>, from: Word, to: Word) -> Result<(), Error> {
        match self.branch(frame, from, to)? {
            Some(label) => self.follow(frame, label),
            None => Ok(()),
        }
    }

    /// Stores what the phis of a block take from the one that branches to it.
    pub(in crate::translate) fn store_phis(
        &mut self,
        frame: &mut Frame<'a>,
        from: Word,
        to: Word,
    ) -> Result<(), Error> {
        let mut stores = Vec::new();
        let phis = frame
            .block(to)?
            .instructions
            .iter()
            .take_while(|one| matches!(one.class.opcode, Op::Phi | Op::Line | Op::NoLine));
        for one in phis.filter(|one| one.class.opcode == Op::Phi) {
            let pair = one.operands.chunks(2).find(|pair| pair.last() == Some(&Operand::IdRef(from)));
            let Some([Operand::IdRef(value), _]) = pair else {
                return Err(malformed(one, &format!("it has no value for block %{from}")));
            };
            let data = self.known(one, *value)?;
            let variables = self.phi(frame, one)?;
            if variables.len() != data.len() {
                return Err(malformed(one, "a value has another type"));
            }
            stores.extend(variables.into_iter().zip(data));
        }
        // All are read before one is stored: a phi may take another one's number.
        stores.into_iter().try_for_each(|(variable, value)| self.add(Node::StoreVar(variable, value)))
    }

    /// Returns the variables of a phi.
    fn phi(&mut self, frame: &mut Frame<'a>, one: &dr::Instruction) -> Result<Vec<Variable>, Error> {
        let (Some(result), Some(of)) = (one.result_id, one.result_type) else {
            return Err(malformed(one, "it has no result"));
        };
        if let Some(found) = frame.phis.get(&result) {
            return Ok(found.clone());
        }
        let variables: Vec<_> =
            self.numbers(of)?.into_iter().map(|kind| self.program.variable(kind)).collect();
        frame.phis.insert(result, variables.clone());
        Ok(variables)
    }

    /// Translates a loop; returns the block after it.
    fn repeat(
        &mut self,
        frame: &mut Frame<'a>,
        header: Word,
        behind: Word,
        continues: Word,
    ) -> Result<Option<Word>, Error> {
        let scope = self.program.scope();
        let outside = frame.exits.len();
        frame.exits.push((behind, Exit::Break(scope)));
        frame.exits.push((continues, Exit::Continue(scope)));
        frame.exits.push((header, Exit::Continue(scope)));
        let body = self.apart(|this| {
            let next = this.block(frame, header, None)?;
            next.map_or(Ok(()), |label| this.follow(frame, label))
        })?;
        frame.exits.truncate(outside);
        frame.exits.push((behind, Exit::Break(scope)));
        frame.exits.push((header, Exit::End));
        let after = match continues == header || frame.visited.contains(&continues) {
            true => Vec::new(),
            false => self.apart(|this| this.follow(frame, continues))?,
        };
        frame.exits.truncate(outside);
        self.add(Node::Loop(scope, body, after))?;
        Ok(Some(behind))
    }

    /// Translates a block, which may be followed by a selection; returns the block with which the part goes on.
    fn block(
        &mut self,
        frame: &mut Frame<'a>,
        label: Word,
        behind: Option<Word>,
    ) -> Result<Option<Word>, Error> {
        for one in &frame.block(label)?.instructions {
            self.count(1)?;
            match one.class.opcode {
                Op::Phi => {
                    let variables = self.phi(frame, one)?;
                    let kinds: Vec<_> = variables
                        .iter()
                        .map(|variable| self.program.variables[variable.0 as usize])
                        .collect();
                    let gets = variables
                        .iter()
                        .zip(kinds)
                        .map(|(variable, kind)| (kind, Operation::LoadVar(*variable)));
                    let data = gets.map(|(kind, get)| self.make(kind, get)).collect::<Result<_, _>>()?;
                    self.data.insert(one.result_id.unwrap_or_default(), data);
                }
                Op::SelectionMerge | Op::LoopMerge => {}
                Op::Branch => return self.branch(frame, label, id(one, 0)?),
                Op::BranchConditional => return self.conditional(frame, label, one, behind),
                Op::Switch => return self.switch(frame, label, one, behind),
                Op::Return => {
                    self.leave(frame, Vec::new())?;
                    return Ok(None);
                }
                Op::ReturnValue => {
                    let data = self.operand(one, 0)?;
                    self.leave(frame, data)?;
                    return Ok(None);
                }
                Op::Kill | Op::TerminateInvocation | Op::DemoteToHelperInvocation
                    if self.stage == Stage::Compute =>
                {
                    return Err(malformed(one, "a compute shader has no pixels"));
                }
                Op::Kill | Op::TerminateInvocation => {
                    self.add(Node::End(End::Kill, None))?;
                    return Ok(None);
                }
                Op::Unreachable => return Ok(None),
                Op::DemoteToHelperInvocation => self.add(Node::End(End::Demote, None))?,
                Op::FunctionCall => self.call_from(one, frame.calls)?,
                _ => self.instruction(one)?,
            }
        }
        Err(Error::Malformed { why: format!("block %{label} has no end") })
    }

    /// Returns from a function.
    fn leave(&mut self, frame: &Frame<'a>, data: Vec<Value>) -> Result<(), Error> {
        let Some((scope, variables)) = &frame.result else {
            return self.add(Node::End(End::Return, None));
        };
        if variables.len() != data.len() {
            return Err(Error::Malformed { why: "a function returns a value of another type".to_owned() });
        }
        for (variable, value) in variables.iter().zip(data) {
            self.add(Node::StoreVar(*variable, value))?;
        }
        self.add(Node::Break(*scope))
    }

    /// Translates a branch with a condition; returns the block with which the part goes on.
    fn conditional(
        &mut self,
        frame: &mut Frame<'a>,
        label: Word,
        one: &dr::Instruction,
        behind: Option<Word>,
    ) -> Result<Option<Word>, Error> {
        let condition = self.number(one, 0)?;
        let (so, otherwise) = (id(one, 1)?, id(one, 2)?);
        if so == otherwise {
            return self.branch(frame, label, so);
        }
        if let Some(behind) = behind {
            frame.exits.push((behind, Exit::End));
            let first = self.apart(|this| this.branch_and_follow(frame, label, so))?;
            let second = self.apart(|this| this.branch_and_follow(frame, label, otherwise))?;
            frame.exits.pop();
            self.add(Node::If(condition, first, second))?;
            return self.goes_on(frame, behind);
        }
        // Without a selection one of the two leaves a loop, goes on with its next time, or ends the part.
        let leaves = |exit| matches!(exit, Some(Exit::Break(_) | Exit::Continue(_)));
        match (frame.exit(so), frame.exit(otherwise)) {
            (None, None) => Err(malformed(one, "it has no merge, and leaves no loop")),
            (exit, None) if leaves(exit) => {
                let first = self.apart(|this| this.branch(frame, label, so).map(drop))?;
                self.add(Node::If(condition, first, Vec::new()))?;
                self.branch(frame, label, otherwise)
            }
            (None, exit) if leaves(exit) => {
                let second = self.apart(|this| this.branch(frame, label, otherwise).map(drop))?;
                self.add(Node::If(condition, Vec::new(), second))?;
                self.branch(frame, label, so)
            }
            _ => {
                let first = self.apart(|this| this.branch_and_follow(frame, label, so))?;
                let second = self.apart(|this| this.branch_and_follow(frame, label, otherwise))?;
                self.add(Node::If(condition, first, second))?;
                Ok(None)
            }
        }
    }

    /// Returns the block after a selection, unless that is an end of the part, too.
    pub(in crate::translate) fn goes_on(
        &mut self,
        frame: &Frame<'a>,
        behind: Word,
    ) -> Result<Option<Word>, Error> {
        match frame.exit(behind) {
            None => Ok(Some(behind)),
            Some(Exit::End) => Ok(None),
            Some(Exit::Break(scope)) => self.add(Node::Break(scope)).map(|()| None),
            Some(Exit::Continue(scope)) => self.add(Node::Continue(scope)).map(|()| None),
        }
    }
}

//! Switches: each case is entered by the lanes that chose it, and by those that fell through the one before it.

use std::collections::HashSet;

use rspirv::dr::{self, Operand};
use rspirv::spirv::Word;

use crate::Error;
use crate::ir::{Binary, Comparison, Node, Operation, Scalar, Unary, Value};
use crate::spirv::types::{id, malformed, unsupported};
use crate::translate::Translator;
use crate::translate::control::flow::{Exit, Frame};

impl<'a> Translator<'a> {
    /// Translates a switch; returns the block with which the part goes on.
    pub(in crate::translate) fn switch(
        &mut self,
        frame: &mut Frame<'a>,
        label: Word,
        one: &dr::Instruction,
        behind: Option<Word>,
    ) -> Result<Option<Word>, Error> {
        let behind = behind.ok_or_else(|| malformed(one, "it has no merge"))?;
        let selector = self.number(one, 0)?;
        let kind = self.program.kind(selector);
        if !matches!(kind, Scalar::Integer { .. }) {
            return Err(malformed(one, "its selector is no integer"));
        }
        let default = id(one, 1)?;
        // For each case, whether it is chosen. A case without a block of its own branches to the merge block.
        let mut chosen: Vec<(Word, Value)> = Vec::new();
        let mut any = self.make(Scalar::Bool, Operation::Constant(0))?;
        for pair in one.operands.get(2..).unwrap_or_default().chunks(2) {
            let (bits, target) = match pair {
                [Operand::LiteralBit32(bits), Operand::IdRef(target)] => (u64::from(*bits), *target),
                [Operand::LiteralBit64(bits), Operand::IdRef(target)] => (*bits, *target),
                _ => return Err(unsupported(one)),
            };
            let literal = self.make(kind, Operation::Constant(kind.masked(bits)))?;
            let equal = Operation::Compare(Comparison::Equal, kind, selector, literal);
            let equal = self.make(Scalar::Bool, equal)?;
            any = self.make(Scalar::Bool, Operation::Binary(Binary::Or, any, equal))?;
            match chosen.iter_mut().find(|(one, _)| *one == target) {
                Some((_, before)) => {
                    let either = Operation::Binary(Binary::Or, *before, equal);
                    *before = self.make(Scalar::Bool, either)?;
                }
                None => chosen.push((target, equal)),
            }
        }
        let none = self.make(Scalar::Bool, Operation::Unary(Unary::Not, any))?;
        match chosen.iter_mut().find(|(one, _)| *one == default) {
            Some((_, before)) => {
                *before = self.make(Scalar::Bool, Operation::Binary(Binary::Or, *before, none))?
            }
            None => chosen.push((default, none)),
        }
        // The values of a case's phis, unless the case before it falls through and stores others.
        for (target, _) in &chosen {
            self.store_phis(frame, label, *target)?;
        }
        chosen.retain(|(target, _)| *target != behind);
        place_default(frame, &mut chosen, default, behind);
        let (scope, falls) = (self.program.scope(), self.program.variable(Scalar::Bool));
        let outside = frame.exits.len();
        let nodes = self.apart(|this| {
            let (no, yes) = (Operation::Constant(0), Operation::Constant(1));
            let no = this.make(Scalar::Bool, no)?;
            this.add(Node::StoreVar(falls, no))?;
            for (place, (target, boolean)) in chosen.iter().enumerate() {
                let falls_here = this.make(Scalar::Bool, Operation::LoadVar(falls))?;
                let enters = this.make(Scalar::Bool, Operation::Binary(Binary::Or, falls_here, *boolean))?;
                frame.exits.push((behind, Exit::Break(scope)));
                if let Some((next, _)) = chosen.get(place + 1) {
                    frame.exits.push((*next, Exit::End));
                }
                let case = this.apart(|this| {
                    let yes = this.make(Scalar::Bool, yes)?;
                    this.add(Node::StoreVar(falls, yes))?;
                    this.follow(frame, *target)
                })?;
                frame.exits.truncate(outside);
                this.add(Node::If(enters, case, Vec::new()))?;
            }
            Ok(())
        })?;
        self.add(Node::Block(scope, nodes))?;
        self.goes_on(frame, behind)
    }
}

/// Moves the default block, which is the last one unless a case has the same block, to its place among the cases. A case falls through
/// to the next one of the switch, but the default block may be between any two of them.
fn place_default(frame: &Frame<'_>, chosen: &mut Vec<(Word, Value)>, default: Word, behind: Word) {
    let labels: Vec<Word> = chosen.iter().map(|(label, _)| *label).collect();
    let Some((last, cases)) = labels.split_last() else { return };
    if *last != default {
        return;
    }
    let stops: HashSet<Word> = labels.iter().copied().chain([behind]).collect();
    let after =
        cases.iter().position(|case| frame.ends(*case, &stops).contains(&default)).map(|place| place + 1);
    let before = || {
        let ends = frame.ends(default, &stops);
        cases.iter().position(|case| ends.contains(case))
    };
    if let Some(place) = after.or_else(before) {
        let moved = chosen.remove(cases.len());
        chosen.insert(place, moved);
    }
}

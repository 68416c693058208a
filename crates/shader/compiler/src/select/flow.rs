//! Control flow: branches, and the lanes that wait for their ends.

use intel_eu::Opcode;

use super::{Selection, bits_of};
use crate::Error;
use crate::ir::{Node, Value};
use crate::machine::instr::{Instr, Operand, Predicate, Stmt};

impl Selection<'_> {
    pub(super) fn nodes(&mut self, nodes: &[Node]) -> Result<(), Error> {
        nodes.iter().try_for_each(|node| self.node(node))
    }

    fn node(&mut self, node: &Node) -> Result<(), Error> {
        match node {
            Node::Def(value, operation) => self.make(*value, operation)?,
            Node::StoreVar(variable, value) => {
                let vreg = self.variable(*variable);
                let kind = bits_of(self.program.kind(*value));
                // The bits of less than 32 bits are those of a dword, if they are a number.
                let operand = match self.operand(*value, kind) {
                    Operand::Imm { bits, .. } => Operand::Imm { kind: intel_eu::Type::Ud, bits },
                    registers => registers,
                };
                let kind = if matches!(operand, Operand::Imm { .. }) { operand.kind() } else { kind };
                self.put(Opcode::Mov, vreg, kind, &[operand]);
            }
            Node::Store(surface, offset, value) => self.store(*surface, *offset, *value),
            // Replaced by exits from scopes (`structurize_exits`).
            Node::End(..) => {}
            Node::If(condition, first, second) => self.branch(*condition, first, second)?,
            Node::Loop(_, body, _) => self.repeat(body, true)?,
            Node::Block(_, body) => self.repeat(body, false)?,
            Node::Break(_) | Node::Continue(_) => {
                let block = self.blocks.last().map(|(label, _)| *label);
                let whole = self.blocks.iter().rev().find(|(_, is_loop)| *is_loop).map(|(label, _)| *label);
                if let (Some(block), Some(whole)) = (block, whole) {
                    self.push(Instr { targets: Some((block, whole)), ..Instr::new(Opcode::Break) });
                }
            }
        }
        Ok(())
    }

    fn branch(&mut self, condition: Value, first: &[Node], second: &[Node]) -> Result<(), Error> {
        self.test(condition);
        let (other, middle, end) = (self.label(), self.label(), self.label());
        let start = if second.is_empty() { end } else { middle };
        self.push(Instr { targets: Some((start, end)), ..Instr::new(Opcode::If) }.when(Predicate::SET));
        // The lanes of the second part wait at `else`: a branch in the first part may not jump over it.
        self.blocks.push((if second.is_empty() { end } else { other }, false));
        self.nodes(first)?;
        self.blocks.pop();
        if !second.is_empty() {
            self.here(other);
            self.push(Instr { targets: Some((end, end)), ..Instr::new(Opcode::Else) });
            self.here(middle);
            self.blocks.push((end, false));
            self.nodes(second)?;
            self.blocks.pop();
        }
        self.here(end);
        let after = self.blocks.last().map(|(label, _)| *label);
        let next = after.unwrap_or_else(|| self.label());
        self.push(Instr { targets: Some((next, next)), ..Instr::new(Opcode::Endif) });
        if after.is_none() {
            self.here(next);
        }
        Ok(())
    }

    /// Adds a part that lanes can leave; a loop is repeated by the others.
    fn repeat(&mut self, body: &[Node], again: bool) -> Result<(), Error> {
        let (start, end) = (self.label(), self.label());
        self.here(start);
        self.function.stmts.push(Stmt::LoopBegin);
        self.blocks.push((end, true));
        self.nodes(body)?;
        self.blocks.pop();
        if !again {
            // No lane's flag is set, so none goes back.
            self.clear_flags();
        }
        self.here(end);
        let back = Instr { targets: Some((start, start)), ..Instr::new(Opcode::While) };
        self.push(if again { back } else { back.when(Predicate::SET) });
        self.function.stmts.push(Stmt::LoopEnd);
        Ok(())
    }
}

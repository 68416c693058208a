//! Functions: calls, blocks, branches, phis, and where each id may be used.

#![expect(clippy::wildcard_enum_match_arm, reason = "SPIR-V has hundreds of opcodes, and gets more")]

use std::collections::{HashMap, HashSet};

use rspirv::dr::{self, Operand};
use rspirv::spirv::{Op, Word};

use super::dominance::{Dominators, successors};
use super::{Checker, boolean, integer};
use crate::Error;
use crate::spirv::types::{Type, id, malformed};

/// The blocks of a function.
struct Blocks<'a> {
    function: &'a dr::Function,
    /// Their places, by their labels.
    places: HashMap<Word, usize>,
    /// The labels of the blocks that branch to each one.
    before: HashMap<Word, HashSet<Word>>,
    /// The block of each result, and its place there.
    made: HashMap<Word, (Word, usize)>,
    dominators: Dominators,
}

impl<'a> Blocks<'a> {
    fn of(function: &'a dr::Function) -> Result<Self, Error> {
        let labels = function.blocks.iter().filter_map(|block| block.label.as_ref()?.result_id);
        let places: HashMap<Word, usize> = labels.enumerate().map(|(place, label)| (label, place)).collect();
        let mut before: HashMap<Word, HashSet<Word>> = HashMap::new();
        for (label, block) in labels_and_blocks(function) {
            for next in successors(block) {
                before.entry(next).or_default().insert(label);
            }
        }
        let mut made = HashMap::new();
        for (label, block) in labels_and_blocks(function) {
            let results = block.instructions.iter().enumerate();
            made.extend(results.filter_map(|(place, one)| Some((one.result_id?, (label, place)))));
        }
        let dominators = Dominators::of(function, places.clone())?;
        Ok(Self { function, places, before, made, dominators })
    }
}

fn labels_and_blocks(function: &dr::Function) -> impl Iterator<Item = (Word, &dr::Block)> {
    function.blocks.iter().filter_map(|block| Some((block.label.as_ref()?.result_id?, block)))
}

impl Checker<'_> {
    /// Validates a function's type, its blocks, and the places of its ids.
    pub(super) fn flow(&self, function: &dr::Function) -> Result<(), Error> {
        let Some(def) = &function.def else {
            return Err(Error::Malformed { why: "a function has no beginning".to_owned() });
        };
        let declared = match def.operands.get(1) {
            Some(Operand::IdRef(of)) => self.globals.types.get(of),
            _ => None,
        };
        let own = function.parameters.iter().map(|one| one.result_type);
        match declared {
            Some(Type::Function { result, parameters })
                if Some(*result) == def.result_type && own.eq(parameters.iter().map(|of| Some(*of))) => {}
            _ => return Err(malformed(def, "its type is not that of its result and its parameters")),
        }
        let blocks = Blocks::of(function)?;
        self.places_of_ids(&blocks)?;
        self.merges(&blocks)?;
        for (place, (label, block)) in labels_and_blocks(function).enumerate() {
            let mut is_begun = false;
            for one in &block.instructions {
                match one.class.opcode {
                    Op::Phi if is_begun => return Err(malformed(one, "it is not at the begin of its block")),
                    Op::Phi => self.phi(&blocks, label, one)?,
                    Op::Variable if is_begun || place > 0 => {
                        return Err(malformed(one, "it is not at the begin of its function"));
                    }
                    Op::Variable | Op::Line | Op::NoLine => {}
                    _ => {
                        is_begun = true;
                        self.branch(&blocks, def, one)?;
                    }
                }
            }
        }
        Ok(())
    }

    /// Checks that each operand has a value where it is used: a declaration of the module, or a result that dominates the use.
    fn places_of_ids(&self, blocks: &Blocks<'_>) -> Result<(), Error> {
        let globals = self.module.types_global_values.iter().chain(&self.module.ext_inst_imports);
        let strings = self.module.debug_string_source.iter();
        let functions = self.module.functions.iter().filter_map(dr::Function::def_id);
        let mut outside: HashSet<Word> =
            globals.chain(strings).filter_map(|one| one.result_id).chain(functions).collect();
        outside.extend(blocks.function.parameters.iter().filter_map(|one| one.result_id));
        for (label, block) in labels_and_blocks(blocks.function) {
            for (place, one) in block.instructions.iter().enumerate() {
                let is_phi = one.class.opcode == Op::Phi;
                let used = one.operands.iter().filter_map(Operand::id_ref_any).enumerate();
                for (number, id) in used {
                    let is_there = match blocks.made.get(&id) {
                        // A phi takes its values at the ends of other blocks: see `phi`.
                        Some(_) if is_phi => true,
                        Some((own, before)) if *own == label => *before < place,
                        Some((own, _)) => blocks.dominators.dominates(*own, label),
                        None => outside.contains(&id) || blocks.places.contains_key(&id),
                    };
                    if !is_there {
                        return Err(malformed(one, &format!("%{id} (operand {number}) has no value there")));
                    }
                }
                if let Some(of) = one.result_type
                    && !self.globals.types.contains_key(&of)
                {
                    return Err(malformed(one, &format!("%{of} is no type")));
                }
            }
        }
        Ok(())
    }

    /// Validates a phi: it has a value for each block before its own one.
    fn phi(&self, blocks: &Blocks<'_>, label: Word, one: &dr::Instruction) -> Result<(), Error> {
        let result = self.result(one)?;
        let mut parents = HashSet::new();
        for pair in one.operands.chunks(2) {
            let [Operand::IdRef(value), Operand::IdRef(parent)] = pair else {
                return Err(malformed(one, "a value has no block"));
            };
            let own = self.results.get(value).and_then(|found| found.result_type);
            if own != Some(result) {
                return Err(malformed(one, &format!("%{value} has another type than %{result}")));
            }
            if !parents.insert(*parent) {
                return Err(malformed(one, &format!("it has two values for block %{parent}")));
            }
            let made = blocks.made.get(value);
            if made.is_some_and(|(made, _)| !blocks.dominators.dominates(*made, *parent)) {
                return Err(malformed(one, &format!("%{value} has no value in block %{parent}")));
            }
        }
        if Some(&parents) != blocks.before.get(&label) {
            return Err(malformed(one, "its blocks are not those that branch to its own one"));
        }
        Ok(())
    }

    /// Validates the end of a block, or a call.
    fn branch(&self, blocks: &Blocks<'_>, def: &dr::Instruction, one: &dr::Instruction) -> Result<(), Error> {
        let single =
            |is: fn(crate::ir::Scalar) -> bool, what: &str| match self.operand_of(one, 0, is, what)? {
                (_, 1) => Ok(()),
                _ => Err(malformed(one, &format!("operand 0 is no single {what}"))),
            };
        match one.class.opcode {
            Op::BranchConditional => {
                if ![3, 5].contains(&one.operands.len()) {
                    return Err(malformed(one, "it has neither 3 nor 5 operands"));
                }
                single(boolean, "boolean")?;
                self.labels(blocks, one)
            }
            Op::Branch => self.labels(blocks, one),
            Op::Switch => {
                single(integer, "integers")?;
                self.labels(blocks, one)
            }
            Op::Return => match def.result_type.and_then(|of| self.globals.types.get(&of)) {
                Some(Type::Void) => Ok(()),
                _ => Err(malformed(one, "its function has a result")),
            },
            Op::ReturnValue => match def.result_type {
                Some(of) if !matches!(self.globals.types.get(&of), Some(Type::Void)) => {
                    self.has_type(one, 0, of)
                }
                _ => Err(malformed(one, "its function has no result")),
            },
            Op::FunctionCall => self.call(one),
            _ => Ok(()),
        }
    }

    /// Checks that a branch is to blocks of its function, other than the first one.
    fn labels(&self, blocks: &Blocks<'_>, one: &dr::Instruction) -> Result<(), Error> {
        let from = usize::from(one.class.opcode != Op::Branch);
        for label in one.operands.iter().filter_map(Operand::id_ref_any).skip(from) {
            match blocks.places.get(&label) {
                Some(0) => return Err(malformed(one, "it branches to the first block")),
                Some(_) => {}
                None => return Err(malformed(one, &format!("%{label} is no block of its function"))),
            }
        }
        Ok(())
    }

    /// Validates a call: arguments and result have the types that the function has.
    fn call(&self, one: &dr::Instruction) -> Result<(), Error> {
        let callee = id(one, 0)?;
        let called = self.results.get(&callee).filter(|found| found.class.opcode == Op::Function);
        let of = called.and_then(|found| match found.operands.get(1) {
            Some(Operand::IdRef(of)) => self.globals.types.get(of),
            _ => None,
        });
        let Some(Type::Function { result, parameters }) = of else {
            return Err(malformed(one, &format!("%{callee} is no function")));
        };
        let is_entry = |entry: &dr::Instruction| entry.operands.get(1) == Some(&Operand::IdRef(callee));
        if self.module.entry_points.iter().any(is_entry) {
            return Err(malformed(one, &format!("%{callee} is an entry point")));
        }
        if one.result_type != Some(*result) || one.operands.len() != parameters.len() + 1 {
            return Err(malformed(one, &format!("%{callee} has another result, or other parameters")));
        }
        parameters.iter().enumerate().try_for_each(|(place, of)| self.has_type(one, place + 1, *of))
    }

    /// Validates the declarations of merges: each is before the branch, and each block is the merge of one header.
    fn merges(&self, blocks: &Blocks<'_>) -> Result<(), Error> {
        let mut targets = HashSet::new();
        for (label, block) in labels_and_blocks(blocks.function) {
            let count = block.instructions.len();
            let last = block.instructions.last().map(|one| one.class.opcode);
            for (place, one) in block.instructions.iter().enumerate() {
                let follows = match one.class.opcode {
                    Op::SelectionMerge => matches!(last, Some(Op::BranchConditional | Op::Switch)),
                    Op::LoopMerge => matches!(last, Some(Op::Branch | Op::BranchConditional)),
                    _ => continue,
                };
                if !follows || place + 2 != count {
                    return Err(malformed(one, "no branch follows it"));
                }
                let target = id(one, 0)?;
                if !blocks.places.contains_key(&target) || target == label {
                    return Err(malformed(one, &format!("%{target} is no other block of its function")));
                }
                if !targets.insert(target) {
                    return Err(malformed(one, &format!("%{target} is the merge of two headers")));
                }
                let is_reached = blocks.dominators.is_reached(label);
                if is_reached && !blocks.dominators.dominates(label, target) {
                    return Err(malformed(one, &format!("%{target} is reached around its header")));
                }
            }
        }
        Ok(())
    }
}

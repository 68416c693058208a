//! Entry points: their functions, interfaces and execution modes.

#![expect(clippy::wildcard_enum_match_arm, reason = "SPIR-V has many execution modes, and gets more")]

use std::collections::{HashMap, HashSet};

use rspirv::dr::{self, Operand};
use rspirv::spirv::{ExecutionMode, ExecutionModel, Op, StorageClass, Word};

use super::Checker;
use crate::Error;
use crate::spirv::types::{Type, malformed};

/// The parts of an `OpEntryPoint`.
struct Entry<'a> {
    one: &'a dr::Instruction,
    model: ExecutionModel,
    function: Word,
    name: &'a str,
    interface: &'a [Operand],
}

impl<'a> Entry<'a> {
    fn of(one: &'a dr::Instruction) -> Result<Self, Error> {
        match one.operands.as_slice() {
            [
                Operand::ExecutionModel(model),
                Operand::IdRef(function),
                Operand::LiteralString(name),
                interface @ ..,
            ] => Ok(Self { one, model: *model, function: *function, name, interface }),
            _ => Err(malformed(one, "it has no name")),
        }
    }
}

impl<'a> Checker<'a> {
    /// Validates the entry points, and their execution modes.
    pub(super) fn entries(&self) -> Result<(), Error> {
        let functions: HashMap<Word, &dr::Function> =
            self.module.functions.iter().filter_map(|one| Some((one.def_id()?, one))).collect();
        let mut entries = Vec::new();
        for one in &self.module.entry_points {
            let entry = Entry::of(one)?;
            let same = |other: &Entry<'_>| other.name == entry.name && other.model == entry.model;
            if entries.iter().any(same) {
                return Err(malformed(
                    one,
                    &format!("two entry points of a stage have the name '{}'", entry.name),
                ));
            }
            entries.push(entry);
        }
        for entry in &entries {
            self.entry(entry, &functions)?;
        }
        self.modes(&entries)
    }

    /// Validates an entry point.
    fn entry(&self, entry: &Entry<'_>, functions: &HashMap<Word, &'a dr::Function>) -> Result<(), Error> {
        let Entry { one, function, interface, .. } = entry;
        let of = functions.get(function).and_then(|found| found.def.as_ref());
        let is_void = of
            .and_then(|def| def.result_type)
            .is_some_and(|of| matches!(self.globals.types.get(&of), Some(Type::Void)));
        let parameters = functions.get(function).map_or(0, |found| found.parameters.len());
        if !is_void || parameters > 0 {
            return Err(malformed(one, &format!("function %{function} has a result or parameters")));
        }
        let mut listed = HashSet::new();
        for operand in interface.iter().filter_map(Operand::id_ref_any) {
            let class = self.class_of(operand);
            let is_right = match class {
                Some(StorageClass::Input | StorageClass::Output) => true,
                Some(class) => self.minor >= 4 && class != StorageClass::Function,
                None => false,
            };
            if !is_right {
                return Err(malformed(one, &format!("%{operand} is no variable of an interface")));
            }
            if !listed.insert(operand) && self.minor >= 4 {
                return Err(malformed(one, &format!("%{operand} is listed twice")));
            }
        }
        for used in self.reached(*function, functions) {
            let is_interface = match self.class_of(used) {
                Some(StorageClass::Input | StorageClass::Output) => true,
                Some(class) => self.minor >= 4 && class != StorageClass::Function,
                None => false,
            };
            if is_interface && !listed.contains(&used) {
                return Err(malformed(one, &format!("%{used} is used, and not listed")));
            }
        }
        Ok(())
    }

    /// Returns the storage class of a variable, if an id is one.
    fn class_of(&self, id: Word) -> Option<StorageClass> {
        let found = self.results.get(&id).filter(|found| found.class.opcode == Op::Variable)?;
        match found.operands.first() {
            Some(Operand::StorageClass(class)) => Some(*class),
            _ => None,
        }
    }

    /// Returns the ids that a function uses, and the functions that it calls.
    fn reached(&self, entry: Word, functions: &HashMap<Word, &'a dr::Function>) -> Vec<Word> {
        let (mut found, mut visited, mut next) = (HashSet::new(), HashSet::from([entry]), vec![entry]);
        while let Some(function) = next.pop().and_then(|id| functions.get(&id)) {
            for one in function.blocks.iter().flat_map(|block| &block.instructions) {
                for id in one.operands.iter().filter_map(Operand::id_ref_any) {
                    found.insert(id);
                    if functions.contains_key(&id) && visited.insert(id) {
                        next.push(id);
                    }
                }
            }
        }
        let mut found: Vec<_> = found.into_iter().collect();
        found.sort_unstable();
        found
    }

    /// Validates the execution modes.
    fn modes(&self, entries: &[Entry<'_>]) -> Result<(), Error> {
        let mut origins: HashMap<Word, HashSet<ExecutionMode>> = HashMap::new();
        for one in &self.module.execution_modes {
            let [Operand::IdRef(function), Operand::ExecutionMode(mode), ..] = one.operands.as_slice() else {
                return Err(malformed(one, "it has no mode"));
            };
            let models: Vec<_> =
                entries.iter().filter(|entry| entry.function == *function).map(|entry| entry.model).collect();
            if models.is_empty() {
                return Err(malformed(one, &format!("%{function} is no entry point")));
            }
            let fits = match mode {
                ExecutionMode::OriginUpperLeft
                | ExecutionMode::OriginLowerLeft
                | ExecutionMode::EarlyFragmentTests => models.contains(&ExecutionModel::Fragment),
                ExecutionMode::LocalSize => models.iter().any(|model| *model != ExecutionModel::Fragment),
                _ => true,
            };
            if !fits {
                return Err(malformed(one, &format!("the stage of %{function} has no mode {mode:?}")));
            }
            origins.entry(*function).or_default().insert(*mode);
        }
        for entry in entries.iter().filter(|entry| entry.model == ExecutionModel::Fragment) {
            let has = |mode| origins.get(&entry.function).is_some_and(|modes| modes.contains(&mode));
            if has(ExecutionMode::OriginUpperLeft) == has(ExecutionMode::OriginLowerLeft) {
                return Err(malformed(
                    entry.one,
                    "a fragment shader has one of OriginUpperLeft and OriginLowerLeft",
                ));
            }
        }
        Ok(())
    }
}

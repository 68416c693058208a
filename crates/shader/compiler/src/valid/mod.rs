//! Validation of modules by the rules of SPIR-V (the unified specification, sections 2.16 and 3): the compiler translates no module that
//! `spirv-val` refuses for the operands of an instruction that the compiler supports, for ids, entry points or decorations.
//!
//! Types are compared by their ids: only structs and arrays may be declared twice, and then they are different types.

mod arithmetic;
mod composites;
mod conversions;
mod declarations;
mod dominance;
mod entries;
mod extended;
mod flow;
mod logic;
mod memory;
mod targets;

use std::collections::{HashMap, HashSet};

use rspirv::dr::{self, Operand};
use rspirv::spirv::{Capability, Word};

use crate::Error;
use crate::ir::Scalar;
use crate::spirv::types::{Globals, Type, id, malformed};

/// A module that is validated.
struct Checker<'a> {
    module: &'a dr::Module,
    globals: &'a Globals,
    /// The instructions that have results, by these.
    results: HashMap<Word, &'a dr::Instruction>,
    capabilities: HashSet<Capability>,
    /// The minor number of the module's version.
    minor: u8,
}

/// Validates a module.
///
/// # Errors
/// [`Error::Malformed`].
pub(crate) fn check(module: &dr::Module, globals: &Globals) -> Result<(), Error> {
    let results = module.all_inst_iter().filter_map(|one| Some((one.result_id?, one))).collect();
    let capabilities = module.capabilities.iter().filter_map(|one| match one.operands.first() {
        Some(Operand::Capability(capability)) => Some(*capability),
        _ => None,
    });
    let capabilities = capabilities.collect();
    let minor = module.header.as_ref().map_or(0, |header| header.version().1);
    let checker = Checker { module, globals, results, capabilities, minor };
    checker.declarations()?;
    checker.targets()?;
    checker.entries()?;
    for function in &module.functions {
        checker.function(function)?;
    }
    Ok(())
}

/// A vector's component and their number; a number has one.
type Shape = (Scalar, u32);

impl Checker<'_> {
    /// Validates the instructions of a function.
    fn function(&self, function: &dr::Function) -> Result<(), Error> {
        self.flow(function)?;
        for one in function.blocks.iter().flat_map(|block| &block.instructions) {
            let is_known = self.arithmetic(one)?
                || self.logic(one)?
                || self.conversion(one)?
                || self.composite(one)?
                || self.memory(one)?;
            if !is_known {
                self.extended(one)?;
            }
        }
        Ok(())
    }

    /// Returns the type of a value that is an operand.
    fn of(&self, one: &dr::Instruction, place: usize) -> Result<Word, Error> {
        let id = id(one, place)?;
        let of = self.results.get(&id).and_then(|found| found.result_type);
        of.ok_or_else(|| malformed(one, &format!("%{id} is no value")))
    }

    /// Returns the type of an instruction's result.
    fn result(&self, one: &dr::Instruction) -> Result<Word, Error> {
        let of = one.result_type.ok_or_else(|| malformed(one, "it has no type"))?;
        if !self.globals.types.contains_key(&of) {
            return Err(malformed(one, &format!("%{of} is no type")));
        }
        Ok(of)
    }

    /// Returns the shape of a number or a vector.
    fn shape(&self, of: Word) -> Option<Shape> {
        match self.globals.types.get(&of)? {
            Type::Scalar(kind) => Some((*kind, 1)),
            Type::Vector { of, count } => Some((*of, *count)),
            Type::Void
            | Type::Matrix { .. }
            | Type::Array { .. }
            | Type::Struct { .. }
            | Type::Pointer { .. }
            | Type::Function { .. } => None,
        }
    }

    /// Returns the shape of an instruction's result, whose numbers `is` accepts.
    fn result_of(&self, one: &dr::Instruction, is: fn(Scalar) -> bool, what: &str) -> Result<Shape, Error> {
        let of = self.result(one)?;
        let shape = self.shape(of).filter(|(kind, _)| is(*kind));
        shape.ok_or_else(|| malformed(one, &format!("its type %{of} has no {what}")))
    }

    /// Returns the shape of an operand, whose numbers `is` accepts.
    fn operand_of(
        &self,
        one: &dr::Instruction,
        place: usize,
        is: fn(Scalar) -> bool,
        what: &str,
    ) -> Result<Shape, Error> {
        let of = self.of(one, place)?;
        let shape = self.shape(of).filter(|(kind, _)| is(*kind));
        shape.ok_or_else(|| malformed(one, &format!("the type %{of} of operand {place} has no {what}")))
    }

    /// Checks that an operand has a type.
    fn has_type(&self, one: &dr::Instruction, place: usize, of: Word) -> Result<(), Error> {
        let own = self.of(one, place)?;
        if own == of {
            return Ok(());
        }
        Err(malformed(one, &format!("operand {place} has type %{own} instead of %{of}")))
    }

    /// Checks that the operands from one on have a type.
    fn have_type(&self, one: &dr::Instruction, from: usize, of: Word) -> Result<(), Error> {
        (from..one.operands.len()).try_for_each(|place| self.has_type(one, place, of))
    }

    /// Checks that an operand is one integer.
    fn is_integer(&self, one: &dr::Instruction, place: usize) -> Result<(), Error> {
        match self.operand_of(one, place, integer, "integers")? {
            (_, 1) => Ok(()),
            _ => Err(malformed(one, &format!("operand {place} is no single integer"))),
        }
    }

    /// Returns the instruction that a constant is, if an id is one.
    fn constant(&self, id: Word) -> Option<&dr::Instruction> {
        self.results.get(&id).copied().filter(|one| one.class.opcode.is_constant())
    }
}

/// Checks that two operands, or an operand and the result, have the same number of components.
fn same_count(one: &dr::Instruction, a: u32, b: u32) -> Result<(), Error> {
    if a == b {
        return Ok(());
    }
    Err(malformed(one, &format!("{a} components and {b} components are combined")))
}

/// Checks that two numbers have the same width.
fn same_width(one: &dr::Instruction, a: Scalar, b: Scalar) -> Result<(), Error> {
    if a.bits() == b.bits() {
        return Ok(());
    }
    Err(malformed(one, &format!("{a} and {b} are combined, which have different widths")))
}

fn boolean(kind: Scalar) -> bool {
    kind == Scalar::Bool
}

fn integer(kind: Scalar) -> bool {
    matches!(kind, Scalar::Integer { .. })
}

fn unsigned(kind: Scalar) -> bool {
    matches!(kind, Scalar::Integer { signed: false, .. })
}

fn float(kind: Scalar) -> bool {
    matches!(kind, Scalar::Float { .. })
}

//! Translation of an entry point to a program. Functions are inlined.

#![expect(clippy::wildcard_enum_match_arm, reason = "SPIR-V has hundreds of opcodes, and gets more")]

mod arithmetic;
mod control;
mod glsl;
mod values;
mod variables;

use std::collections::HashMap;

use rspirv::dr::{self, Operand};
use rspirv::spirv::{BuiltIn, Decoration, ExecutionMode, Word};

use crate::Error;
use crate::interface::{Binding, Stage};
use crate::ir::{Node, Operation, Program, Scalar, Surface, Value, Variable};
use crate::spirv::decorations::Decorations;
use crate::spirv::intake::Chosen;
use crate::spirv::types::{Globals, id, malformed};
use crate::valid;
use values::data::Data;
use variables::memory::Pointer;

/// Largest number of functions inlined in each other.
const DEEPEST_CALL: usize = 32;
/// Largest number of operations of a program, so that a module with many calls cannot take all memory.
const MOST_OPERATIONS: usize = 1 << 16;
/// Largest number of surfaces: entries of a binding table after them have other meanings.
const MOST_SURFACES: usize = 240;
/// Largest number of lanes of a group.
const MOST_LANES: u32 = 1024;

/// The unsigned integer that offsets and counts are.
pub(crate) const UINT: Scalar = Scalar::Integer { bits: 32, signed: false };

/// A translation in progress.
struct Translator<'a> {
    module: &'a dr::Module,
    /// The functions, by their ids.
    functions: HashMap<Word, &'a dr::Function>,
    /// The types of results, by their ids.
    types: HashMap<Word, Word>,
    stage: Stage,
    globals: Globals,
    decorations: Decorations,
    program: Program,
    bindings: Vec<Binding>,
    /// The values of ids.
    data: HashMap<Word, Data>,
    pointers: HashMap<Word, Pointer>,
    /// The outputs: their surfaces, variables and types.
    outputs: Vec<(Surface, Variable, Scalar)>,
    /// The nodes that are being made.
    nodes: Vec<Node>,
    /// Operations, and instructions that were translated.
    operations: usize,
    /// Parts of control flow that are being followed, one in the other.
    depth: usize,
}

/// Translates the chosen entry point; returns the program, and what each surface is for.
///
/// # Errors
/// [`Error::Opcode`], [`Error::Type`], [`Error::Decoration`]; [`Error::Malformed`].
pub(crate) fn translate(module: &dr::Module, chosen: &Chosen) -> Result<(Program, Vec<Binding>), Error> {
    let stage = chosen.entry.stage.ok_or_else(|| Error::Malformed { why: "it has no stage".to_owned() })?;
    let globals = Globals::of(module, &chosen.values)?;
    let decorations = Decorations::of(module)?;
    valid::check(module, &globals)?;
    let results = module.all_inst_iter().filter_map(|one| Some((one.result_id?, one.result_type?)));
    let mut translator = Translator {
        module,
        functions: module.functions.iter().filter_map(|one| Some((one.def_id()?, one))).collect(),
        types: results.collect(),
        stage,
        globals,
        decorations,
        program: Program::default(),
        bindings: Vec::new(),
        data: HashMap::new(),
        pointers: HashMap::new(),
        outputs: Vec::new(),
        nodes: Vec::new(),
        operations: 0,
        depth: 0,
    };
    translator.program.group = translator.group(chosen)?;
    translator.variables(&control::reach::ids(&translator.functions, chosen.entry.function))?;
    translator.call(chosen.entry.function, &[], 0)?;
    translator.write_outputs()?;
    translator.program.body = translator.nodes;
    Ok((translator.program, translator.bindings))
}

impl Translator<'_> {
    /// Returns the size of a group, and checks that it is supported.
    fn group(&self, chosen: &Chosen) -> Result<[u32; 3], Error> {
        let group = self.declared_group(chosen)?;
        if self.stage == Stage::Fragment {
            return Ok([1, 1, 1]);
        }
        let lanes = group.into_iter().try_fold(1, u32::checked_mul);
        match lanes {
            Some(1..=MOST_LANES) => Ok(group),
            Some(0) => Err(Error::Malformed { why: "a group has no lanes".to_owned() }),
            Some(_) | None => {
                let [x, y, z] = group;
                Err(Error::Type {
                    name: format!("groups of {x} x {y} x {z} lanes ({MOST_LANES} are the most)"),
                })
            }
        }
    }

    /// Returns the size of a group that the constant WorkgroupSize has, or the execution mode.
    fn declared_group(&self, chosen: &Chosen) -> Result<[u32; 3], Error> {
        let mut group = [1, 1, 1];
        for one in &self.module.execution_modes {
            let [Operand::IdRef(entry), Operand::ExecutionMode(mode), numbers @ ..] = one.operands.as_slice()
            else {
                return Err(malformed(one, "it has no mode"));
            };
            match (*mode, numbers) {
                _ if *entry != chosen.entry.function => {}
                (
                    ExecutionMode::LocalSize,
                    [Operand::LiteralBit32(x), Operand::LiteralBit32(y), Operand::LiteralBit32(z)],
                ) => group = [*x, *y, *z],
                // Rows are counted from the side where the origin is.
                (ExecutionMode::OriginUpperLeft | ExecutionMode::OriginLowerLeft, _)
                // There are no depth and stencil tests.
                | (ExecutionMode::EarlyFragmentTests, _) => {}
                _ => return Err(Error::Opcode { name: format!("execution mode {mode:?}") }),
            }
        }
        let is_size = |target: Word| {
            self.decorations.number(target, Decoration::BuiltIn) == Some(BuiltIn::WorkgroupSize as u32)
        };
        let mut all = self.module.types_global_values.iter().filter_map(|one| one.result_id);
        let constant =
            all.find(|target| is_size(*target)).and_then(|target| self.globals.constants.get(&target));
        let parts: Vec<_> =
            (0..3).filter_map(|place| crate::spirv::fold::component(constant?, place)).collect();
        if let [x, y, z] = *parts {
            group = [x, y, z].map(|(_, bits)| u32::try_from(bits).unwrap_or(u32::MAX));
        }
        Ok(group)
    }

    /// Counts operations, whose number is limited.
    fn count(&mut self, more: usize) -> Result<(), Error> {
        self.operations += more;
        if self.operations > MOST_OPERATIONS {
            return Err(Error::Type { name: format!("programs of more than {MOST_OPERATIONS} operations") });
        }
        Ok(())
    }

    /// Adds a node.
    fn add(&mut self, node: Node) -> Result<(), Error> {
        self.count(1)?;
        if !values::check::is_sound(&self.program, &node) {
            let why = "a number has another type than the variable or the branch that it is for".to_owned();
            return Err(Error::Malformed { why });
        }
        self.nodes.push(node);
        Ok(())
    }

    /// Adds an operation; returns its value.
    fn make(&mut self, kind: Scalar, operation: Operation) -> Result<Value, Error> {
        if !values::check::has_types(&self.program, kind, &operation) {
            let why =
                format!("an operation has operands of other types: {operation:?}, whose result is {kind:?}");
            return Err(Error::Malformed { why });
        }
        let value = self.program.value(kind);
        self.add(Node::Def(value, operation))?;
        Ok(value)
    }

    /// Adds an unsigned integer that is constant.
    fn uint(&mut self, value: u32) -> Result<Value, Error> {
        self.make(UINT, Operation::Constant(u64::from(value)))
    }

    /// Returns the surface of a binding.
    fn surface(&mut self, binding: Binding) -> Result<Surface, Error> {
        if let Some(place) = self.bindings.iter().position(|one| *one == binding) {
            return Ok(Surface(place as u8));
        }
        if self.bindings.len() >= MOST_SURFACES {
            return Err(Error::Type { name: format!("shaders with more than {MOST_SURFACES} surfaces") });
        }
        self.bindings.push(binding);
        Ok(Surface(self.bindings.len() as u8 - 1))
    }

    /// Returns the data that is an operand.
    fn operand(&mut self, one: &dr::Instruction, place: usize) -> Result<Data, Error> {
        let id = id(one, place)?;
        self.known(one, id)
    }

    /// Returns the data of an id: a result, or a constant.
    fn known(&mut self, one: &dr::Instruction, id: Word) -> Result<Data, Error> {
        if let Some(found) = self.data.get(&id) {
            return Ok(found.clone());
        }
        let constant = self.globals.constants.get(&id).cloned();
        let constant = constant.ok_or_else(|| malformed(one, &format!("%{id} is not known here")))?;
        self.constant(&constant)
    }
}

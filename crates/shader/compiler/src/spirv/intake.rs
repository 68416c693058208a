//! Intake of modules, with the contract of glShaderBinary and glSpecializeShader: validation, apart from translation.

use std::collections::{BTreeMap, HashMap};
use std::fmt;

use intel_eu::Platform;
use rspirv::binary::ParseState;
use rspirv::dr;
use rspirv::spirv::{AddressingModel, Capability, Decoration, MemoryModel, Op, Word};

use crate::Error;
use crate::interface::Stage;
use crate::ir::Scalar;
use crate::spirv::types::{malformed, scalar};
use crate::spirv::words;

/// An entry point of a module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EntryPoint {
    /// Its name.
    pub name: String,
    /// Its stage; none if that is not supported.
    pub stage: Option<Stage>,
    /// The id of its function.
    pub(crate) function: Word,
}

impl fmt::Display for EntryPoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.stage {
            Some(stage) => write!(f, "'{}' ({stage})", self.name),
            None => write!(f, "'{}' (another stage)", self.name),
        }
    }
}

/// The features of a device that a module may require.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Features {
    /// The capabilities.
    pub capabilities: Vec<Capability>,
    /// The names of the extensions.
    pub extensions: Vec<String>,
}

impl Features {
    /// Returns the features that shaders have on a platform here: none before graphics 7.5.
    #[must_use]
    pub fn of(platform: Platform) -> Self {
        if platform.graphics() < 75 {
            return Self::default();
        }
        let mut capabilities = vec![
            Capability::Shader,
            Capability::Matrix,
            Capability::Int8,
            Capability::Int16,
            Capability::Int64,
            Capability::StorageBuffer8BitAccess,
            Capability::UniformAndStorageBuffer8BitAccess,
            Capability::StoragePushConstant8,
            Capability::StorageBuffer16BitAccess,
            Capability::UniformAndStorageBuffer16BitAccess,
            Capability::StoragePushConstant16,
            Capability::DemoteToHelperInvocation,
        ];
        if platform.graphics() >= 80 {
            capabilities.push(Capability::Float16);
        }
        if platform.graphics() <= 90 {
            capabilities.push(Capability::Float64);
        }
        let extensions = [
            "SPV_KHR_storage_buffer_storage_class",
            "SPV_KHR_8bit_storage",
            "SPV_KHR_16bit_storage",
            "SPV_KHR_terminate_invocation",
            "SPV_EXT_demote_to_helper_invocation",
        ];
        Self { capabilities, extensions: extensions.map(str::to_owned).to_vec() }
    }
}

/// A shader whose module was read.
#[derive(Debug)]
pub struct Shader {
    pub(crate) module: dr::Module,
    pub(crate) chosen: Option<Chosen>,
}

/// The entry point and the values of constants that were chosen.
#[derive(Debug)]
pub(crate) struct Chosen {
    /// The entry point.
    pub(crate) entry: EntryPoint,
    /// The values, by the id of the constant.
    pub(crate) values: BTreeMap<Word, u64>,
}

impl Shader {
    /// Reads a module: the header, and all instructions.
    ///
    /// # Errors
    /// [`Error::Length`], [`Error::Magic`], [`Error::Version`], [`Error::Bound`], [`Error::Malformed`]; [`Error::Opcode`] for an operation on
    /// constants that is not supported.
    pub fn read(bytes: &[u8]) -> Result<Self, Error> {
        let words = words::of(bytes)?;
        let mut loader = dr::Loader::new();
        rspirv::binary::parse_words(&words, &mut loader).map_err(|state| unparsed(&state))?;
        let module = loader.module();
        words::check_ids(&module)?;
        Ok(Self { module, chosen: None })
    }

    /// Returns the entry points, in the module's order.
    pub fn entry_points(&self) -> impl Iterator<Item = EntryPoint> {
        self.module.entry_points.iter().filter_map(|one| match one.operands.as_slice() {
            [
                dr::Operand::ExecutionModel(model),
                dr::Operand::IdRef(function),
                dr::Operand::LiteralString(name),
                ..,
            ] => Some(EntryPoint { name: name.clone(), stage: Stage::of(*model), function: *function }),
            _ => None,
        })
    }

    /// Returns the entry point with a name and a stage. Entry points of several stages may share a name.
    fn entry_point(&self, name: &str, stage: Stage) -> Result<EntryPoint, Error> {
        let named: Vec<_> = self.entry_points().filter(|one| one.name == name).collect();
        let has = || self.entry_points().map(|one| one.to_string()).collect();
        if named.is_empty() {
            return Err(Error::EntryPoint { name: name.to_owned(), has: has() });
        }
        let of_stage = named.into_iter().find(|one| one.stage == Some(stage));
        of_stage.ok_or_else(|| Error::EntryPointStage { name: name.to_owned(), stage, has: has() })
    }

    /// Returns the constants that can be specialized, by their specialization ids. Several may have the same one.
    fn constants(&self) -> BTreeMap<u32, Vec<&dr::Instruction>> {
        let constants: HashMap<Word, &dr::Instruction> = self
            .module
            .types_global_values
            .iter()
            .filter(|one| {
                matches!(one.class.opcode, Op::SpecConstant | Op::SpecConstantTrue | Op::SpecConstantFalse)
            })
            .filter_map(|one| Some((one.result_id?, one)))
            .collect();
        let mut found: BTreeMap<u32, Vec<&dr::Instruction>> = BTreeMap::new();
        for one in &self.module.annotations {
            if let [
                dr::Operand::IdRef(target),
                dr::Operand::Decoration(Decoration::SpecId),
                dr::Operand::LiteralBit32(id),
            ] = one.operands.as_slice()
                && one.class.opcode == Op::Decorate
                && let Some(constant) = constants.get(target)
            {
                found.entry(*id).or_default().push(constant);
            }
        }
        found
    }

    /// Returns the type of a constant.
    fn type_of(&self, constant: &dr::Instruction) -> Result<Scalar, Error> {
        let of = constant.result_type;
        let declared = self.module.types_global_values.iter().find(|one| one.result_id == of);
        declared.map_or_else(|| Err(malformed(constant, "its type is not known")), scalar)
    }

    /// Returns the type of the constant that has a specialization id.
    ///
    /// # Errors
    /// [`Error::SpecializationId`]; [`Error::Type`] if constants of several types have the id, or one of a type that is not supported;
    /// [`Error::Malformed`].
    pub fn constant(&self, id: u32) -> Result<Scalar, Error> {
        let mut constants = self.constants();
        let Some(named) = constants.remove(&id) else {
            return Err(Error::SpecializationId { id, has: constants.into_keys().collect() });
        };
        let types = named.into_iter().map(|one| self.type_of(one)).collect::<Result<Vec<_>, _>>()?;
        match *types.as_slice() {
            [of, ref others @ ..] if others.iter().all(|other| *other == of) => Ok(of),
            _ => Err(Error::Type { name: format!("constants of several types with specialization id {id}") }),
        }
    }

    /// Chooses an entry point and values for specialization constants: for each the id, and the bits of the value. Bits above the
    /// constant's type are 0, or copies of the sign; of a boolean, 0 is false, and anything else is true. GL's values have 32 bits. If an
    /// id is given twice, its last value counts.
    ///
    /// # Errors
    /// [`Error::Specialized`], [`Error::EntryPoint`], [`Error::EntryPointStage`], [`Error::SpecializationId`];
    /// [`Error::SpecializationValue`] for bits that the constant's type does not have, and the errors of [`Self::constant`]; then [`Error::Capability`], [`Error::Extension`], [`Error::Model`], if `features` lacks what the module requires. On an error
    /// nothing is chosen.
    pub fn specialize(
        &mut self,
        name: &str,
        stage: Stage,
        values: &[(u32, u64)],
        features: &Features,
    ) -> Result<(), Error> {
        if self.chosen.is_some() {
            return Err(Error::Specialized);
        }
        let entry = self.entry_point(name, stage)?;
        let values = self.values(values)?;
        self.check_features(features)?;
        self.chosen = Some(Chosen { entry, values });
        Ok(())
    }

    /// Returns the bits of constants, by their ids, from those by their specialization ids.
    fn values(&self, given: &[(u32, u64)]) -> Result<BTreeMap<Word, u64>, Error> {
        let constants = self.constants();
        let mut values = BTreeMap::new();
        for &(id, bits) in given {
            let of = self.constant(id)?;
            if !of.holds(bits) {
                return Err(Error::SpecializationValue { id, of, bits });
            }
            let named = constants.get(&id).into_iter().flatten();
            values.extend(named.filter_map(|one| Some((one.result_id?, of.masked(bits)))));
        }
        Ok(values)
    }

    /// Checks that `features` contains what the module requires.
    pub(crate) fn check_features(&self, features: &Features) -> Result<(), Error> {
        for one in &self.module.capabilities {
            if let [dr::Operand::Capability(capability)] = one.operands.as_slice()
                && !features.capabilities.contains(capability)
            {
                return Err(Error::Capability { name: format!("{capability:?}") });
            }
        }
        for one in &self.module.extensions {
            if let [dr::Operand::LiteralString(name)] = one.operands.as_slice()
                && !features.extensions.contains(name)
            {
                return Err(Error::Extension { name: name.clone() });
            }
        }
        let model = self.module.memory_model.as_ref().map(|one| one.operands.as_slice());
        match model {
            Some(
                [
                    dr::Operand::AddressingModel(AddressingModel::Logical),
                    dr::Operand::MemoryModel(MemoryModel::GLSL450),
                ],
            ) => Ok(()),
            Some([dr::Operand::AddressingModel(addressing), dr::Operand::MemoryModel(memory)]) => {
                Err(Error::Model {
                    name: format!("addressing model {addressing:?} with memory model {memory:?}"),
                })
            }
            _ => Err(Error::Malformed { why: "it has no memory model".to_owned() }),
        }
    }
}

/// Returns the error of words that cannot be parsed.
fn unparsed(state: &ParseState) -> Error {
    Error::Malformed { why: state.to_string() }
}

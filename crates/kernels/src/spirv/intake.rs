//! Intake of modules, with the contract of glShaderBinary and glSpecializeShader: validation, apart from translation.

use std::collections::{BTreeMap, HashMap};
use std::fmt;

use intel_eu::Platform;
use rspirv::binary::ParseState;
use rspirv::dr;
use rspirv::spirv::{AddressingModel, Capability, Decoration, MemoryModel, Op, Word};

use crate::Error;
use crate::interface::Stage;
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
    /// Returns the features that kernels of a platform have here: none before graphics 7.5.
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
    pub(crate) values: BTreeMap<Word, u32>,
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
        rspirv::binary::parse_words(&words, &mut loader).map_err(|state| malformed(&state))?;
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

    /// Returns the constants that can be specialized, by their specialization ids.
    fn constants(&self) -> BTreeMap<u32, &dr::Instruction> {
        let all = self.module.types_global_values.iter();
        let constants: HashMap<Word, &dr::Instruction> = all
            .filter(|one| {
                matches!(one.class.opcode, Op::SpecConstant | Op::SpecConstantTrue | Op::SpecConstantFalse)
            })
            .filter_map(|one| Some((one.result_id?, one)))
            .collect();
        let ids = self.module.annotations.iter().filter_map(|one| match one.operands.as_slice() {
            [
                dr::Operand::IdRef(target),
                dr::Operand::Decoration(Decoration::SpecId),
                dr::Operand::LiteralBit32(id),
            ] if one.class.opcode == Op::Decorate => Some((*id, *constants.get(target)?)),
            _ => None,
        });
        ids.collect()
    }

    /// Chooses an entry point and values for specialization constants: for each the id, and the bits of the value.
    ///
    /// # Errors
    /// [`Error::Specialized`], [`Error::EntryPoint`], [`Error::EntryPointStage`], [`Error::SpecializationId`]; [`Error::Type`] for a value of a constant of 64 bits;
    /// then [`Error::Capability`], [`Error::Extension`], [`Error::Model`], if `features` lacks what the module requires. On an error
    /// nothing is chosen.
    pub fn specialize(
        &mut self,
        name: &str,
        stage: Stage,
        values: &[(u32, u32)],
        features: &Features,
    ) -> Result<(), Error> {
        if self.chosen.is_some() {
            return Err(Error::Specialized);
        }
        let entry = self.entry_point(name, stage)?;
        let constants = self.constants();
        let value = |&(id, bits): &(u32, u32)| {
            let Some(constant) = constants.get(&id) else {
                return Err(Error::SpecializationId { id, has: constants.keys().copied().collect() });
            };
            if matches!(constant.operands.first(), Some(dr::Operand::LiteralBit64(_))) {
                return Err(Error::Type { name: format!("values of 64 bits, as constant {id} has one,") });
            }
            Ok((constant.result_id.unwrap_or_default(), bits))
        };
        let values = values.iter().map(value).collect::<Result<_, _>>()?;
        self.check_features(features)?;
        self.chosen = Some(Chosen { entry, values });
        Ok(())
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
fn malformed(state: &ParseState) -> Error {
    Error::Malformed { why: state.to_string() }
}

//! Types, constants and variables of a module.

#![expect(clippy::wildcard_enum_match_arm, reason = "SPIR-V has hundreds of opcodes, and gets more")]

use std::collections::HashSet;

use rspirv::dr::{self, Operand};
use rspirv::spirv::{Capability, Op, Word};

use super::Checker;
use crate::Error;
use crate::ir::Scalar;
use crate::spirv::types::{Type, malformed};

impl Checker<'_> {
    /// Validates the declarations of a module.
    pub(super) fn declarations(&self) -> Result<(), Error> {
        // The memory model GLSL450 belongs to shaders, whose capability others include.
        let has = |capability| self.capabilities.contains(&capability);
        if !has(Capability::Shader) && !has(Capability::DemoteToHelperInvocation) {
            return Err(Error::Malformed { why: "it has not the capability Shader".to_owned() });
        }
        for one in &self.module.ext_inst_imports {
            if let Some(Operand::LiteralString(name)) = one.operands.first()
                && !is_known_set(name)
            {
                return Err(malformed(one, &format!("there is no instruction set '{name}'")));
            }
        }
        let imports = self.module.ext_inst_imports.iter().filter_map(|one| one.result_id);
        let mut before: HashSet<Word> = imports.collect();
        let strings = self.module.debug_string_source.iter().filter_map(|one| one.result_id);
        before.extend(strings);
        let mut types = HashSet::new();
        for one in &self.module.types_global_values {
            let used = one.operands.iter().filter_map(Operand::id_ref_any).chain(one.result_type);
            for id in used {
                if !before.contains(&id) {
                    return Err(malformed(one, &format!("%{id} is not declared before it")));
                }
            }
            before.extend(one.result_id);
            self.declaration(one, &mut types)?;
        }
        Ok(())
    }

    /// Validates a declaration; `types` are those before it that may not be declared again.
    fn declaration(
        &self,
        one: &dr::Instruction,
        types: &mut HashSet<(Op, Vec<String>)>,
    ) -> Result<(), Error> {
        let opcode = one.class.opcode;
        let void = |of: Word| matches!(self.globals.types.get(&of), Some(Type::Void | Type::Function { .. }));
        match opcode {
            Op::TypeArray | Op::TypeRuntimeArray | Op::TypeStruct
                if one.operands.iter().filter_map(Operand::id_ref_any).any(void) =>
            {
                return Err(malformed(one, "a part of it has no value"));
            }
            Op::TypeArray | Op::TypeRuntimeArray | Op::TypeStruct => {}
            _ if opcode.is_type() => {
                let operands = one.operands.iter().map(ToString::to_string).collect();
                if !types.insert((opcode, operands)) {
                    return Err(malformed(one, "the type is declared twice"));
                }
                if let Some(Type::Scalar(kind)) = one.result_id.and_then(|id| self.globals.types.get(&id)) {
                    self.width(one, *kind)?;
                }
                if let Some(Type::Function { parameters, .. }) =
                    one.result_id.and_then(|id| self.globals.types.get(&id))
                    && parameters.iter().any(|of| void(*of))
                {
                    return Err(malformed(one, "a parameter has no value"));
                }
            }
            Op::ConstantTrue | Op::ConstantFalse | Op::SpecConstantTrue | Op::SpecConstantFalse => {
                self.result_of(one, super::boolean, "boolean")?;
            }
            Op::Constant | Op::SpecConstant => {
                let (kind, count) = self.result_of(one, |kind| kind != Scalar::Bool, "number")?;
                let is_extended = match one.operands.first() {
                    Some(Operand::LiteralBit32(bits)) if kind.bits() <= 32 => {
                        let own = kind.masked(u64::from(*bits));
                        let signed = matches!(kind, Scalar::Integer { signed: true, .. });
                        *bits == if signed { kind.extended(own) as u32 } else { own as u32 }
                    }
                    Some(Operand::LiteralBit64(_)) => kind.bits() == 64,
                    _ => false,
                };
                if count != 1 || !is_extended || one.operands.len() != 1 {
                    return Err(malformed(one, &format!("its literal is none of type {kind}")));
                }
            }
            Op::ConstantComposite | Op::SpecConstantComposite => self.constant_parts(one)?,
            Op::Variable => self.variable(one, false)?,
            _ => {}
        }
        Ok(())
    }

    /// Checks that the parts of a constant have the types that its type's parts have.
    fn constant_parts(&self, one: &dr::Instruction) -> Result<(), Error> {
        let result = self.result(one)?;
        if let Some(component) = self.component(result) {
            return self.have_type(one, 0, component);
        }
        match self.globals.types.get(&result) {
            Some(Type::Matrix { column: of, .. } | Type::Array { of, .. }) => self.have_type(one, 0, *of),
            Some(Type::Struct { members }) => {
                let mut pairs = members.iter().enumerate().take(one.operands.len());
                pairs.try_for_each(|(place, of)| self.has_type(one, place, *of))
            }
            _ => Err(malformed(one, "its type is no composite")),
        }
    }

    /// Checks that the module has a capability for numbers of a width.
    fn width(&self, one: &dr::Instruction, kind: Scalar) -> Result<(), Error> {
        let own = match kind {
            Scalar::Integer { bits: 8, .. } => Capability::Int8,
            Scalar::Integer { bits: 16, .. } => Capability::Int16,
            Scalar::Integer { bits: 64, .. } => Capability::Int64,
            Scalar::Float { bits: 16 } => Capability::Float16,
            Scalar::Float { bits: 64 } => Capability::Float64,
            Scalar::Integer { .. } | Scalar::Float { .. } | Scalar::Bool => return Ok(()),
        };
        let storage: &[Capability] = match kind.bits() {
            8 => &[
                Capability::StorageBuffer8BitAccess,
                Capability::UniformAndStorageBuffer8BitAccess,
                Capability::StoragePushConstant8,
            ],
            16 => &[
                Capability::StorageBuffer16BitAccess,
                Capability::UniformAndStorageBuffer16BitAccess,
                Capability::StoragePushConstant16,
                Capability::StorageInputOutput16,
            ],
            _ => &[],
        };
        if std::iter::once(&own).chain(storage).any(|one| self.capabilities.contains(one)) {
            return Ok(());
        }
        Err(malformed(one, &format!("type {kind} needs the capability {own:?}")))
    }
}

/// Returns whether a set of instructions has a name that SPIR-V knows.
fn is_known_set(name: &str) -> bool {
    ["GLSL.std.450", "OpenCL.std", "OpenCL.DebugInfo.100", "DebugInfo"].contains(&name)
        || name.starts_with("SPV_AMD_")
        || name.starts_with("NonSemantic.")
}

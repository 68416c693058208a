//! Names and decorations: what they may be given to, and how often.

#![expect(clippy::wildcard_enum_match_arm, reason = "SPIR-V has hundreds of decorations, and gets more")]

use std::collections::HashSet;

use rspirv::dr::{self, Operand};
use rspirv::spirv::{BuiltIn, Decoration, Op, StorageClass, Word};

use super::Checker;
use crate::Error;
use crate::spirv::types::{Type, malformed};

impl Checker<'_> {
    /// Validates names and decorations.
    pub(super) fn targets(&self) -> Result<(), Error> {
        for one in self.module.debug_string_source.iter().filter(|one| one.class.opcode == Op::Source) {
            for file in one.operands.iter().filter_map(Operand::id_ref_any) {
                if self.results.get(&file).is_none_or(|found| found.class.opcode != Op::String) {
                    return Err(malformed(one, &format!("%{file} is no string")));
                }
            }
        }
        let mut seen = HashSet::new();
        for one in self.module.debug_names.iter().chain(&self.module.annotations) {
            let Some(Operand::IdRef(target)) = one.operands.first() else { continue };
            let Some(found) = self.results.get(target).copied() else {
                return Err(malformed(one, &format!("%{target} is nowhere declared")));
            };
            let member = match (one.class.opcode, one.operands.get(1)) {
                (Op::MemberName | Op::MemberDecorate, Some(Operand::LiteralBit32(member))) => {
                    let Some(Type::Struct { members }) = self.globals.types.get(target) else {
                        return Err(malformed(one, &format!("%{target} is no struct")));
                    };
                    if *member as usize >= members.len() {
                        return Err(malformed(one, &format!("%{target} has no member {member}")));
                    }
                    Some(*member)
                }
                _ => None,
            };
            let place = if member.is_some() { 2 } else { 1 };
            let Some(Operand::Decoration(decoration)) = one.operands.get(place) else { continue };
            let is_right = match member {
                Some(_) => !is_of_ids(*decoration),
                None => self.may_have(*decoration, found, one.operands.get(2)),
            };
            if !is_right {
                return Err(malformed(one, &format!("%{target} cannot have the decoration {decoration:?}")));
            }
            if !seen.insert((*target, member, *decoration)) && is_given_once(*decoration) {
                return Err(malformed(one, &format!("%{target} has the decoration {decoration:?} twice")));
            }
        }
        self.excluded(&seen)?;
        self.layouts(&seen)
    }

    /// Checks that nothing has two decorations that exclude each other.
    fn excluded(&self, seen: &HashSet<(Word, Option<u32>, Decoration)>) -> Result<(), Error> {
        for (one, other) in [
            (Decoration::Block, Decoration::BufferBlock),
            (Decoration::Restrict, Decoration::Aliased),
            (Decoration::RowMajor, Decoration::ColMajor),
        ] {
            let both = |(target, member, found): &&(Word, Option<u32>, Decoration)| {
                *found == one && seen.contains(&(*target, *member, other))
            };
            if let Some((target, ..)) = seen.iter().find(both) {
                let why = format!("%{target} has both decorations {one:?} and {other:?}");
                return Err(Error::Malformed { why });
            }
        }
        Ok(())
    }

    /// Returns whether the result of an instruction can have a decoration.
    fn may_have(&self, decoration: Decoration, found: &dr::Instruction, operand: Option<&Operand>) -> bool {
        let opcode = found.class.opcode;
        let is_variable = opcode == Op::Variable;
        match decoration {
            Decoration::SpecId => {
                matches!(opcode, Op::SpecConstant | Op::SpecConstantTrue | Op::SpecConstantFalse)
            }
            Decoration::Block | Decoration::BufferBlock => opcode == Op::TypeStruct,
            Decoration::ArrayStride => {
                matches!(opcode, Op::TypeArray | Op::TypeRuntimeArray | Op::TypePointer)
            }
            Decoration::RowMajor | Decoration::ColMajor | Decoration::MatrixStride => false,
            Decoration::BuiltIn if operand == Some(&Operand::BuiltIn(BuiltIn::WorkgroupSize)) => {
                opcode.is_constant()
            }
            Decoration::BuiltIn
            | Decoration::Invariant
            | Decoration::Location
            | Decoration::Binding
            | Decoration::DescriptorSet => is_variable,
            Decoration::NoPerspective
            | Decoration::Flat
            | Decoration::Centroid
            | Decoration::Restrict
            | Decoration::Aliased
            | Decoration::Coherent
            | Decoration::NonWritable
            | Decoration::NonReadable => {
                let is_pointer = found
                    .result_type
                    .is_some_and(|of| matches!(self.globals.types.get(&of), Some(Type::Pointer { .. })));
                is_variable || opcode == Op::FunctionParameter && is_pointer
            }
            _ => true,
        }
    }

    /// Checks that the parts of blocks have offsets and strides.
    fn layouts(&self, seen: &HashSet<(Word, Option<u32>, Decoration)>) -> Result<(), Error> {
        let mut checked = HashSet::new();
        for one in self.module.types_global_values.iter().filter(|one| one.class.opcode == Op::Variable) {
            let Some(Type::Pointer { class, to }) =
                one.result_type.and_then(|of| self.globals.types.get(&of))
            else {
                continue;
            };
            let is_buffer = matches!(
                class,
                StorageClass::Uniform | StorageClass::StorageBuffer | StorageClass::PushConstant
            );
            let is_block = [Decoration::Block, Decoration::BufferBlock]
                .iter()
                .any(|decoration| seen.contains(&(*to, None, *decoration)));
            if is_buffer && is_block {
                self.layout(one, *to, seen, &mut checked)?;
            }
        }
        Ok(())
    }

    /// Checks that the parts of a type have offsets and strides, once for each type: structs of structs have very many parts. Types do not
    /// contain themselves.
    fn layout(
        &self,
        one: &dr::Instruction,
        of: Word,
        seen: &HashSet<(Word, Option<u32>, Decoration)>,
        checked: &mut HashSet<Word>,
    ) -> Result<(), Error> {
        if !checked.insert(of) {
            return Ok(());
        }
        let missing = |of: Word, what: &str| Err(malformed(one, &format!("%{of} in its type has no {what}")));
        match self.globals.types.get(&of) {
            Some(Type::Array { of: element, .. }) => {
                if !seen.contains(&(of, None, Decoration::ArrayStride)) {
                    return missing(of, "ArrayStride");
                }
                self.layout(one, *element, seen, checked)
            }
            Some(Type::Struct { members }) => {
                for (place, member) in (0..).zip(members) {
                    let has = |decoration| seen.contains(&(of, Some(place), decoration));
                    if !has(Decoration::Offset) {
                        return missing(of, &format!("Offset of member {place}"));
                    }
                    if self.has_matrices(*member) {
                        if !has(Decoration::MatrixStride) {
                            return missing(of, &format!("MatrixStride of member {place}"));
                        }
                        if !has(Decoration::RowMajor) && !has(Decoration::ColMajor) {
                            return missing(of, &format!("RowMajor or ColMajor of member {place}"));
                        }
                    }
                    self.layout(one, *member, seen, checked)?;
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// Returns whether a type is a matrix, or an array of them.
    fn has_matrices(&self, of: Word) -> bool {
        match self.globals.types.get(&of) {
            Some(Type::Matrix { .. }) => true,
            Some(Type::Array { of, .. }) => self.has_matrices(*of),
            _ => false,
        }
    }
}

/// Returns whether a decoration belongs to ids, and not to members of structs.
fn is_of_ids(decoration: Decoration) -> bool {
    matches!(
        decoration,
        Decoration::SpecId
            | Decoration::Block
            | Decoration::BufferBlock
            | Decoration::ArrayStride
            | Decoration::Uniform
            | Decoration::Binding
            | Decoration::DescriptorSet
            | Decoration::NoContraction
            | Decoration::NoSignedWrap
            | Decoration::NoUnsignedWrap
            | Decoration::NonUniform
            | Decoration::Restrict
            | Decoration::Aliased
    )
}

/// Returns whether a decoration may be given once only.
fn is_given_once(decoration: Decoration) -> bool {
    matches!(
        decoration,
        Decoration::ArrayStride
            | Decoration::Offset
            | Decoration::MatrixStride
            | Decoration::RowMajor
            | Decoration::ColMajor
    )
}

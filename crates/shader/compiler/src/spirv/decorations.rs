//! Decorations of a module.

use std::collections::HashMap;

use rspirv::dr::{self, Operand};
use rspirv::spirv::{Decoration, Op, Word};

use crate::Error;
use crate::spirv::types::malformed;

/// Decorations, each with its number if it has one.
type List = Vec<(Decoration, Option<u32>)>;

/// Decorations of a module that matter, by what they decorate.
#[derive(Debug, Default)]
pub(crate) struct Decorations {
    /// Those of ids.
    ids: HashMap<Word, List>,
    /// Those of members of structs.
    members: HashMap<(Word, u32), List>,
}

impl Decorations {
    /// Returns the decorations of a module.
    ///
    /// # Errors
    /// [`Error::Decoration`] for one that changes what the module means, and is not supported; [`Error::Opcode`] for groups of
    /// decorations; [`Error::Malformed`].
    pub(crate) fn of(module: &dr::Module) -> Result<Self, Error> {
        let mut found = Self::default();
        for one in &module.annotations {
            let number = |place| match one.operands.get(place) {
                Some(Operand::LiteralBit32(number)) => Some(*number),
                Some(Operand::BuiltIn(builtin)) => Some(*builtin as u32),
                _ => None,
            };
            let (list, decoration, number) = match (one.class.opcode, one.operands.as_slice()) {
                (Op::Decorate, [Operand::IdRef(target), Operand::Decoration(decoration), ..]) => {
                    (found.ids.entry(*target).or_default(), *decoration, number(2))
                }
                (
                    Op::MemberDecorate,
                    [
                        Operand::IdRef(target),
                        Operand::LiteralBit32(member),
                        Operand::Decoration(decoration),
                        ..,
                    ],
                ) => (found.members.entry((*target, *member)).or_default(), *decoration, number(3)),
                (Op::Decorate | Op::MemberDecorate, _) => return Err(malformed(one, "it has no decoration")),
                (opcode, _) => return Err(Error::Opcode { name: format!("Op{opcode:?}") }),
            };
            if !is_supported(decoration) {
                return Err(Error::Decoration { name: format!("{decoration:?}") });
            }
            list.push((decoration, number));
        }
        Ok(found)
    }

    /// Returns the number of a decoration of an id, if it has that.
    pub(crate) fn number(&self, target: Word, decoration: Decoration) -> Option<u32> {
        let found = self.ids.get(&target)?.iter().find(|(one, _)| *one == decoration);
        found.map(|(_, number)| number.unwrap_or_default())
    }

    /// Returns the number of a decoration of a struct's member, if it has that.
    pub(crate) fn member(&self, target: Word, member: u32, decoration: Decoration) -> Option<u32> {
        let found = self.members.get(&(target, member))?.iter().find(|(one, _)| *one == decoration);
        found.map(|(_, number)| number.unwrap_or_default())
    }
}

/// Returns whether a decoration is supported, or may be ignored.
fn is_supported(decoration: Decoration) -> bool {
    matches!(
        decoration,
        Decoration::SpecId
            | Decoration::Block
            | Decoration::BufferBlock
            | Decoration::RowMajor
            | Decoration::ColMajor
            | Decoration::ArrayStride
            | Decoration::MatrixStride
            | Decoration::Offset
            | Decoration::BuiltIn
            | Decoration::Location
            | Decoration::Binding
            | Decoration::DescriptorSet
            // Full precision, in the module's order, without fused operations, satisfies these.
            | Decoration::RelaxedPrecision
            | Decoration::NoContraction
            | Decoration::Invariant
            // Accesses to surfaces are neither reordered nor merged.
            | Decoration::Restrict
            | Decoration::Aliased
            | Decoration::Coherent
            | Decoration::NonWritable
            | Decoration::NonReadable
            | Decoration::Uniform
            | Decoration::NonUniform
            // The caller has interpolated the inputs of each pixel.
            | Decoration::Flat
            | Decoration::NoPerspective
            | Decoration::Centroid
            // Results that overflow are undefined.
            | Decoration::NoSignedWrap
            | Decoration::NoUnsignedWrap
    )
}

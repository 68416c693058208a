//! The layout of buffers: the bytes before each part.

use rspirv::dr;
use rspirv::spirv::{Decoration, Word};

use crate::Error;
use crate::ir::Scalar;
use crate::spirv::types::{Type, malformed, unsupported};
use crate::translate::Translator;
use crate::translate::values::data::Part;

/// The layout of the matrices of a buffer's member.
#[derive(Clone, Copy, Debug)]
pub(in crate::translate) struct Matrices {
    stride: u32,
    row_major: bool,
}

/// A part of a buffer: its type, the number of bytes before it, and the layout of its matrices.
pub(in crate::translate) type Located = (Part, u32, Option<Matrices>);

impl Translator<'_> {
    /// Returns a part of a buffer's part. The index of an array without a length is not checked.
    pub(in crate::translate) fn part_of_buffer(
        &self,
        one: &dr::Instruction,
        of: Word,
        index: u32,
        matrices: Option<Matrices>,
    ) -> Result<Located, Error> {
        let missing = |what: &str| malformed(one, &format!("%{of} has no {what}"));
        let times =
            |stride: u32| index.checked_mul(stride).ok_or_else(|| malformed(one, "an offset is too large"));
        // Memory is accessed by dwords: each number has to be inside one, or to begin one.
        let is_aligned = |part: Word, bytes: u32| {
            let widest = self.globals.size(part).map_or(1, |size| size.widest.min(4));
            bytes.checked_rem(widest) == Some(0)
        };
        let unaligned = || Error::Type {
            name: "offsets and strides that are no multiples of their numbers' sizes".to_owned(),
        };
        match self.globals.types.get(&of) {
            Some(Type::Struct { members }) => {
                let member = *members.get(index as usize).ok_or_else(|| missing("such member"))?;
                let number = |decoration| self.decorations.member(of, index, decoration);
                let offset = number(Decoration::Offset).ok_or_else(|| missing("offset of a member"))?;
                let row_major = number(Decoration::RowMajor).is_some();
                let matrices = number(Decoration::MatrixStride).map(|stride| Matrices { stride, row_major });
                let strides_fit = matrices.is_none_or(|found| is_aligned(member, found.stride));
                if !is_aligned(member, offset) || !strides_fit {
                    return Err(unaligned());
                }
                Ok((Part::Type(member), offset, matrices))
            }
            Some(Type::Array { of: element, count }) => {
                if count.is_some_and(|count| u64::from(index) >= count) {
                    return Err(missing("such element"));
                }
                let stride = self.decorations.number(of, Decoration::ArrayStride);
                let stride = stride.filter(|stride| *stride > 0).ok_or_else(|| missing("stride"))?;
                if !is_aligned(*element, stride) {
                    return Err(unaligned());
                }
                Ok((Part::Type(*element), times(stride)?, matrices))
            }
            Some(Type::Matrix { column, count }) => {
                let found = matrices.ok_or_else(|| missing("matrix stride"))?;
                let Some(Type::Vector { of: number, .. }) = self.globals.types.get(column) else {
                    return Err(missing("columns"));
                };
                if index >= *count {
                    return Err(missing("such column"));
                }
                let bytes = u32::from(number.bits()) / 8;
                let step = if found.row_major { bytes } else { found.stride };
                // The components of a column are as far apart as rows.
                let column_of = found.row_major.then_some(found);
                Ok((Part::Type(*column), times(step)?, column_of))
            }
            Some(Type::Vector { of: number, count }) => {
                if index >= *count {
                    return Err(missing("such component"));
                }
                let step = matrices.map_or(u32::from(number.bits()) / 8, |found| found.stride);
                Ok((Part::Number(*number), times(step)?, None))
            }
            _ => Err(missing("parts")),
        }
    }

    /// Returns an element of a buffer's part, and the bytes from each to the next one.
    pub(in crate::translate) fn element_of_buffer(
        &self,
        one: &dr::Instruction,
        of: Word,
        matrices: Option<Matrices>,
    ) -> Result<Located, Error> {
        match self.globals.types.get(&of) {
            // The array has no second element, whose offset is the stride.
            Some(Type::Array { count: Some(1), .. }) => self.part_of_buffer(one, of, 0, matrices),
            Some(Type::Array { .. } | Type::Matrix { .. } | Type::Vector { .. }) => {
                self.part_of_buffer(one, of, 1, matrices)
            }
            _ => Err(malformed(one, "an index that is no constant chooses none of the elements of an array")),
        }
    }

    /// Returns the numbers of a buffer's part: their types, and the bytes before them.
    pub(in crate::translate) fn numbers_of_buffer(
        &self,
        one: &dr::Instruction,
        of: Part,
        matrices: Option<Matrices>,
    ) -> Result<Vec<(Scalar, u32)>, Error> {
        // This refuses a part that has too many of them.
        self.kinds(of)?;
        let mut found = Vec::new();
        self.add_numbers_of_buffer(one, (of, 0, matrices), &mut found)?;
        Ok(found)
    }

    fn add_numbers_of_buffer(
        &self,
        one: &dr::Instruction,
        (of, start, matrices): Located,
        found: &mut Vec<(Scalar, u32)>,
    ) -> Result<(), Error> {
        let number = |kind: Scalar| match kind {
            Scalar::Bool => Err(Error::Type { name: "booleans in buffers".to_owned() }),
            Scalar::Integer { .. } | Scalar::Float { .. } => Ok((kind, start)),
        };
        let of = match of {
            Part::Number(kind) => {
                found.push(number(kind)?);
                return Ok(());
            }
            Part::Type(of) => of,
        };
        let count = match self.globals.types.get(&of) {
            Some(Type::Scalar(kind)) => {
                found.push(number(*kind)?);
                return Ok(());
            }
            Some(Type::Vector { count, .. } | Type::Matrix { count, .. }) => *count,
            Some(Type::Struct { members }) => members.len() as u32,
            Some(Type::Array { count: Some(count), .. }) => *count as u32,
            _ => return Err(unsupported(one)),
        };
        for index in 0..count {
            let (part, bytes, matrices) = self.part_of_buffer(one, of, index, matrices)?;
            let start = start.checked_add(bytes).ok_or_else(|| malformed(one, "an offset is too large"))?;
            self.add_numbers_of_buffer(one, (part, start, matrices), found)?;
        }
        Ok(())
    }
}

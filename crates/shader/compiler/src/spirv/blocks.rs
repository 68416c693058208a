//! Sizes of the blocks of a shader: what its buffers and its push constants have to hold.

use rspirv::dr;
use rspirv::spirv::{Decoration, Op, StorageClass, Word};

use crate::Error;
use crate::interface::Binding;
use crate::spirv::decorations::Decorations;
use crate::spirv::intake::Shader;
use crate::spirv::types::{Globals, Type, malformed};

/// Deepest nesting of types, so that no walk over them is endless.
const DEEPEST: usize = 32;

/// A block of a shader: the contents of a buffer, or of the push constants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Block {
    /// Its use by the shader.
    pub binding: Binding,
    /// Its bytes, without an array at its end whose length the buffer determines.
    pub bytes: u64,
    /// The bytes of an element of that array; none if there is no such array.
    pub element: Option<u64>,
}

impl Shader {
    /// Returns the blocks that the module declares, in its order. The lengths of arrays are those of the chosen specialization
    /// constants.
    ///
    /// # Errors
    /// [`Error::NotSpecialized`]; [`Error::Malformed`], and those of types and decorations that are not supported.
    pub fn blocks(&self) -> Result<Vec<Block>, Error> {
        let chosen = self.chosen.as_ref().ok_or(Error::NotSpecialized)?;
        let globals = Globals::of(&self.module, &chosen.values)?;
        let layout = Layout { globals, decorations: Decorations::of(&self.module)? };
        let variables = self.module.types_global_values.iter().filter(|one| one.class.opcode == Op::Variable);
        variables.filter_map(|one| layout.block(one).transpose()).collect()
    }
}

/// The types of a module, and the decorations that say where their parts are.
struct Layout {
    globals: Globals,
    decorations: Decorations,
}

impl Layout {
    /// Returns the block that a variable declares, if it declares one.
    fn block(&self, one: &dr::Instruction) -> Result<Option<Block>, Error> {
        let (Some(result), Type::Pointer { class, to }) = (one.result_id, self.globals.result_type(one)?)
        else {
            return Ok(None);
        };
        let is_buffer = matches!(class, StorageClass::StorageBuffer | StorageClass::Uniform);
        let binding = if is_buffer {
            let number = |decoration| self.decorations.number(result, decoration).unwrap_or(0);
            Binding::Buffer { set: number(Decoration::DescriptorSet), binding: number(Decoration::Binding) }
        } else if *class == StorageClass::PushConstant {
            Binding::Push
        } else {
            return Ok(None);
        };
        let (bytes, element) = self.extent(one, *to, 0)?;
        Ok(Some(Block { binding, bytes, element }))
    }

    /// Returns the bytes of a type, and those of an element if an array without a length is at its end.
    fn extent(&self, one: &dr::Instruction, id: Word, depth: usize) -> Result<(u64, Option<u64>), Error> {
        if depth > DEEPEST {
            return Err(malformed(one, "its type is nested too deeply"));
        }
        let stride = || u64::from(self.decorations.number(id, Decoration::ArrayStride).unwrap_or(0));
        match self.globals.types.get(&id) {
            Some(Type::Scalar(scalar)) => Ok((u64::from(scalar.bits()).div_ceil(8), None)),
            Some(Type::Vector { of, count }) => {
                Ok((u64::from(of.bits()).div_ceil(8) * u64::from(*count), None))
            }
            Some(Type::Matrix { column, count }) => {
                let (column, _) = self.extent(one, *column, depth + 1)?;
                Ok((column.saturating_mul(u64::from(*count)), None))
            }
            Some(Type::Array { count: Some(count), .. }) => Ok((stride().saturating_mul(*count), None)),
            Some(Type::Array { count: None, .. }) => Ok((0, Some(stride()))),
            Some(Type::Struct { members }) => {
                let (mut bytes, mut element) = (0, None);
                for (place, member) in (0..).zip(members) {
                    let offset = self.decorations.member(id, place, Decoration::Offset);
                    let (len, of) = match self.matrix(*member, id, place) {
                        Some(len) => (len, None),
                        None => self.extent(one, *member, depth + 1)?,
                    };
                    bytes = u64::max(bytes, u64::from(offset.unwrap_or(0)).saturating_add(len));
                    element = element.or(of);
                }
                Ok((bytes, element))
            }
            Some(Type::Void | Type::Pointer { .. } | Type::Function { .. }) | None => {
                Err(malformed(one, "its type has no size"))
            }
        }
    }

    /// Returns the bytes of a member that is a matrix, by its stride.
    fn matrix(&self, id: Word, of: Word, place: u32) -> Option<u64> {
        let Type::Matrix { column, count } = self.globals.types.get(&id)? else { return None };
        let Type::Vector { count: rows, .. } = self.globals.types.get(column)? else { return None };
        let stride = self.decorations.member(of, place, Decoration::MatrixStride)?;
        let is_row_major = self.decorations.member(of, place, Decoration::RowMajor).is_some();
        Some(u64::from(stride) * u64::from(if is_row_major { *rows } else { *count }))
    }
}

#[cfg(test)]
mod tests {
    use rspirv::binary::Assemble;
    use rspirv::dr::{Builder, Operand};
    use rspirv::spirv::{AddressingModel, Capability, ExecutionModel, FunctionControl, MemoryModel};

    use super::*;
    use crate::{Features, Stage};

    /// Declares a struct whose members are at these offsets, as a block of a storage class.
    fn declare(made: &mut Builder, class: StorageClass, members: &[(Word, u32)]) -> [Word; 2] {
        let block = made.type_struct(members.iter().map(|(member, _)| *member));
        for (place, (_, offset)) in (0..).zip(members) {
            made.member_decorate(block, place, Decoration::Offset, [Operand::LiteralBit32(*offset)]);
        }
        made.decorate(block, Decoration::Block, []);
        let pointer = made.type_pointer(None, class, block);
        [block, made.variable(pointer, None, class, None)]
    }

    /// Binds a variable.
    fn bind(made: &mut Builder, variable: Word, set: u32, binding: u32) {
        made.decorate(variable, Decoration::DescriptorSet, [Operand::LiteralBit32(set)]);
        made.decorate(variable, Decoration::Binding, [Operand::LiteralBit32(binding)]);
    }

    /// Ends the module with an empty function, and returns the blocks of its shader.
    fn blocks(mut made: Builder, values: &[(u32, u64)]) -> Vec<Block> {
        let void = made.type_void();
        let function = made.type_function(void, []);
        let main = made.begin_function(void, None, FunctionControl::NONE, function).unwrap();
        made.begin_block(None).unwrap();
        made.ret().unwrap();
        made.end_function().unwrap();
        made.entry_point(ExecutionModel::GLCompute, main, "main", []);
        let bytes: Vec<u8> = made.module().assemble().iter().flat_map(|word| word.to_le_bytes()).collect();
        let mut shader = Shader::read(&bytes).unwrap();
        assert_eq!(shader.blocks(), Err(Error::NotSpecialized));
        let features = Features { capabilities: vec![Capability::Shader], extensions: Vec::new() };
        shader.specialize("main", Stage::Compute, values, &features).unwrap();
        shader.blocks().unwrap()
    }

    /// Begins a module.
    fn module() -> Builder {
        let mut made = Builder::new();
        made.capability(Capability::Shader);
        made.memory_model(AddressingModel::Logical, MemoryModel::GLSL450);
        made
    }

    #[test]
    fn a_block_ends_with_its_last_member() {
        let mut made = module();
        let float = made.type_float(32, None);
        let vector = made.type_vector(float, 3);
        let inner = made.type_struct([float, vector]);
        made.member_decorate(inner, 1, Decoration::Offset, [Operand::LiteralBit32(16)]);
        // Members need not be in the order of their offsets.
        let [_, uniform] = declare(&mut made, StorageClass::Uniform, &[(inner, 32), (float, 4)]);
        bind(&mut made, uniform, 2, 7);
        let [_, _] = declare(&mut made, StorageClass::PushConstant, &[(vector, 0)]);
        let uniform = Binding::Buffer { set: 2, binding: 7 };
        assert_eq!(
            blocks(made, &[]),
            [
                Block { binding: uniform, bytes: 32 + 16 + 12, element: None },
                Block { binding: Binding::Push, bytes: 12, element: None },
            ]
        );
    }

    #[test]
    fn matrices_and_arrays_have_strides() {
        let mut made = module();
        let float = made.type_float(32, None);
        let column = made.type_vector(float, 2);
        let matrix = made.type_matrix(column, 4);
        let uint = made.type_int(32, 0);
        let count = made.spec_constant_bit32(uint, 5);
        made.decorate(count, Decoration::SpecId, [Operand::LiteralBit32(3)]);
        let array = made.type_array(float, count);
        made.decorate(array, Decoration::ArrayStride, [Operand::LiteralBit32(16)]);
        let endless = made.type_runtime_array(column);
        made.decorate(endless, Decoration::ArrayStride, [Operand::LiteralBit32(8)]);
        let block = |made: &mut Builder, binding, members: &[_], order| {
            let [block, variable] = declare(made, StorageClass::StorageBuffer, members);
            made.member_decorate(block, 0, Decoration::MatrixStride, [Operand::LiteralBit32(32)]);
            made.member_decorate(block, 0, order, []);
            bind(made, variable, 0, binding);
        };
        block(&mut made, 0, &[(matrix, 0)], Decoration::ColMajor);
        block(&mut made, 1, &[(matrix, 0), (float, 64)], Decoration::RowMajor);
        block(&mut made, 2, &[(matrix, 0), (array, 128), (endless, 256)], Decoration::ColMajor);
        let found = blocks(made, &[(3, 7)]);
        let sizes: Vec<_> = found.iter().map(|block| (block.bytes, block.element)).collect();
        assert_eq!(sizes, [(4 * 32, None), (2 * 32 + 4, None), (256, Some(8))]);
    }

    #[test]
    fn an_array_has_the_length_that_was_chosen() {
        for (values, bytes) in [(&[][..], 5 * 16), (&[(3, 7)], 7 * 16)] {
            let mut made = module();
            let float = made.type_float(32, None);
            let uint = made.type_int(32, 0);
            let count = made.spec_constant_bit32(uint, 5);
            made.decorate(count, Decoration::SpecId, [Operand::LiteralBit32(3)]);
            let array = made.type_array(float, count);
            made.decorate(array, Decoration::ArrayStride, [Operand::LiteralBit32(16)]);
            declare(&mut made, StorageClass::StorageBuffer, &[(array, 0)]);
            let found = blocks(made, values);
            assert_eq!(found.iter().map(|block| block.bytes).collect::<Vec<_>>(), [bytes]);
        }
    }
}

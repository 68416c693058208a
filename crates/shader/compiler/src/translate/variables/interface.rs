//! Variables of a module: those of lanes, inputs, outputs, and buffers.

use std::collections::HashSet;

use rspirv::dr;
use rspirv::spirv::{BuiltIn, Decoration, Op, StorageClass, Word};

use crate::Error;
use crate::interface::{Binding, Stage};
use crate::ir::{Binary, Input, Node, Operation, Scalar, Value};
use crate::spirv::types::{Type, malformed};
use crate::translate::values::data::{Data, Part};
use crate::translate::variables::memory::{Place, Pointer};
use crate::translate::{Translator, UINT};

impl Translator<'_> {
    /// Declares the variables of the module that the entry point reaches.
    pub(in crate::translate) fn variables(&mut self, reached: &HashSet<Word>) -> Result<(), Error> {
        for one in &self.module.types_global_values {
            if one.class.opcode == Op::Variable && one.result_id.is_some_and(|id| reached.contains(&id)) {
                self.declare(one)?;
            }
        }
        Ok(())
    }

    /// Declares a variable.
    pub(in crate::translate) fn declare(&mut self, one: &dr::Instruction) -> Result<(), Error> {
        let Some(result) = one.result_id else { return Err(malformed(one, "it has no result")) };
        let Type::Pointer { class, to } = *self.result_type(one)? else {
            return Err(malformed(one, "its type is no pointer"));
        };
        let place = match class {
            StorageClass::Function | StorageClass::Private => {
                let kinds = self.numbers(to)?;
                let variables: Vec<_> = kinds.iter().map(|kind| self.program.variable(*kind)).collect();
                if one.operands.len() > 1 {
                    let data = self.operand(one, 1)?;
                    if data.len() != variables.len() {
                        return Err(malformed(one, "its first value has another type"));
                    }
                    for (variable, value) in variables.iter().zip(data) {
                        self.add(Node::StoreVar(*variable, value))?;
                    }
                }
                Place::Variables(variables)
            }
            StorageClass::StorageBuffer | StorageClass::Uniform => {
                let number = |decoration| self.decorations.number(result, decoration);
                let (set, binding) = (number(Decoration::DescriptorSet), number(Decoration::Binding));
                let binding = Binding::Buffer { set: set.unwrap_or(0), binding: binding.unwrap_or(0) };
                self.buffer(to, binding)?
            }
            StorageClass::PushConstant => self.buffer(to, Binding::Push)?,
            StorageClass::Input => Place::Fixed(self.input(one, result, to)?),
            StorageClass::Output if self.stage == Stage::Fragment => self.output(one, result, to)?,
            _ => return Err(Error::Opcode { name: format!("storage class {class:?}") }),
        };
        let pointer = Pointer { place, first: 0, picks: Vec::new(), of: Part::Type(to) };
        self.pointers.insert(result, pointer);
        Ok(())
    }

    /// Returns the place of a buffer.
    fn buffer(&mut self, to: Word, binding: Binding) -> Result<Place, Error> {
        if !matches!(self.globals.types.get(&to), Some(Type::Struct { .. })) {
            return Err(Error::Type { name: "arrays of buffers".to_owned() });
        }
        let surface = self.surface(binding)?;
        Ok(Place::Surface(surface, self.uint(0)?, None))
    }

    /// Returns the numbers of an input.
    fn input(&mut self, one: &dr::Instruction, result: Word, to: Word) -> Result<Data, Error> {
        if let Some(builtin) = self.decorations.number(result, Decoration::BuiltIn) {
            let data = self.builtin(builtin)?;
            let kinds = self.numbers(to)?;
            return if self.has_kinds(&data, &kinds) {
                Ok(data)
            } else {
                Err(malformed(one, "a built-in input has another type"))
            };
        }
        let location = self.decorations.number(result, Decoration::Location);
        let (Stage::Fragment, Some(location)) = (self.stage, location) else {
            return Err(malformed(one, "an input has neither a built-in meaning nor a location"));
        };
        let kinds = self.pixel_kinds(to)?;
        let surface = self.surface(Binding::Input { location })?;
        let pixel = self.pixel()?;
        let mut data = Data::new();
        for (place, kind) in kinds.into_iter().enumerate() {
            let offset = self.plus(pixel, place as u32 * 4)?;
            data.push(self.make(kind, Operation::Load(surface, offset))?);
        }
        Ok(data)
    }

    /// Returns the types of the numbers of an input or an output, which has 16 bytes for each pixel.
    fn pixel_kinds(&self, to: Word) -> Result<Vec<Scalar>, Error> {
        let is_vector = matches!(self.globals.types.get(&to), Some(Type::Scalar(_) | Type::Vector { .. }));
        let kinds = self.numbers(to)?;
        if !is_vector || kinds.iter().any(|kind| kind.bits() != 32) {
            let name = "inputs and outputs of a pixel other than vectors of 32-bit numbers".to_owned();
            return Err(Error::Type { name });
        }
        Ok(kinds)
    }

    /// Returns the offset of the lane's pixel in the surfaces of inputs and outputs.
    fn pixel(&mut self) -> Result<Value, Error> {
        let x = self.make(UINT, Operation::Input(Input::LocalId(0)))?;
        let y = self.make(UINT, Operation::Input(Input::LocalId(1)))?;
        let width = self.make(UINT, Operation::Input(Input::NumWorkgroups(0)))?;
        let row = self.make(UINT, Operation::Binary(Binary::Multiply, y, width))?;
        let place = self.make(UINT, Operation::Binary(Binary::Add, row, x))?;
        let bytes = self.uint(16)?;
        self.make(UINT, Operation::Binary(Binary::Multiply, place, bytes))
    }

    /// Returns the numbers of an input that has a built-in meaning.
    fn builtin(&mut self, builtin: u32) -> Result<Data, Error> {
        let stage = self.stage;
        let is = |which: BuiltIn| {
            let of = if which == BuiltIn::FragCoord { Stage::Fragment } else { Stage::Compute };
            builtin == which as u32 && stage == of
        };
        let mut three = |of: fn(u8) -> Input| -> Result<Data, Error> {
            (0..3).map(|way| self.make(UINT, Operation::Input(of(way)))).collect()
        };
        if is(BuiltIn::WorkgroupId) {
            return three(Input::WorkgroupId);
        }
        if is(BuiltIn::LocalInvocationId) {
            return three(Input::LocalId);
        }
        if is(BuiltIn::NumWorkgroups) {
            return three(Input::NumWorkgroups);
        }
        if is(BuiltIn::GlobalInvocationId) {
            let (groups, locals) = (three(Input::WorkgroupId)?, three(Input::LocalId)?);
            let sizes = self.program.group;
            let ways = groups.into_iter().zip(locals).zip(sizes);
            return ways
                .map(|((group, local), size)| {
                    let size = self.uint(size)?;
                    let first = self.make(UINT, Operation::Binary(Binary::Multiply, group, size))?;
                    self.make(UINT, Operation::Binary(Binary::Add, first, local))
                })
                .collect();
        }
        if is(BuiltIn::LocalInvocationIndex) {
            let locals = three(Input::LocalId)?;
            let [width, height, _] = self.program.group;
            let mut index = self.uint(0)?;
            for (local, times) in locals.into_iter().zip([1, width, width * height]) {
                let times = self.uint(times)?;
                let part = self.make(UINT, Operation::Binary(Binary::Multiply, local, times))?;
                index = self.make(UINT, Operation::Binary(Binary::Add, index, part))?;
            }
            return Ok(vec![index]);
        }
        if is(BuiltIn::WorkgroupSize) {
            return self.program.group.into_iter().map(|size| self.uint(size)).collect();
        }
        if is(BuiltIn::FragCoord) {
            let float = Scalar::Float { bits: 32 };
            let mut data: Data = (0..2)
                .map(|way| self.make(float, Operation::Input(Input::FragCoord(way))))
                .collect::<Result<_, _>>()?;
            for bits in [0.5_f32, 1.0] {
                data.push(self.make(float, Operation::Constant(u64::from(bits.to_bits())))?);
            }
            return Ok(data);
        }
        let name = BuiltIn::from_u32(builtin).map_or(String::new(), |builtin| format!("{builtin:?}"));
        Err(Error::Decoration { name: format!("BuiltIn {name} of an input of a {stage} shader") })
    }

    /// Returns the variables of an output, which are written when the program ends.
    fn output(&mut self, one: &dr::Instruction, result: Word, to: Word) -> Result<Place, Error> {
        if let Some(builtin) = self.decorations.number(result, Decoration::BuiltIn) {
            let name = BuiltIn::from_u32(builtin).map_or(String::new(), |builtin| format!("{builtin:?}"));
            return Err(Error::Decoration { name: format!("BuiltIn {name} of an output") });
        }
        let Some(location) = self.decorations.number(result, Decoration::Location) else {
            return Err(malformed(one, "an output has no location"));
        };
        let kinds = self.pixel_kinds(to)?;
        if self.bindings.contains(&Binding::Output { location }) {
            return Err(malformed(one, "another output has the same location"));
        }
        let surface = self.surface(Binding::Output { location })?;
        let variables: Vec<_> = kinds.iter().map(|kind| self.program.variable(*kind)).collect();
        for (variable, kind) in variables.iter().zip(kinds) {
            let zero = self.make(kind, Operation::Constant(0))?;
            self.add(Node::StoreVar(*variable, zero))?;
            self.outputs.push((surface, *variable, kind));
        }
        Ok(Place::Variables(variables))
    }

    /// Writes the outputs of a fragment shader.
    pub(in crate::translate) fn write_outputs(&mut self) -> Result<(), Error> {
        if self.outputs.is_empty() {
            return Ok(());
        }
        let pixel = self.pixel()?;
        let mut place = (None, 0);
        for (surface, variable, kind) in std::mem::take(&mut self.outputs) {
            place = if place.0 == Some(surface) { (place.0, place.1 + 4) } else { (Some(surface), 0) };
            let offset = self.plus(pixel, place.1)?;
            let value = self.make(kind, Operation::LoadVar(variable))?;
            self.add(Node::Store(surface, offset, value))?;
        }
        Ok(())
    }
}

//! Pointers: to variables of a lane, inputs, and buffers; loads and stores.

use rspirv::dr::{self, Operand};
use rspirv::spirv::MemoryAccess;

use crate::Error;
use crate::ir::{Binary, Comparison, Conversion, Node, Operation, Scalar, Surface, Value, Variable};
use crate::spirv::constants::Constant;
use crate::spirv::types::{Type, id, literal, malformed};
use crate::translate::values::data::{Data, Part};
use crate::translate::variables::layout::Matrices;
use crate::translate::{Translator, UINT};

/// An element that is chosen at run time.
#[derive(Clone, Copy, Debug)]
pub(in crate::translate) struct Pick {
    index: Value,
    /// Numbers of an element.
    stride: usize,
    /// Number of elements.
    count: usize,
}

/// The place of a pointer.
#[derive(Clone, Debug)]
pub(in crate::translate) enum Place {
    /// Numbers of variables.
    Variables(Vec<Variable>),
    /// Numbers that are never stored.
    Fixed(Data),
    /// Bytes of a surface, from an offset on.
    Surface(Surface, Value, Option<Matrices>),
}

/// A pointer.
#[derive(Clone, Debug)]
pub(in crate::translate) struct Pointer {
    /// The place.
    pub(in crate::translate) place: Place,
    /// The first number of variables or an input.
    pub(in crate::translate) first: usize,
    /// Elements that are chosen at run time, from the outermost one.
    pub(in crate::translate) picks: Vec<Pick>,
    /// The type of what it points to.
    pub(in crate::translate) of: Part,
}

impl Translator<'_> {
    /// Returns the pointer that is an operand.
    pub(in crate::translate) fn pointer(
        &self,
        one: &dr::Instruction,
        place: usize,
    ) -> Result<Pointer, Error> {
        let id = id(one, place)?;
        self.pointers.get(&id).cloned().ok_or_else(|| malformed(one, &format!("%{id} is no pointer")))
    }

    /// Copies the pointer that is an operand, if it is one; returns whether it is.
    pub(in crate::translate) fn copy_pointer(&mut self, one: &dr::Instruction) -> Result<bool, Error> {
        let Some(pointer) = self.pointers.get(&id(one, 0)?).cloned() else { return Ok(false) };
        self.pointers.insert(one.result_id.unwrap_or_default(), pointer);
        Ok(true)
    }

    /// Returns the sum of an offset and a constant.
    pub(in crate::translate) fn plus(&mut self, offset: Value, more: u32) -> Result<Value, Error> {
        if more == 0 {
            return Ok(offset);
        }
        let more = self.uint(more)?;
        self.make(UINT, Operation::Binary(Binary::Add, offset, more))
    }

    /// Returns an index as an unsigned integer of 32 bits.
    fn index(&mut self, one: &dr::Instruction, index: Value) -> Result<Value, Error> {
        match self.program.kind(index) {
            Scalar::Integer { bits: 32, .. } => Ok(index),
            Scalar::Bool | Scalar::Float { .. } => Err(malformed(one, "an index is no integer")),
            kind @ Scalar::Integer { .. } => {
                self.make(UINT, Operation::Convert(Conversion::Signed, kind, index))
            }
        }
    }

    /// Translates an access chain.
    pub(in crate::translate) fn chain(&mut self, one: &dr::Instruction) -> Result<(), Error> {
        let mut pointer = self.pointer(one, 0)?;
        for place in 1..one.operands.len() {
            let known = self.globals.constants.get(&id(one, place)?);
            let constant = match known {
                Some(Constant::Scalar(_, bits)) => Some(u32::try_from(*bits).unwrap_or(u32::MAX)),
                Some(Constant::Composite(_)) | None => None,
            };
            pointer = match constant {
                Some(index) => self.step(one, pointer, index)?,
                None => {
                    let index = self.number(one, place)?;
                    let index = self.index(one, index)?;
                    self.step_by(one, pointer, index)?
                }
            };
        }
        self.pointers.insert(one.result_id.unwrap_or_default(), pointer);
        Ok(())
    }

    /// Returns the pointer to a part.
    fn step(&mut self, one: &dr::Instruction, pointer: Pointer, index: u32) -> Result<Pointer, Error> {
        let Part::Type(of) = pointer.of else { return Err(malformed(one, "a number has no parts")) };
        let Pointer { place, first, picks, .. } = pointer;
        match place {
            Place::Surface(surface, offset, matrices) => {
                let (part, bytes, matrices) = self.part_of_buffer(one, of, index, matrices)?;
                let offset = self.plus(offset, bytes)?;
                Ok(Pointer { place: Place::Surface(surface, offset, matrices), first, picks, of: part })
            }
            Place::Variables(_) | Place::Fixed(_) => {
                let (part, more) =
                    self.part(of, index).ok_or_else(|| malformed(one, "a part does not exist"))?;
                Ok(Pointer { place, first: first + more, picks, of: part })
            }
        }
    }

    /// Returns the pointer to an element that is chosen at run time.
    fn step_by(&mut self, one: &dr::Instruction, pointer: Pointer, index: Value) -> Result<Pointer, Error> {
        let Part::Type(of) = pointer.of else { return Err(malformed(one, "a number has no parts")) };
        let Pointer { place, first, mut picks, .. } = pointer;
        if let Place::Surface(surface, offset, matrices) = place {
            let (part, bytes, matrices) = self.element_of_buffer(one, of, matrices)?;
            let stride = self.uint(bytes)?;
            let more = self.make(UINT, Operation::Binary(Binary::Multiply, index, stride))?;
            let offset = self.make(UINT, Operation::Binary(Binary::Add, offset, more))?;
            return Ok(Pointer { place: Place::Surface(surface, offset, matrices), first, picks, of: part });
        }
        let count = match self.globals.types.get(&of) {
            Some(Type::Vector { count, .. } | Type::Matrix { count, .. }) => *count as usize,
            Some(Type::Array { count: Some(count), .. }) => *count as usize,
            _ => {
                return Err(malformed(
                    one,
                    "an index that is no constant chooses none of the elements of an array",
                ));
            }
        };
        let (part, start) = self.part(of, 0).ok_or_else(|| malformed(one, "it has no parts"))?;
        let stride = self.part(of, 1).map_or(0, |(_, next)| next - start);
        picks.push(Pick { index, stride, count });
        Ok(Pointer { place, first, picks, of: part })
    }

    /// Translates a load.
    pub(in crate::translate) fn load(&mut self, one: &dr::Instruction) -> Result<Data, Error> {
        check_access(one, 1)?;
        let pointer = self.pointer(one, 0)?;
        self.load_from(one, &pointer)
    }

    /// Returns what a pointer points to.
    fn load_from(&mut self, one: &dr::Instruction, pointer: &Pointer) -> Result<Data, Error> {
        let Pointer { place, first, picks, of } = pointer;
        match place {
            Place::Surface(surface, offset, matrices) => {
                let mut data = Data::new();
                for (kind, bytes) in self.numbers_of_buffer(one, *of, *matrices)? {
                    let offset = self.plus(*offset, bytes)?;
                    data.push(self.make(kind, Operation::Load(*surface, offset))?);
                }
                Ok(data)
            }
            Place::Variables(_) | Place::Fixed(_) => {
                let kinds = self.kinds(*of)?;
                let numbers = kinds.into_iter().enumerate();
                numbers.map(|(more, kind)| self.get(one, place, first + more, picks, kind)).collect()
            }
        }
    }

    /// Returns a number of a variable or an input; elements that are chosen at run time are compared with every index.
    fn get(
        &mut self,
        one: &dr::Instruction,
        place: &Place,
        first: usize,
        picks: &[Pick],
        kind: Scalar,
    ) -> Result<Value, Error> {
        let Some((pick, rest)) = picks.split_first() else {
            let missing = || malformed(one, "a part does not exist");
            return match place {
                Place::Variables(variables) => {
                    let variable = *variables.get(first).ok_or_else(missing)?;
                    self.make(kind, Operation::LoadVar(variable))
                }
                Place::Fixed(data) => data.get(first).copied().ok_or_else(missing),
                Place::Surface(..) => Err(missing()),
            };
        };
        let mut found = self.get(one, place, first, rest, kind)?;
        for index in 1..pick.count {
            let other = self.get(one, place, first + index * pick.stride, rest, kind)?;
            let is = self.is(pick.index, index as u32)?;
            found = self.make(kind, Operation::Select(is, other, found))?;
        }
        Ok(found)
    }

    /// Returns whether an index is equal to a constant.
    fn is(&mut self, index: Value, constant: u32) -> Result<Value, Error> {
        let kind = self.program.kind(index);
        let constant = self.make(kind, Operation::Constant(u64::from(constant)))?;
        self.make(Scalar::Bool, Operation::Compare(Comparison::Equal, kind, index, constant))
    }

    /// Translates a store.
    pub(in crate::translate) fn store(&mut self, one: &dr::Instruction) -> Result<(), Error> {
        check_access(one, 2)?;
        let (pointer, data) = (self.pointer(one, 0)?, self.operand(one, 1)?);
        self.store_to(one, &pointer, &data)
    }

    /// Translates a copy from one place to another.
    pub(in crate::translate) fn copy(&mut self, one: &dr::Instruction) -> Result<(), Error> {
        check_access(one, 2)?;
        check_access(one, 3)?;
        let (to, from) = (self.pointer(one, 0)?, self.pointer(one, 1)?);
        let data = self.load_from(one, &from)?;
        self.store_to(one, &to, &data)
    }

    /// Stores numbers where a pointer points to.
    pub(in crate::translate) fn store_to(
        &mut self,
        one: &dr::Instruction,
        pointer: &Pointer,
        data: &[Value],
    ) -> Result<(), Error> {
        if !self.has_kinds(data, &self.kinds(pointer.of)?) {
            return Err(malformed(one, "the pointer is to another type"));
        }
        match &pointer.place {
            Place::Surface(surface, offset, matrices) => {
                let numbers = self.numbers_of_buffer(one, pointer.of, *matrices)?;
                for ((_, bytes), value) in numbers.into_iter().zip(data) {
                    let offset = self.plus(*offset, bytes)?;
                    self.add(Node::Store(*surface, offset, *value))?;
                }
                Ok(())
            }
            Place::Variables(variables) => {
                for (more, value) in data.iter().enumerate() {
                    self.set(one, variables, pointer.first + more, &pointer.picks, *value)?;
                }
                Ok(())
            }
            Place::Fixed(_) => Err(malformed(one, "an input is stored")),
        }
    }

    /// Stores a number in a variable; elements that are chosen at run time are compared with every index.
    fn set(
        &mut self,
        one: &dr::Instruction,
        variables: &[Variable],
        first: usize,
        picks: &[Pick],
        value: Value,
    ) -> Result<(), Error> {
        let Some((pick, rest)) = picks.split_first() else {
            let variable = *variables.get(first).ok_or_else(|| malformed(one, "a part does not exist"))?;
            return self.add(Node::StoreVar(variable, value));
        };
        for index in 0..pick.count {
            let is = self.is(pick.index, index as u32)?;
            let before = std::mem::take(&mut self.nodes);
            let stored = self.set(one, variables, first + index * pick.stride, rest, value);
            let nodes = std::mem::replace(&mut self.nodes, before);
            stored?;
            self.add(Node::If(is, nodes, Vec::new()))?;
        }
        Ok(())
    }

    /// Returns the surface and the offset of a pointer to a dword of a buffer.
    pub(in crate::translate) fn dword(
        &mut self,
        one: &dr::Instruction,
        place: usize,
    ) -> Result<(Surface, Value), Error> {
        let pointer = self.pointer(one, place)?;
        match (pointer.place, self.kinds(pointer.of)?.as_slice()) {
            (Place::Surface(surface, offset, _), [Scalar::Integer { bits: 32, .. }]) => Ok((surface, offset)),
            _ => Err(Error::Opcode {
                name: format!("Op{:?} on other than integers of 32 bits in buffers", one.class.opcode),
            }),
        }
    }

    /// Returns the length of the array at the end of a buffer.
    pub(in crate::translate) fn length(&mut self, one: &dr::Instruction) -> Result<Data, Error> {
        let pointer = self.pointer(one, 0)?;
        let (Place::Surface(surface, ..), Part::Type(of)) = (&pointer.place, pointer.of) else {
            return Err(malformed(one, "it is no buffer"));
        };
        let (part, start, _) = self.part_of_buffer(one, of, literal(one, 1)?, None)?;
        let array = match part {
            Part::Type(array)
                if matches!(self.globals.types.get(&array), Some(Type::Array { count: None, .. })) =>
            {
                array
            }
            Part::Type(_) | Part::Number(_) => {
                return Err(malformed(one, "the member is no array without a length"));
            }
        };
        let (_, stride, _) = self.element_of_buffer(one, array, None)?;
        let bytes = self.make(UINT, Operation::Size(*surface))?;
        let (start, stride) = (self.uint(start)?, self.uint(stride)?);
        // A buffer may end before the array begins.
        let end = self.make(UINT, Operation::Binary(Binary::Maximum { signed: false }, bytes, start))?;
        let rest = self.make(UINT, Operation::Binary(Binary::Subtract, end, start))?;
        let divide = Operation::Binary(Binary::Divide { signed: false }, rest, stride);
        Ok(vec![self.make(UINT, divide)?])
    }
}

/// Checks that the memory operands of an access, if it has any, require nothing special.
fn check_access(one: &dr::Instruction, place: usize) -> Result<(), Error> {
    let plain = MemoryAccess::ALIGNED | MemoryAccess::NONTEMPORAL;
    match one.operands.get(place) {
        Some(Operand::MemoryAccess(access)) if !plain.contains(*access) => {
            Err(Error::Opcode { name: format!("Op{:?} with {access:?}", one.class.opcode) })
        }
        _ => Ok(()),
    }
}

//! Pointers, variables, loads, stores and atomic operations.

#![expect(clippy::wildcard_enum_match_arm, reason = "SPIR-V has hundreds of opcodes, and gets more")]

use rspirv::dr::{self, Operand};
use rspirv::spirv::{Op, StorageClass, Word};

use super::{Checker, integer, same_count};
use crate::Error;
use crate::ir::Scalar;
use crate::spirv::types::{Type, id, literal, malformed};

impl Checker<'_> {
    /// Validates an operation on memory; returns whether it is one.
    pub(super) fn memory(&self, one: &dr::Instruction) -> Result<bool, Error> {
        match one.class.opcode {
            Op::Variable => self.variable(one, true)?,
            Op::Load => {
                let (_, to) = self.pointer_of(one, self.of(one, 0)?)?;
                if self.result(one)? != to {
                    return Err(malformed(one, &format!("the pointer is to type %{to}")));
                }
            }
            Op::Store => {
                let (_, to) = self.pointer_of(one, self.of(one, 0)?)?;
                self.has_type(one, 1, to)?;
            }
            Op::CopyMemory => {
                let [(_, to), (_, from)] =
                    [self.pointer_of(one, self.of(one, 0)?)?, self.pointer_of(one, self.of(one, 1)?)?];
                if to != from {
                    return Err(malformed(one, &format!("its pointers are to types %{to} and %{from}")));
                }
            }
            Op::AccessChain | Op::InBoundsAccessChain => self.access_chain(one)?,
            Op::ArrayLength => self.array_length(one)?,
            Op::AtomicStore => {
                let (_, to) = self.pointer_of(one, self.of(one, 0)?)?;
                self.scopes(one)?;
                self.has_type(one, 3, to)?;
            }
            Op::AtomicLoad
            | Op::AtomicIAdd
            | Op::AtomicISub
            | Op::AtomicIIncrement
            | Op::AtomicIDecrement
            | Op::AtomicSMin
            | Op::AtomicUMin
            | Op::AtomicSMax
            | Op::AtomicUMax
            | Op::AtomicAnd
            | Op::AtomicOr
            | Op::AtomicXor
            | Op::AtomicExchange
            | Op::AtomicCompareExchange => {
                let result = self.result(one)?;
                let (_, to) = self.pointer_of(one, self.of(one, 0)?)?;
                if to != result {
                    return Err(malformed(one, &format!("the pointer is to type %{to}")));
                }
                self.scopes(one)?;
                let first = if one.class.opcode == Op::AtomicCompareExchange { 4 } else { 3 };
                self.have_type(one, first, result)?;
            }
            Op::MemoryBarrier => self.scopes(one)?,
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Returns the storage class of a pointer, and the type of what it points to.
    pub(super) fn pointer_of(&self, one: &dr::Instruction, of: Word) -> Result<(StorageClass, Word), Error> {
        match self.globals.types.get(&of) {
            Some(Type::Pointer { class, to }) => Ok((*class, *to)),
            _ => Err(malformed(one, &format!("%{of} is no type of pointers"))),
        }
    }

    /// Validates a variable, inside or outside of a function.
    pub(super) fn variable(&self, one: &dr::Instruction, is_inside: bool) -> Result<(), Error> {
        let (class, to) = self.pointer_of(one, self.result(one)?)?;
        if one.operands.first() != Some(&Operand::StorageClass(class)) {
            return Err(malformed(one, &format!("its pointer is to the storage class {class:?}")));
        }
        if (class == StorageClass::Function) != is_inside {
            return Err(malformed(one, &format!("the storage class {class:?} is not that of its place")));
        }
        if one.operands.len() < 2 {
            return Ok(());
        }
        let value = id(one, 1)?;
        let is_global = self.results.get(&value).is_some_and(|found| found.class.opcode == Op::Variable);
        if self.constant(value).is_none() && !is_global {
            return Err(malformed(one, &format!("its first value %{value} is no constant")));
        }
        self.has_type(one, 1, to)
    }

    /// Validates an access chain: each index chooses a part that exists, as far as it is constant.
    fn access_chain(&self, one: &dr::Instruction) -> Result<(), Error> {
        let (class, result) = self.pointer_of(one, self.result(one)?)?;
        let (base, mut of) = self.pointer_of(one, self.of(one, 0)?)?;
        if class != base {
            return Err(malformed(one, &format!("a pointer to {base:?} becomes one to {class:?}")));
        }
        for place in 1..one.operands.len() {
            self.is_integer(one, place)?;
            let index = id(one, place)?;
            let is_struct = matches!(self.globals.types.get(&of), Some(Type::Struct { .. }));
            let number = if is_struct {
                match self.constant(index).map(|found| (found.class.opcode, found.operands.first())) {
                    Some((Op::Constant, Some(Operand::LiteralBit32(number)))) => Some(*number),
                    Some((Op::ConstantNull, _)) => Some(0),
                    _ => return Err(malformed(one, &format!("the member %{index} is no constant"))),
                }
            } else {
                None
            };
            of = self
                .step(of, number)
                .ok_or_else(|| malformed(one, &format!("%{of} has no part that %{index} chooses")))?;
        }
        if of != result {
            return Err(malformed(one, &format!("its result is to type %{result}, and the part has %{of}")));
        }
        Ok(())
    }

    /// Validates the length of the array at the end of a struct.
    fn array_length(&self, one: &dr::Instruction) -> Result<(), Error> {
        if !matches!(self.shape(self.result(one)?), Some((Scalar::Integer { bits: 32, signed: false }, 1))) {
            return Err(malformed(one, "its type is no unsigned integer of 32 bits"));
        }
        let (_, to) = self.pointer_of(one, self.of(one, 0)?)?;
        let member = literal(one, 1)?;
        let last = match self.globals.types.get(&to) {
            Some(Type::Struct { members }) if members.len() == member as usize + 1 => members.last(),
            _ => None,
        };
        match last.and_then(|of| self.globals.types.get(of)) {
            Some(Type::Array { count: None, .. }) => Ok(()),
            _ => Err(malformed(one, &format!("member {member} is not the array at the end of %{to}"))),
        }
    }

    /// Checks that scopes and semantics are constant integers of 32 bits.
    fn scopes(&self, one: &dr::Instruction) -> Result<(), Error> {
        for operand in &one.operands {
            let (Operand::IdScope(id) | Operand::IdMemorySemantics(id)) = operand else { continue };
            let constant = self.constant(*id).and_then(|found| self.shape(found.result_type?));
            if !matches!(constant, Some((Scalar::Integer { bits: 32, .. }, 1))) {
                return Err(malformed(one, &format!("%{id} is no constant integer of 32 bits")));
            }
        }
        Ok(())
    }

    /// Checks that an operand is a pointer to integers, as many as a vector has.
    pub(super) fn is_pointer_to_integers(
        &self,
        one: &dr::Instruction,
        place: usize,
        count: u32,
    ) -> Result<(), Error> {
        let (_, to) = self.pointer_of(one, self.of(one, place)?)?;
        match self.shape(to) {
            Some((kind, own)) if integer(kind) => same_count(one, own, count),
            _ => Err(malformed(one, &format!("the pointer is to another type than integers: %{to}"))),
        }
    }
}

//! Atomic operations on dwords of buffers.

use rspirv::dr;
use rspirv::spirv::Op;

use crate::Error;
use crate::ir::{Atomic, Node, Operation, Unary};
use crate::spirv::types::{malformed, unsupported};
use crate::translate::Translator;
use crate::translate::values::check::is_same;
use crate::translate::values::data::Data;

/// Returns whether an operation is atomic and has a result.
pub(in crate::translate) fn is_atomic(opcode: Op) -> bool {
    matches!(
        opcode,
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
            | Op::AtomicCompareExchange
    )
}

impl Translator<'_> {
    /// Translates an atomic store: the store of a dword is not seen half done.
    pub(in crate::translate) fn atomic_store(&mut self, one: &dr::Instruction) -> Result<(), Error> {
        let (surface, offset) = self.dword(one, 0)?;
        let value = self.number(one, 3)?;
        if self.program.kind(value).bits() != 32 {
            return Err(malformed(one, "the number has another type"));
        }
        self.add(Node::Store(surface, offset, value))
    }

    /// Translates an atomic operation that has a result.
    pub(in crate::translate) fn atomic(&mut self, one: &dr::Instruction) -> Result<Data, Error> {
        let kind = self.kind(one)?;
        let (surface, offset) = self.dword(one, 0)?;
        let opcode = one.class.opcode;
        if opcode == Op::AtomicLoad {
            return Ok(vec![self.make(kind, Operation::Load(surface, offset))?]);
        }
        let (atomic, value) = match opcode {
            Op::AtomicIIncrement => (Atomic::Add, self.make(kind, Operation::Constant(1))?),
            Op::AtomicIDecrement => (Atomic::Add, self.make(kind, Operation::Constant(0xffff_ffff))?),
            Op::AtomicISub => {
                let value = self.number(one, 3)?;
                (Atomic::Add, self.make(kind, Operation::Unary(Unary::Negate, value))?)
            }
            Op::AtomicCompareExchange => {
                let (value, expected) = (self.number(one, 4)?, self.number(one, 5)?);
                if !is_same(self.program.kind(value), self.program.kind(expected)) {
                    return Err(malformed(one, "its numbers have different types"));
                }
                (Atomic::CompareExchange(expected), value)
            }
            _ => {
                let atomic = match opcode {
                    Op::AtomicIAdd => Atomic::Add,
                    Op::AtomicSMin => Atomic::Minimum { signed: true },
                    Op::AtomicUMin => Atomic::Minimum { signed: false },
                    Op::AtomicSMax => Atomic::Maximum { signed: true },
                    Op::AtomicUMax => Atomic::Maximum { signed: false },
                    Op::AtomicAnd => Atomic::And,
                    Op::AtomicOr => Atomic::Or,
                    Op::AtomicXor => Atomic::Xor,
                    Op::AtomicExchange => Atomic::Exchange,
                    _ => return Err(unsupported(one)),
                };
                (atomic, self.number(one, 3)?)
            }
        };
        Ok(vec![self.make(kind, Operation::Atomic(atomic, surface, offset, value))?])
    }
}

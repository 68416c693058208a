//! One instruction to trap, reduced to what its handler needs.

use iced_x86::{Mnemonic, Register};

/// Kind of a trapped instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// CLFLUSH: writes the line back and drops it, ordered with other flushes of the line.
    Flush,
    /// CLFLUSHOPT: as CLFLUSH, ordered by fences only.
    FlushOpt,
    /// CLWB: writes the line back and may keep it.
    WriteBack,
    /// A non-temporal store.
    Store,
    /// SFENCE or MFENCE, which drain the write-combining buffers.
    Fence,
}

/// Register that a non-temporal store takes its bytes from, by number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// A general register: 0 is RAX, 4 is RSP, 15 is R15.
    General(u8),
    /// An MMX register.
    Mmx(u8),
    /// An XMM, YMM or ZMM register.
    Vector(u8),
}

/// Operation of a trapped instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// CLFLUSH.
    Flush,
    /// CLFLUSHOPT.
    FlushOpt,
    /// CLWB.
    WriteBack,
    /// A non-temporal store of the low bytes of a register.
    Store {
        /// The register.
        source: Source,
        /// Number of bytes: 4, 8, 16, 32 or 64.
        bytes: u8,
    },
    /// SFENCE, or MFENCE, which loads wait for, too. It has no operand: its address is 0.
    Fence {
        /// MFENCE.
        is_full: bool,
    },
}

impl Operation {
    /// Returns the kind.
    #[must_use]
    pub fn kind(self) -> Kind {
        match self {
            Operation::Flush => Kind::Flush,
            Operation::FlushOpt => Kind::FlushOpt,
            Operation::WriteBack => Kind::WriteBack,
            Operation::Store { .. } => Kind::Store,
            Operation::Fence { .. } => Kind::Fence,
        }
    }
}

/// Segment register whose base is added to an address. In 64-bit code only two have one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SegmentBase {
    /// CS, DS, ES or SS: base 0.
    Flat,
    /// FS: glibc's thread pointer.
    Fs,
    /// GS.
    Gs,
}

/// Memory operand: base + index * 2^shift + displacement. A RIP-relative address is resolved: it is the displacement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Operand {
    /// Number of the base register.
    pub base: Option<u8>,
    /// Number of the index register.
    pub index: Option<u8>,
    /// Shift of the index: 0 to 3.
    pub shift: u8,
    /// Displacement, sign-extended.
    pub displacement: u64,
    /// The segment.
    pub segment: SegmentBase,
    /// True for 32-bit addresses (prefix 67): the sum is cut to 32 bits, before the segment's base is added.
    pub narrow: bool,
}

impl Operand {
    /// Returns the operand as LEA takes it: without the segment's base.
    pub(super) fn flat(self) -> Self {
        Operand { segment: SegmentBase::Flat, ..self }
    }
}

/// An instruction that was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Instruction {
    /// Address of its first byte.
    pub address: u64,
    /// Length in bytes.
    pub length: u8,
    /// Its operation.
    pub operation: Operation,
    /// Its memory operand.
    pub operand: Operand,
}

impl Instruction {
    /// Returns the reduced form of a decoded instruction, or `None` if it is not one to trap.
    pub(super) fn of(decoded: &iced_x86::Instruction) -> Option<Self> {
        Some(Instruction {
            address: decoded.ip(),
            length: u8::try_from(decoded.len()).ok()?,
            operation: operation(decoded)?,
            operand: operand(decoded)?,
        })
    }
}

/// Returns the memory operand of a decoded instruction.
pub(super) fn operand(decoded: &iced_x86::Instruction) -> Option<Operand> {
    let (base, index) = (decoded.memory_base(), decoded.memory_index());
    let is_relative = decoded.is_ip_rel_memory_operand();
    let segment = decoded.segment_prefix();
    Some(Operand {
        base: if is_relative { None } else { number(base) },
        index: number(index),
        shift: u8::try_from(decoded.memory_index_scale().checked_ilog2()?).ok()?,
        displacement: if is_relative {
            decoded.ip_rel_memory_address()
        } else {
            decoded.memory_displacement64()
        },
        segment: if segment == Register::FS {
            SegmentBase::Fs
        } else if segment == Register::GS {
            SegmentBase::Gs
        } else {
            SegmentBase::Flat
        },
        narrow: base.is_gpr32() || index.is_gpr32() || base == Register::EIP,
    })
}

/// Mnemonics of flushes and fences.
const FLUSHES_AND_FENCES: [(Mnemonic, Operation); 5] = [
    (Mnemonic::Clflush, Operation::Flush),
    (Mnemonic::Clflushopt, Operation::FlushOpt),
    (Mnemonic::Clwb, Operation::WriteBack),
    (Mnemonic::Sfence, Operation::Fence { is_full: false }),
    (Mnemonic::Mfence, Operation::Fence { is_full: true }),
];

/// Mnemonics of non-temporal stores.
const STORES: [Mnemonic; 10] = [
    Mnemonic::Movnti,
    Mnemonic::Movntq,
    Mnemonic::Movntdq,
    Mnemonic::Movntps,
    Mnemonic::Movntpd,
    Mnemonic::Movntss,
    Mnemonic::Movntsd,
    Mnemonic::Vmovntdq,
    Mnemonic::Vmovntps,
    Mnemonic::Vmovntpd,
];

/// Returns what a decoded instruction does, or `None` if it is not one to trap.
pub(super) fn operation(decoded: &iced_x86::Instruction) -> Option<Operation> {
    let mnemonic = decoded.mnemonic();
    if let Some((_, operation)) = FLUSHES_AND_FENCES.iter().find(|(known, _)| *known == mnemonic) {
        return Some(*operation);
    }
    if !STORES.contains(&mnemonic) {
        return None;
    }
    let register = decoded.op1_register();
    let number = u8::try_from(register.number()).ok()?;
    let source = if register.is_gpr() {
        Source::General(number)
    } else if register.is_mm() {
        Source::Mmx(number)
    } else if register.is_vector_register() {
        Source::Vector(number)
    } else {
        return None;
    };
    // A scalar store (MOVNTSS, MOVNTSD) is narrower than its register.
    let bytes = u8::try_from(decoded.memory_size().size()).ok()?;
    matches!(bytes, 4 | 8 | 16 | 32 | 64).then_some(Operation::Store { source, bytes })
}

/// Returns the number of a general register.
pub(super) fn number(register: Register) -> Option<u8> {
    if register == Register::None { None } else { u8::try_from(register.number()).ok() }
}

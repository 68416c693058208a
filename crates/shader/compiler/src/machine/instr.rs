//! The machine IR: a function's statements, which are instructions with virtual registers, labels, and the bounds of loops.

use intel_eu::{Condition, Opcode, Pattern, Type};

/// Bytes of a register.
pub(crate) const REGISTER_BYTES: u32 = 32;
/// Lanes of a thread.
pub(crate) const LANES: u8 = 16;
/// The flag register of selected instructions, and the one of those that legalisation adds.
pub(crate) const FLAG: u8 = 0;
pub(crate) const SPARE_FLAG: u8 = 2;

/// A virtual register: consecutive registers for a value, by its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct VReg(pub(crate) u32);

/// A place in the code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Label(pub(crate) u32);

/// A reference to a register: the place of an operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RegRef {
    /// Registers of a value, from a byte on.
    VReg(VReg, u32),
    /// A general register, from a byte on.
    Fixed(u8, u8),
    /// The flag register.
    Flag,
    /// Nowhere.
    Null,
}

impl RegRef {
    /// Returns the place so many bytes after it.
    pub(crate) fn after(self, bytes: u32) -> Self {
        match self {
            Self::VReg(vreg, byte) => Self::VReg(vreg, byte + bytes),
            Self::Fixed(number, byte) => {
                let byte = u32::from(byte) + bytes;
                Self::Fixed(number + (byte / REGISTER_BYTES) as u8, (byte % REGISTER_BYTES) as u8)
            }
            Self::Flag | Self::Null => self,
        }
    }
}

/// Elements of registers that are a source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RegRegion {
    /// The place of the first one.
    pub(crate) at: RegRef,
    /// Their type.
    pub(crate) kind: Type,
    /// Vertical stride, width, horizontal stride.
    pub(crate) rows: [u8; 3],
    /// They are negated.
    pub(crate) negate: bool,
    /// Their absolute values are taken.
    pub(crate) absolute: bool,
}

/// A source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operand {
    /// Elements of registers.
    Reg(RegRegion),
    /// An immediate number.
    Imm {
        /// Its type.
        kind: Type,
        /// Its bits.
        bits: u64,
    },
}

/// A destination.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Dst {
    /// The place of the first element.
    pub(crate) at: RegRef,
    /// The type of elements.
    pub(crate) kind: Type,
    /// Their distance, in elements.
    pub(crate) stride: u8,
}

/// A message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Message {
    /// The function that gets it.
    pub(crate) function: u8,
    /// The control bits of the descriptor.
    pub(crate) descriptor: u32,
    /// Registers that are sent.
    pub(crate) sent: u32,
    /// Registers that come back.
    pub(crate) received: u32,
}

/// The lanes for which an instruction is executed, by their bits in the flag register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Predicate {
    /// The bits of a lane.
    pub(crate) pattern: Pattern,
    /// Those whose bits are clear.
    pub(crate) inverse: bool,
}

impl Predicate {
    /// The lanes whose bit is set.
    pub(crate) const SET: Self = Self { pattern: Pattern::Normal, inverse: false };
    /// The lanes of quads in which a bit is set.
    pub(crate) const SET_IN_QUAD: Self = Self { pattern: Pattern::Any4, inverse: false };
}

/// An instruction.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Instr {
    pub(crate) opcode: Opcode,
    /// Number of lanes, and the first one.
    pub(crate) lanes: u8,
    pub(crate) first: u8,
    /// It is executed for inactive lanes, too.
    pub(crate) no_mask: bool,
    pub(crate) predicate: Option<Predicate>,
    pub(crate) condition: Option<Condition>,
    /// The flag register of the predicate and of the condition.
    pub(crate) flag: u8,
    pub(crate) saturate: bool,
    /// The function of `math`.
    pub(crate) function: u8,
    pub(crate) destination: Option<Dst>,
    pub(crate) sources: Vec<Operand>,
    /// The targets of a branch: the end of the block, and the instruction that the lanes wait for.
    pub(crate) targets: Option<(Label, Label)>,
    pub(crate) message: Option<Message>,
}

/// A statement.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Stmt {
    /// An instruction.
    Instr(Instr),
    /// The place of the next instruction.
    Label(Label),
    /// A loop begins, to whose end the values of the statements before it live if it uses them.
    LoopBegin,
    /// It ends.
    LoopEnd,
}

/// The statements of a program, and the virtual registers of its values.
#[derive(Debug, Default)]
pub(crate) struct Function {
    pub(crate) stmts: Vec<Stmt>,
    /// The size of each virtual register, in registers.
    pub(crate) vregs: Vec<u8>,
    /// The virtual registers that more than one value has, one after the other: those of variables.
    pub(crate) variables: Vec<VReg>,
}

impl Function {
    /// Returns a new virtual register, of so many registers.
    pub(crate) fn vreg(&mut self, registers: u8) -> VReg {
        self.vregs.push(registers);
        VReg(self.vregs.len() as u32 - 1)
    }
}

impl Instr {
    /// Returns an instruction of all lanes.
    pub(crate) fn new(opcode: Opcode) -> Self {
        Self {
            opcode,
            lanes: LANES,
            first: 0,
            no_mask: false,
            predicate: None,
            condition: None,
            flag: FLAG,
            saturate: false,
            function: 0,
            destination: None,
            sources: Vec::new(),
            targets: None,
            message: None,
        }
    }

    /// Returns an instruction of all lanes with a destination and sources.
    pub(crate) fn of(opcode: Opcode, to: Dst, sources: &[Operand]) -> Self {
        Self { destination: Some(to), sources: sources.to_vec(), ..Self::new(opcode) }
    }

    /// Returns a comparison of all lanes whose result is only in the flag register.
    pub(crate) fn compare(condition: Condition, kind: Type, sources: [Operand; 2]) -> Self {
        let null = Dst { at: RegRef::Null, ..Dst::lanes(VReg(0), kind) };
        Self { condition: Some(condition), ..Self::of(Opcode::Cmp, null, &sources) }
    }

    /// Returns the same instruction for the lanes of a predicate.
    pub(crate) fn when(self, predicate: Predicate) -> Self {
        Self { predicate: Some(predicate), ..self }
    }

    /// Returns the operands that are in registers: the places of the destination and of sources.
    pub(crate) fn places(&self) -> impl Iterator<Item = RegRef> {
        let sources = self.sources.iter().filter_map(|source| match source {
            Operand::Reg(elements) => Some(elements.at),
            Operand::Imm { .. } => None,
        });
        self.destination.iter().map(|to| to.at).chain(sources)
    }
}

/// Returns the bytes from one lane's number to the next one's in a value's registers: numbers of less than 32 bits have a dword.
pub(crate) fn lane_bytes(kind: Type) -> u32 {
    u32::from(kind.bytes()).max(4)
}

/// Returns the rows of elements that lie so many bytes apart. A row is within a register.
pub(crate) fn rows(kind: Type, stride_bytes: u32, lanes: u8) -> [u8; 3] {
    let stride = stride_bytes / u32::from(kind.bytes());
    let width = (REGISTER_BYTES / stride_bytes.max(1)).min(u32::from(lanes));
    if lanes == 1 {
        [0, 1, 0]
    } else if stride > 4 || width == 1 {
        [stride as u8, 1, 0]
    } else {
        [(width * stride) as u8, width as u8, stride as u8]
    }
}

impl RegRegion {
    /// Returns elements that lie so many bytes apart.
    pub(crate) fn apart(at: RegRef, kind: Type, stride_bytes: u32, lanes: u8) -> Self {
        Self { at, kind, rows: rows(kind, stride_bytes, lanes), negate: false, absolute: false }
    }

    /// Returns whether one element is for all lanes.
    pub(crate) fn is_scalar(&self) -> bool {
        self.rows == [0, 1, 0]
    }
}

impl Operand {
    /// Returns the numbers of all lanes in a value's registers.
    pub(crate) fn lanes(vreg: VReg, kind: Type) -> Self {
        Self::Reg(RegRegion::apart(RegRef::VReg(vreg, 0), kind, lane_bytes(kind), LANES))
    }

    /// Returns one number for all lanes.
    pub(crate) fn one(at: RegRef, kind: Type) -> Self {
        Self::Reg(RegRegion { at, kind, rows: [0, 1, 0], negate: false, absolute: false })
    }

    /// Returns its type.
    pub(crate) fn kind(&self) -> Type {
        match self {
            Self::Reg(elements) => elements.kind,
            Self::Imm { kind, .. } => *kind,
        }
    }

    /// Returns the same numbers, negated.
    pub(crate) fn negated(self) -> Self {
        match self {
            Self::Reg(elements) => Self::Reg(RegRegion { negate: !elements.negate, ..elements }),
            Self::Imm { .. } => self,
        }
    }

    /// Returns their absolute values.
    pub(crate) fn absolute(self) -> Self {
        match self {
            Self::Reg(elements) => Self::Reg(RegRegion { absolute: true, negate: false, ..elements }),
            Self::Imm { .. } => self,
        }
    }
}

impl Dst {
    /// Returns the registers of a value, for all lanes.
    pub(crate) fn lanes(vreg: VReg, kind: Type) -> Self {
        let stride = (lane_bytes(kind) / u32::from(kind.bytes())) as u8;
        Self { at: RegRef::VReg(vreg, 0), kind, stride }
    }

    /// Returns the bytes from one element to the next one.
    pub(crate) fn stride_bytes(&self) -> u32 {
        u32::from(self.stride) * u32::from(self.kind.bytes())
    }

    /// Returns the same elements as a source.
    pub(crate) fn read(&self, lanes: u8) -> RegRegion {
        RegRegion::apart(self.at, self.kind, self.stride_bytes(), lanes)
    }
}

/// Returns the unsigned integer of so many bytes, whose moves keep all bits.
pub(crate) fn raw(bytes: u8) -> Type {
    match bytes {
        1 => Type::Ub,
        2 => Type::Uw,
        8 => Type::Uq,
        _ => Type::Ud,
    }
}

//! An instruction, decoded.

use crate::{Condition, Opcode, Predicate, Type};

/// An instruction.
///
/// What an opcode lacks is `None`, zero or false: [`crate::encode`] refuses a value that the instruction has no place for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Instruction {
    /// The operation.
    pub opcode: Opcode,
    /// Channels: 1, 2, 4, 8, 16 or 32.
    pub execution_size: u8,
    /// The first channel of the masks that is used: a multiple of 4.
    pub channel_offset: u8,
    /// All channels are executed, whatever the masks say (`W` in assembly).
    pub no_mask: bool,
    /// Channels whose bit in the flag register, combined with others, is clear are not executed.
    pub predicate: Option<Predicate>,
    /// The comparison that writes the flag register.
    pub condition: Option<Condition>,
    /// The function of `math` and `sync`. That of `bfn` is its truth table: bit n is the result where the bits of sources 0, 1 and 2 are
    /// those of n.
    pub function: u8,
    /// The flag register: 0 to 3 are f0.0, f0.1, f1.0 and f1.1.
    pub flag: u8,
    /// Results are clamped to the destination's range, those of floats to 0 to 1.
    pub saturate: bool,
    /// The result goes to the accumulator, too. Of branches from graphics 8 on: the branch control.
    pub accumulator_write: bool,
    /// Operands are addressed by groups of four elements (graphics 7 to 10).
    pub align16: bool,
    /// A breakpoint.
    pub debug: bool,
    /// Its encoding is one of 64 bits ([`crate::Encoding`]); [`crate::encode`] and [`crate::decode`] know the 128 bits that these
    /// stand for.
    pub compacted: bool,
    /// Synchronisation with instructions before and after.
    pub order: Order,
    /// The destination.
    pub destination: Option<Destination>,
    /// The sources.
    pub sources: [Option<Source>; 3],
    /// The distance to the end of the block (JIP), as the instruction has it: in bytes from graphics 8 on, in 8 bytes before. A branch
    /// without one has its target in a register, which is a source.
    pub jip: Option<i32>,
    /// The distance to the end of the loop or of the program's branch (UIP).
    pub uip: Option<i32>,
    /// The message of a send.
    pub message: Option<Message>,
    /// The matrix of `dpas`.
    pub systolic: Option<Systolic>,
    /// Bits that are set where this instruction has no field. They are kept, so that an encoding is the one that was decoded.
    pub ignored: u128,
}

/// Synchronisation of an instruction with others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Order {
    /// The destination's dependency is not cleared (before graphics 12).
    pub no_clear: bool,
    /// The destination's dependency is not checked (before graphics 12).
    pub no_check: bool,
    /// The thread control: 0 normal, 1 atomic, 2 switch (before graphics 12).
    pub thread: u8,
    /// The thread keeps the execution unit (from graphics 12 on).
    pub atomic: bool,
    /// The software scoreboard (from graphics 12 on).
    pub scoreboard: u8,
}

/// A file of registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum File {
    /// Architecture registers: null, addresses, accumulators, flags and others, by number.
    Architecture,
    /// General registers, of 32 bytes each.
    General,
}

/// The place of an operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Place {
    /// A register.
    Direct {
        /// Its file.
        file: File,
        /// Its number.
        number: u8,
        /// The first byte in it.
        offset: u8,
    },
    /// The general register whose byte address is in an address register.
    Indirect {
        /// The first word of the address register.
        register: u8,
        /// Is added to the address.
        offset: i16,
    },
    /// A general register of a macro operation, beside the accumulator that has more bits of it.
    Macro {
        /// Its number.
        number: u8,
        /// The accumulator: 0 to 7 are mme0 to mme7, 8 is none.
        accumulator: u8,
    },
}

impl Place {
    /// The null register: writes to it are lost.
    pub const NULL: Self = Self::Direct { file: File::Architecture, number: 0, offset: 0 };

    /// Returns the general register of a number, from its first byte on.
    #[must_use]
    pub const fn general(number: u8) -> Self {
        Self::Direct { file: File::General, number, offset: 0 }
    }
}

/// A destination.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Destination {
    /// Where it is.
    pub place: Place,
    /// Its type. That of a send from graphics 12 on, which has none, is UD.
    pub kind: Type,
    /// The distance of elements, in elements: 1, 2 or 4; 0 is not allowed.
    pub stride: u8,
    /// The elements of a group of four that are written, one bit each (Align16).
    pub mask: u8,
}

/// A source.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Source {
    /// Elements of registers.
    Register {
        /// Where the first one is.
        place: Place,
        /// Their type.
        kind: Type,
        /// Their distances.
        region: Region,
        /// Their absolute values are taken.
        absolute: bool,
        /// They are negated, after that; of logic operations, inverted.
        negate: bool,
    },
    /// A number in the instruction.
    Immediate {
        /// Its type.
        kind: Type,
        /// Its bits. A type of 16 bits takes the lower half of 32, and has a copy in the upper one. An operation with three sources has 16
        /// bits of it; those above are the sign of signed integers, and zeroes of others.
        bits: u64,
    },
}

impl Source {
    /// Returns a source of rows: vertical stride, width, horizontal stride.
    pub(crate) const fn rows(place: Place, kind: Type, [vertical, width, horizontal]: [u8; 3]) -> Self {
        let region = Region::Rows { vertical: Some(vertical), width, horizontal };
        Self::Register { place, kind, region, absolute: false, negate: false }
    }

    /// Returns the place of one in registers.
    pub(crate) fn place(&self) -> Option<Place> {
        match self {
            Self::Register { place, .. } => Some(*place),
            Self::Immediate { .. } => None,
        }
    }
}

/// The distances of a source's elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Region {
    /// Rows of elements (`<vertical; width, horizontal>` in assembly).
    Rows {
        /// The distance of rows, in elements; `None` if each row has an address register of its own.
        vertical: Option<u8>,
        /// Elements of a row.
        width: u8,
        /// The distance of elements in a row.
        horizontal: u8,
    },
    /// Groups of four elements (Align16).
    Groups {
        /// The distance of groups, in elements; of operations with three sources 4, or 0 for one element for all channels.
        vertical: Option<u8>,
        /// The element of the group that each of four channels takes, two bits each, the first channel lowest.
        swizzle: u8,
    },
    /// A payload, or source of a message: whole registers.
    Payload,
}

impl Region {
    /// Returns the region of a source of three in Align1, which has no width: rows follow each other.
    #[must_use]
    pub const fn of_three(vertical: u8, horizontal: u8) -> Self {
        let width = match vertical.checked_div(horizontal) {
            None | Some(0) => 1,
            Some(width) => width,
        };
        Self::Rows { vertical: Some(vertical), width, horizontal }
    }
}

/// The message of a send.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Message {
    /// The shared function that gets it (SFID).
    pub function: u8,
    /// What it asks for.
    pub descriptor: Descriptor,
    /// More of that.
    pub extended: Descriptor,
    /// The thread ends with it.
    pub end_of_thread: bool,
}

/// The matrix that `dpas` multiplies by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Systolic {
    /// Products that are added to an element, in dwords: 1, 2, 4 or 8.
    pub depth: u8,
    /// Rows of the result: 1 to 8.
    pub repeat: u8,
    /// Bits of the elements of sources 1 and 2: 8, 4 or 2 of the types UB and B, 16 of floats.
    pub bits: [u8; 2],
}

/// A descriptor of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Descriptor {
    /// A number.
    Immediate(u32),
    /// The content of the address register, from this word on. That of the first descriptor is a0.0.
    Register(u8),
}

impl Instruction {
    /// Returns an instruction with an opcode, for one channel, and nothing else.
    #[must_use]
    pub const fn new(opcode: Opcode) -> Self {
        Self {
            opcode,
            execution_size: 1,
            channel_offset: 0,
            no_mask: false,
            predicate: None,
            condition: None,
            function: 0,
            flag: 0,
            saturate: false,
            accumulator_write: false,
            align16: false,
            debug: false,
            compacted: false,
            order: Order { no_clear: false, no_check: false, thread: 0, atomic: false, scoreboard: 0 },
            destination: None,
            sources: [None; 3],
            jip: None,
            uip: None,
            message: None,
            systolic: None,
            ignored: 0,
        }
    }

    /// Returns the bytes of its encoding.
    #[must_use]
    pub fn bytes(&self) -> usize {
        if self.compacted { 8 } else { 16 }
    }

    /// Returns whether it is a function of one argument.
    pub(crate) fn has_one_source(&self) -> bool {
        const FUNCTIONS: [u8; 8] = [1, 2, 3, 4, 5, 6, 7, 15];
        self.opcode == Opcode::Math && FUNCTIONS.contains(&self.function)
    }

    /// Returns whether it is a macro operation: a step of a division or square root, whose operands are [`Place::Macro`].
    pub(crate) fn is_macro(&self) -> bool {
        const FUNCTIONS: [u8; 2] = [14, 15];
        self.opcode == Opcode::Madm || self.opcode == Opcode::Math && FUNCTIONS.contains(&self.function)
    }
}

impl Default for Destination {
    /// Returns `null<1>:ud`.
    fn default() -> Self {
        Self { place: Place::NULL, kind: Type::Ud, stride: 1, mask: 0 }
    }
}

impl Default for Source {
    /// Returns `null<0;1,0>:ud`.
    fn default() -> Self {
        Self::rows(Place::NULL, Type::Ud, [0, 1, 0])
    }
}

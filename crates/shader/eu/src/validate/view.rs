//! An instruction as the rules see it.

use super::Operand;
use crate::isa::{Base, Form};
use crate::{Destination, File, Instruction, Opcode, Place, Platform, Region, Source, Type};

/// Bytes of a register.
pub(super) const REGISTER: u32 = 32;

/// The accumulators' numbers in the architecture's file.
const ACCUMULATORS: std::ops::Range<u8> = 0x20..0x30;

/// An instruction, and facts about it.
pub(super) struct View<'a> {
    pub platform: Platform,
    pub instruction: &'a Instruction,
    pub form: Form,
    /// The destination, if the opcode has one.
    pub destination: Option<Destination>,
    /// The sources that the opcode reads.
    sources: &'a [Option<Source>],
}

/// A source in registers.
pub(super) struct Register {
    pub number: u8,
    pub place: Place,
    pub kind: Type,
    /// The distance of rows; `None` if each has an address of its own. In Align16, that of groups.
    pub vertical: Option<u8>,
    pub width: u8,
    pub horizontal: u8,
    pub absolute: bool,
    pub negate: bool,
}

/// An operand's type.
pub(super) struct Typed {
    pub operand: Operand,
    pub kind: Type,
    /// Its place; `None` for an immediate.
    pub place: Option<Place>,
}

impl<'a> View<'a> {
    /// Returns the view of an instruction.
    pub(super) fn new(platform: Platform, instruction: &'a Instruction) -> Self {
        let form = instruction.opcode.form(platform);
        let sources = match (instruction.opcode, form) {
            // Their operands are no data; the source of sync can be null.
            (Opcode::Jmpi | Opcode::Ret | Opcode::Wait | Opcode::Sync, _) => 0,
            (_, Form::Nothing | Form::Jump | Form::Jumps) => 0,
            _ if instruction.has_one_source() => 1,
            (_, Form::Basic(sources)) => usize::from(sources),
            (_, Form::Three | Form::Systolic) => 3,
            (_, Form::Send) => 1,
            (_, Form::SplitSend) => 2,
        };
        // The bits of a destination that sync, jumps and returns have mean nothing.
        let has_destination = !matches!(instruction.opcode, Opcode::Jmpi | Opcode::Ret | Opcode::Sync)
            && !matches!(form, Form::Nothing | Form::Jump | Form::Jumps);
        let destination = instruction.destination.filter(|_| has_destination);
        Self { platform, instruction, form, destination, sources: &instruction.sources[..sources] }
    }

    /// Returns the number of channels.
    pub(super) fn channels(&self) -> u32 {
        u32::from(self.instruction.execution_size)
    }

    /// Returns the sources that are in registers.
    pub(super) fn registers(&self) -> impl Iterator<Item = Register> {
        (0..).zip(self.sources).filter_map(|(number, source)| Register::of(number, (*source)?))
    }

    /// Returns the number of sources that the opcode reads.
    pub(super) fn source_count(&self) -> usize {
        self.sources.len()
    }

    /// Returns the number of the first source that the instruction lacks.
    pub(super) fn missing_source(&self) -> Option<usize> {
        self.sources.iter().position(Option::is_none)
    }

    /// Returns the type of the immediate.
    pub(super) fn immediate(&self) -> Option<Type> {
        self.typed().find(Typed::is_immediate).map(|typed| typed.kind)
    }

    /// Returns the types of all sources.
    pub(super) fn source_kinds(&self) -> impl Iterator<Item = Type> {
        self.sources.iter().flatten().map(|source| kind_of(source).0)
    }

    /// Returns the types of the destination and of all sources.
    pub(super) fn typed(&self) -> impl Iterator<Item = Typed> {
        let destination = self.destination.map(|destination| Typed {
            operand: Operand::Destination,
            kind: destination.kind,
            place: Some(destination.place),
        });
        let sources = (0..).zip(self.sources).filter_map(|(number, source)| {
            let (kind, place) = kind_of(source.as_ref()?);
            Some(Typed { operand: Operand::Source(number), kind, place })
        });
        destination.into_iter().chain(sources)
    }

    /// Returns the type in which the instruction with one or two sources computes.
    pub(super) fn execution_type(&self) -> Option<Type> {
        /// Of two types, the first of these is the one.
        const ORDER: [Type; 5] = [Type::Nf, Type::Q, Type::D, Type::W, Type::Df];
        let mut kinds = self.source_kinds().map(widened);
        let (first, second) = (kinds.next()?, kinds.next());
        let destination = self.destination.map(|destination| destination.kind);
        let Some(second) = second else {
            return if first == Type::Hf { destination } else { Some(first) };
        };
        if mixes(&[Some(first), Some(second), destination]) {
            return Some(Type::F);
        }
        let wider = ORDER.into_iter().find(|kind| first == *kind || second == *kind);
        if first == second { Some(first) } else { wider.or(Some(first)) }
    }

    /// Returns whether floats and half floats are mixed.
    pub(super) fn is_mixed_float(&self) -> bool {
        let mut kinds = self.source_kinds();
        matches!(self.form, Form::Basic(_))
            && self.destination.is_some_and(|one| mixes(&[Some(one.kind), kinds.next(), kinds.next()]))
    }

    /// Returns whether an operand has 64 bits, or two doublewords are multiplied.
    pub(super) fn is_wide(&self) -> bool {
        let is_product = self.platform.graphics() >= 80
            && self.instruction.opcode == Opcode::Mul
            && self.source_kinds().all(is_doubleword);
        let is_long = |kind: Option<Type>| kind.is_some_and(|kind| kind.bytes() == 8);
        self.source_count() > 0
            && (is_product || is_long(self.execution_type()) || is_long(self.destination.map(|one| one.kind)))
    }

    /// Returns whether the instruction copies bytes as they are, whatever their sign.
    pub(super) fn copies_bytes(&self) -> bool {
        let has_modifier = self.registers().any(|source| source.has_modifier());
        let is_one = self.typed().all(|typed| typed.kind.bytes() == 1);
        self.instruction.opcode == Opcode::Mov && !self.instruction.saturate && !has_modifier && is_one
    }

    /// Returns the bytes of an element as regions count them: Ivy Bridge counts a double float as two.
    pub(super) fn element(&self, kind: Type) -> u32 {
        match (self.platform.graphics(), kind.bytes()) {
            (70, 8) => 4,
            (_, bytes) => u32::from(bytes),
        }
    }
}

impl Typed {
    pub(super) fn is_immediate(&self) -> bool {
        self.place.is_none()
    }
}

impl Register {
    fn of(number: u8, source: Source) -> Option<Self> {
        let Source::Register { place, kind, region, absolute, negate } = source else { return None };
        let (vertical, width, horizontal) = match region {
            Region::Rows { vertical, width, horizontal } => (vertical, width, horizontal),
            Region::Groups { vertical, .. } => (vertical, 4, 1),
            Region::Payload => (Some(0), 1, 0),
        };
        Some(Self { number, place, kind, vertical, width: width.max(1), horizontal, absolute, negate })
    }

    /// Returns whether one element is for all channels.
    pub(super) fn is_scalar(&self) -> bool {
        (self.vertical, self.width, self.horizontal) == (Some(0), 1, 0)
    }

    /// Returns whether the elements are side by side.
    pub(super) fn is_packed(&self) -> bool {
        let horizontal = u8::from(self.width > 1);
        self.vertical == Some(self.width) && self.horizontal == horizontal
    }

    /// Returns whether the elements of so many channels are one after the other, whatever the rows are.
    pub(super) fn is_consecutive(&self, channels: u32) -> bool {
        let (vertical, width) = (self.vertical.map(u32::from), u32::from(self.width));
        // The first one is where the region begins.
        (1..channels).all(|channel| {
            let row = vertical.map(|vertical| channel / width * vertical);
            row.map(|row| row + channel % width * u32::from(self.horizontal)) == Some(channel)
        })
    }

    /// Returns the width of a row times the distance of its elements.
    pub(super) fn row(&self) -> u32 {
        u32::from(self.width) * u32::from(self.horizontal)
    }

    /// Returns the distance of elements in bytes, as far as there is one.
    pub(super) fn stride(&self) -> u32 {
        let stride = if self.horizontal > 0 { Some(self.horizontal) } else { self.vertical };
        u32::from(stride.unwrap_or(0)) * u32::from(self.kind.bytes())
    }

    pub(super) fn has_modifier(&self) -> bool {
        self.absolute || self.negate
    }

    /// Returns the region in assembly.
    pub(super) fn region(&self) -> String {
        let vertical = self.vertical.map_or("Vx".to_owned(), |vertical| vertical.to_string());
        format!("<{vertical};{},{}>", self.width, self.horizontal)
    }
}

impl Destination {
    /// Returns the distance of elements in bytes.
    pub(super) fn stride_bytes(&self) -> u32 {
        u32::from(self.stride) * u32::from(self.kind.bytes())
    }

    pub(super) fn is_float(&self) -> bool {
        self.kind.base() == Base::Float
    }
}

impl Place {
    /// Returns the first byte in the register, if that is known before run time.
    pub(super) fn subregister(&self) -> Option<u32> {
        match self {
            Self::Direct { offset, .. } => Some(u32::from(*offset)),
            Self::Indirect { .. } | Self::Macro { .. } => None,
        }
    }

    /// Returns the number of a register of the architecture's file.
    pub(super) fn architecture(&self) -> Option<u8> {
        match self {
            Self::Direct { file: File::Architecture, number, .. } => Some(*number),
            Self::Direct { file: File::General, .. } | Self::Indirect { .. } | Self::Macro { .. } => None,
        }
    }

    pub(super) fn is_null(&self) -> bool {
        self.architecture() == Some(0)
    }

    pub(super) fn is_accumulator(&self) -> bool {
        self.architecture().is_some_and(|number| ACCUMULATORS.contains(&number))
    }

    /// Returns the name of a register of the architecture's file.
    pub(super) fn architecture_name(&self) -> Option<String> {
        self.architecture().map(|number| format!("architecture register {number:#04x}"))
    }

    /// Returns the same, unless it is null.
    pub(super) fn named(&self) -> Option<String> {
        self.architecture_name().filter(|_| !self.is_null())
    }

    /// Returns the address of a place that is known at run time only.
    pub(super) fn address(&self) -> Option<String> {
        match self {
            Self::Indirect { register, offset } => Some(format!("the address a0.{register}{offset:+}")),
            Self::Direct { .. } | Self::Macro { .. } => None,
        }
    }
}

fn kind_of(source: &Source) -> (Type, Option<Place>) {
    match source {
        Source::Register { kind, place, .. } => (*kind, Some(*place)),
        Source::Immediate { kind, .. } => (*kind, None),
    }
}

/// Returns the type in which a source of a type is computed with.
fn widened(kind: Type) -> Type {
    match kind {
        Type::Ub | Type::B | Type::Uw | Type::W | Type::Uv | Type::V => Type::W,
        Type::Ud | Type::D => Type::D,
        Type::Uq | Type::Q => Type::Q,
        Type::F | Type::Vf => Type::F,
        Type::Hf | Type::Bf | Type::Df | Type::Nf => kind,
    }
}

fn mixes(kinds: &[Option<Type>]) -> bool {
    kinds.contains(&Some(Type::F)) && kinds.contains(&Some(Type::Hf))
}

pub(super) fn is_integer(kind: Type) -> bool {
    kind.base() != Base::Float
}

pub(super) fn is_doubleword(kind: Type) -> bool {
    matches!(kind, Type::D | Type::Ud)
}

pub(super) fn is_vector(kind: Type) -> bool {
    matches!(kind, Type::V | Type::Uv | Type::Vf)
}

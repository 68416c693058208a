//! Operations with three sources.

use super::operands::{ACCUMULATORS, MACRO_FILE, STRIDES};
use super::{Codec, Direction, misplaced};
use crate::isa::{Base, Condition, Field, Opcode};
use crate::{Destination, Error, File, Instruction, Place, Platform, Region, Source, Type};

/// The fields of a source in Align16.
struct Slot16 {
    register: Field,
    offset: Field,
    accumulator: Field,
    swizzle: Field,
    scalar: Field,
    absolute: Field,
    negate: Field,
}

static SLOTS16: [Slot16; 3] = [
    Slot16 {
        register: Field::ThreeSource0Register,
        offset: Field::Three16Source0Offset,
        accumulator: Field::Three16MacroSource0,
        swizzle: Field::Three16Source0Swizzle,
        scalar: Field::Three16Source0Scalar,
        absolute: Field::ThreeSource0Absolute,
        negate: Field::ThreeSource0Negate,
    },
    Slot16 {
        register: Field::ThreeSource1Register,
        offset: Field::Three16Source1Offset,
        accumulator: Field::Three16MacroSource1,
        swizzle: Field::Three16Source1Swizzle,
        scalar: Field::Three16Source1Scalar,
        absolute: Field::ThreeSource1Absolute,
        negate: Field::ThreeSource1Negate,
    },
    Slot16 {
        register: Field::ThreeSource2Register,
        offset: Field::Three16Source2Offset,
        accumulator: Field::Three16MacroSource2,
        swizzle: Field::Three16Source2Swizzle,
        scalar: Field::Three16Source2Scalar,
        absolute: Field::ThreeSource2Absolute,
        negate: Field::ThreeSource2Negate,
    },
];

/// The fields of a source in Align1; a source without a vertical stride has the horizontal one.
struct Slot {
    is_first: bool,
    file: Field,
    /// Of the sources that can be one: the bit from graphics 12 on, and the number.
    immediate: Option<(Field, Field)>,
    kind: Field,
    register: Field,
    offset: Field,
    accumulator: Field,
    vertical: Option<Field>,
    horizontal: Field,
    absolute: Field,
    negate: Field,
}

static SLOTS: [Slot; 3] = [
    Slot {
        is_first: true,
        file: Field::ThreeSource0File,
        immediate: Some((Field::ThreeSource0IsImmediate, Field::ThreeSource0Immediate)),
        kind: Field::ThreeSource0Type,
        register: Field::ThreeSource0Register,
        offset: Field::ThreeSource0Offset,
        accumulator: Field::ThreeMacroSource0,
        vertical: Some(Field::ThreeSource0Vertical),
        horizontal: Field::ThreeSource0Horizontal,
        absolute: Field::ThreeSource0Absolute,
        negate: Field::ThreeSource0Negate,
    },
    Slot {
        is_first: false,
        file: Field::ThreeSource1File,
        immediate: None,
        kind: Field::ThreeSource1Type,
        register: Field::ThreeSource1Register,
        offset: Field::ThreeSource1Offset,
        accumulator: Field::ThreeMacroSource1,
        vertical: Some(Field::ThreeSource1Vertical),
        horizontal: Field::ThreeSource1Horizontal,
        absolute: Field::ThreeSource1Absolute,
        negate: Field::ThreeSource1Negate,
    },
    Slot {
        is_first: false,
        file: Field::ThreeSource2File,
        immediate: Some((Field::ThreeSource2IsImmediate, Field::ThreeSource2Immediate)),
        kind: Field::ThreeSource2Type,
        register: Field::ThreeSource2Register,
        offset: Field::ThreeSource2Offset,
        accumulator: Field::ThreeMacroSource2,
        vertical: None,
        horizontal: Field::ThreeSource2Horizontal,
        absolute: Field::ThreeSource2Absolute,
        negate: Field::ThreeSource2Negate,
    },
];

/// A source as it is walked over.
#[derive(Clone, Copy)]
struct Parts {
    file: File,
    number: u8,
    /// The first byte; of a macro operation, the accumulator.
    offset: u8,
    kind: Type,
    region: Region,
    absolute: bool,
    negate: bool,
}

impl Parts {
    fn source(self, i: &Instruction) -> Source {
        let Self { file, number, offset, kind, region, absolute, negate } = self;
        Source::Register { place: place(i, (file, number, offset)), kind, region, absolute, negate }
    }
}

/// Returns the place of an operand: its file, the register's number, and the first byte or the accumulator.
fn place(i: &Instruction, (file, number, offset): (File, u8, u8)) -> Place {
    if i.is_macro() {
        Place::Macro { number, accumulator: offset }
    } else {
        Place::Direct { file, number, offset }
    }
}

impl Codec {
    /// Walks over an operation with three sources.
    pub(super) fn three(&mut self, i: &mut Instruction) -> Result<(), Error> {
        if i.opcode == Opcode::Bfn {
            self.byte(Field::LogicFunction, 1, &mut i.function)?;
            self.coded(Field::LogicCondition, &Condition::OF_LOGIC, |_| 0, &mut i.condition)?;
        } else if !i.is_macro() || self.platform.graphics() < 120 {
            // The macro operation has neither from graphics 12 on.
            self.bit(Field::Saturate, &mut i.saturate)?;
            self.condition(i)?;
        }
        self.bit(Field::AccumulatorWrite, &mut i.accumulator_write)?;
        self.byte(Field::ThreeFlag, 1, &mut i.flag)?;
        if self.platform.graphics() < 110 {
            if i.align16 {
                self.three16(i)
            } else {
                Err(misplaced(i, "it is one of Align16 on this platform"))
            }
        } else {
            self.three1(i)
        }
    }

    fn three16(&mut self, i: &mut Instruction) -> Result<(), Error> {
        let mut destination = self.operand(i, i.destination, "it lacks a destination")?;
        let Destination { place: to, kind, stride, mask } = &mut destination;
        let (_, mut number, mut offset) = self.direct(i, *to)?;
        self.byte(Field::ThreeDestinationRegister, 1, &mut number)?;
        if i.is_macro() {
            self.coded(Field::Three16MacroDestination, &ACCUMULATORS, i64::from, &mut offset)?;
        } else {
            self.byte(Field::Three16DestinationOffset, 4, &mut offset)?;
            self.byte(Field::Three16DestinationMask, 1, mask)?;
        }
        *to = place(i, (File::General, number, offset));
        *stride = 1;
        self.kind(Field::Three16DestinationType, Type::align16_code, kind)?;
        i.destination = Some(destination);
        let mut all = [Source::default(); 3];
        for (number, source) in all.iter_mut().enumerate() {
            *source = self.operand(i, i.sources[number], "it lacks a source")?;
        }
        let parts = all.map(|source| self.parts(i, source));
        let [mut first, mut second, mut third] = [parts[0]?, parts[1]?, parts[2]?];
        self.kind(Field::Three16SourceType, Type::align16_code, &mut first.kind)?;
        let is_mixed = self.platform == Platform::Chv || self.platform.graphics() >= 90;
        for (kind, half) in
            [(&mut second.kind, Field::Three16Source1Half), (&mut third.kind, Field::Three16Source2Half)]
        {
            // Only floats are mixed, and not on Broadwell.
            if is_mixed && matches!(first.kind, Type::F | Type::Hf) {
                let mut is_half = *kind == Type::Hf;
                self.bit(half, &mut is_half)?;
                *kind = if is_half { Type::Hf } else { Type::F };
            } else {
                *kind = first.kind;
            }
        }
        for (number, (mut parts, slot)) in [first, second, third].into_iter().zip(&SLOTS16).enumerate() {
            self.source16(i, slot, &mut parts)?;
            i.sources[number] = Some(parts.source(i));
        }
        Ok(())
    }

    fn source16(&mut self, i: &Instruction, slot: &Slot16, parts: &mut Parts) -> Result<(), Error> {
        let (mut swizzle, mut is_scalar) = match parts.region {
            Region::Groups { vertical, swizzle } => (swizzle, vertical == Some(0)),
            Region::Rows { .. } | Region::Payload => (0, false),
        };
        parts.file = File::General;
        self.byte(slot.register, 1, &mut parts.number)?;
        if i.is_macro() {
            self.coded(slot.accumulator, &ACCUMULATORS, i64::from, &mut parts.offset)?;
            swizzle = 0;
        } else {
            self.byte(slot.offset, 4, &mut parts.offset)?;
            self.byte(slot.swizzle, 1, &mut swizzle)?;
        }
        self.bit(slot.scalar, &mut is_scalar)?;
        self.bit(slot.absolute, &mut parts.absolute)?;
        self.bit(slot.negate, &mut parts.negate)?;
        parts.region = Region::Groups { vertical: Some(if is_scalar { 0 } else { 4 }), swizzle };
        Ok(())
    }

    fn three1(&mut self, i: &mut Instruction) -> Result<(), Error> {
        let mut destination = self.operand(i, i.destination, "it lacks a destination")?;
        let mut is_float = destination.kind.base() == Base::Float;
        self.bit(Field::ThreeFloat, &mut is_float)?;
        let Destination { place: to, kind, stride, .. } = &mut destination;
        let (mut file, mut number, mut offset) = self.direct(i, *to)?;
        self.three_file(i, Field::ThreeDestinationFile, &mut file)?;
        self.byte(Field::ThreeDestinationRegister, 1, &mut number)?;
        if i.is_macro() {
            self.coded(Field::ThreeMacroDestination, &ACCUMULATORS, i64::from, &mut offset)?;
        } else {
            self.byte(Field::ThreeDestinationOffset, 8, &mut offset)?;
        }
        *to = place(i, (file, number, offset));
        self.coded(Field::ThreeDestinationStride, &[Some(1), Some(2)], i64::from, stride)?;
        self.three_kind(Field::ThreeDestinationType, is_float, kind)?;
        i.destination = Some(destination);
        for (number, slot) in SLOTS.iter().enumerate() {
            let mut source = self.operand(i, i.sources[number], "it lacks a source")?;
            self.source1(i, slot, is_float, &mut source)?;
            i.sources[number] = Some(source);
        }
        Ok(())
    }

    /// Returns the file of an operand to walk over, the register's number, and the first byte or the accumulator.
    fn direct(&self, i: &Instruction, place: Place) -> Result<(File, u8, u8), Error> {
        if i.is_macro() {
            let (number, accumulator) = self.macro_register(i, place)?;
            return Ok((File::General, number, accumulator));
        }
        match place {
            Place::Direct { file, number, offset } => Ok((file, number, offset)),
            Place::Indirect { .. } | Place::Macro { .. } => Err(misplaced(i, "its operands are direct")),
        }
    }

    /// Returns a source to walk over.
    fn parts(&self, i: &Instruction, source: Source) -> Result<Parts, Error> {
        match source {
            Source::Register { place, kind, region, absolute, negate } => {
                let (file, number, offset) = self.direct(i, place)?;
                Ok(Parts { file, number, offset, kind, region, absolute, negate })
            }
            Source::Immediate { .. } if self.direction == Direction::Decode => Ok(Parts::default()),
            Source::Immediate { .. } => {
                Err(misplaced(i, "an immediate can be the first or last source only"))
            }
        }
    }

    /// Walks over a file of registers: before graphics 12, the code 1 is that of the architecture's.
    fn three_file(&mut self, i: &Instruction, field: Field, file: &mut File) -> Result<(), Error> {
        if self.platform.graphics() >= 120 {
            self.file(field, file)?;
        } else {
            self.coded(field, &[Some(File::General), Some(File::Architecture)], |_| 0, file)?;
        }
        if i.is_macro() && *file != File::General { Err(misplaced(i, MACRO_FILE)) } else { Ok(()) }
    }

    fn three_kind(&mut self, field: Field, is_float: bool, kind: &mut Type) -> Result<(), Error> {
        let platform = self.platform;
        let code_of = |kind: Type| {
            ((kind.base() == Base::Float) == is_float).then(|| kind.three_code(platform)).flatten()
        };
        self.kind(field, code_of, kind)
    }

    /// Walks over an immediate, of which the instruction has 16 bits: those above are the sign of signed integers, and zeroes of others.
    fn three_immediate(&mut self, field: Field, kind: Type, bits: &mut u64) -> Result<(), Error> {
        let lengthened = |short: u64| match kind.base() {
            Base::Signed => {
                short as u16 as i16 as u64 & u64::MAX >> (64 - 8 * u32::from(kind.bytes().max(2)))
            }
            Base::Unsigned | Base::Float => short,
        };
        let mut short = *bits & 0xffff;
        if self.direction == Direction::Encode && lengthened(short) != *bits {
            return Err(self.no_code(field, *bits as i64));
        }
        self.number(field, &mut short)?;
        *bits = lengthened(short);
        Ok(())
    }

    fn source1(
        &mut self,
        i: &Instruction,
        slot: &Slot,
        is_float: bool,
        source: &mut Source,
    ) -> Result<(), Error> {
        let has_bit = self.platform.graphics() >= 120;
        let (Source::Register { mut kind, .. } | Source::Immediate { mut kind, .. }) = *source;
        self.three_kind(slot.kind, is_float, &mut kind)?;
        // Before graphics 12 the bit of an immediate is that of the file: a native float in it is the accumulator, as source 0.
        let has_file = has_bit || slot.immediate.is_none() || slot.is_first && kind == Type::Nf;
        if let Some((bit, number)) = slot.immediate {
            let mut is_immediate = matches!(source, Source::Immediate { .. });
            if has_bit || !has_file {
                self.bit(if has_bit { bit } else { slot.file }, &mut is_immediate)?;
            }
            if is_immediate {
                if kind == Type::Nf {
                    return Err(misplaced(i, "an immediate cannot be a native float"));
                }
                let mut bits = match *source {
                    Source::Immediate { bits, .. } => bits,
                    Source::Register { .. } => 0,
                };
                self.three_immediate(number, kind, &mut bits)?;
                *source = Source::Immediate { kind, bits };
                return Ok(());
            }
        }
        let mut parts = Parts { kind, ..self.parts(i, *source)? };
        if has_file {
            self.three_file(i, slot.file, &mut parts.file)?;
        } else {
            parts.file = File::General;
        }
        self.byte(slot.register, 1, &mut parts.number)?;
        if i.is_macro() {
            self.coded(slot.accumulator, &ACCUMULATORS, i64::from, &mut parts.offset)?;
        } else {
            self.byte(slot.offset, 1, &mut parts.offset)?;
        }
        if i.opcode != Opcode::Bfn {
            self.bit(slot.absolute, &mut parts.absolute)?;
            self.bit(slot.negate, &mut parts.negate)?;
        }
        let (mut vertical, mut horizontal) = match parts.region {
            Region::Rows { vertical, horizontal, .. } => (vertical.unwrap_or(0), horizontal),
            Region::Groups { .. } | Region::Payload => (0, 0),
        };
        self.coded(slot.horizontal, &STRIDES, i64::from, &mut horizontal)?;
        if let Some(field) = slot.vertical {
            let shortest = if has_bit { 1 } else { 2 };
            self.coded(field, &[Some(0), Some(shortest), Some(4), Some(8)], i64::from, &mut vertical)?;
        } else {
            vertical = horizontal;
        }
        parts.region = Region::of_three(vertical, horizontal);
        *source = parts.source(i);
        Ok(())
    }
}

impl Default for Parts {
    fn default() -> Self {
        let region = Region::of_three(0, 0);
        Self {
            file: File::General,
            number: 0,
            offset: 0,
            kind: Type::Ud,
            region,
            absolute: false,
            negate: false,
        }
    }
}

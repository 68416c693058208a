//! Operations with three sources.

use super::operands::STRIDES;
use super::{Codec, Direction, misplaced};
use crate::isa::{Base, Field};
use crate::{Destination, Error, File, Instruction, Place, Platform, Region, Source, Type};

/// The fields of a source in Align16.
struct Slot16 {
    register: Field,
    offset: Field,
    swizzle: Field,
    scalar: Field,
    absolute: Field,
    negate: Field,
}

static SLOTS16: [Slot16; 3] = [
    Slot16 {
        register: Field::ThreeSource0Register,
        offset: Field::Three16Source0Offset,
        swizzle: Field::Three16Source0Swizzle,
        scalar: Field::Three16Source0Scalar,
        absolute: Field::ThreeSource0Absolute,
        negate: Field::ThreeSource0Negate,
    },
    Slot16 {
        register: Field::ThreeSource1Register,
        offset: Field::Three16Source1Offset,
        swizzle: Field::Three16Source1Swizzle,
        scalar: Field::Three16Source1Scalar,
        absolute: Field::ThreeSource1Absolute,
        negate: Field::ThreeSource1Negate,
    },
    Slot16 {
        register: Field::ThreeSource2Register,
        offset: Field::Three16Source2Offset,
        swizzle: Field::Three16Source2Swizzle,
        scalar: Field::Three16Source2Scalar,
        absolute: Field::ThreeSource2Absolute,
        negate: Field::ThreeSource2Negate,
    },
];

/// The fields of a source in Align1; a source without a vertical stride has the horizontal one.
struct Slot {
    file: Field,
    /// Of the sources that can be one: the bit from graphics 12 on, and the number.
    immediate: Option<(Field, Field)>,
    kind: Field,
    register: Field,
    offset: Field,
    vertical: Option<Field>,
    horizontal: Field,
    absolute: Field,
    negate: Field,
}

static SLOTS: [Slot; 3] = [
    Slot {
        file: Field::ThreeSource0File,
        immediate: Some((Field::ThreeSource0IsImmediate, Field::ThreeSource0Immediate)),
        kind: Field::ThreeSource0Type,
        register: Field::ThreeSource0Register,
        offset: Field::ThreeSource0Offset,
        vertical: Some(Field::ThreeSource0Vertical),
        horizontal: Field::ThreeSource0Horizontal,
        absolute: Field::ThreeSource0Absolute,
        negate: Field::ThreeSource0Negate,
    },
    Slot {
        file: Field::ThreeSource1File,
        immediate: None,
        kind: Field::ThreeSource1Type,
        register: Field::ThreeSource1Register,
        offset: Field::ThreeSource1Offset,
        vertical: Some(Field::ThreeSource1Vertical),
        horizontal: Field::ThreeSource1Horizontal,
        absolute: Field::ThreeSource1Absolute,
        negate: Field::ThreeSource1Negate,
    },
    Slot {
        file: Field::ThreeSource2File,
        immediate: Some((Field::ThreeSource2IsImmediate, Field::ThreeSource2Immediate)),
        kind: Field::ThreeSource2Type,
        register: Field::ThreeSource2Register,
        offset: Field::ThreeSource2Offset,
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
    offset: u8,
    kind: Type,
    region: Region,
    absolute: bool,
    negate: bool,
}

impl Parts {
    fn of(source: Source) -> Option<Self> {
        match source {
            Source::Register {
                place: Place::Direct { file, number, offset },
                kind,
                region,
                absolute,
                negate,
            } => Some(Self { file, number, offset, kind, region, absolute, negate }),
            Source::Register { place: Place::Indirect { .. }, .. } | Source::Immediate { .. } => None,
        }
    }

    fn source(self) -> Source {
        let Self { file, number, offset, kind, region, absolute, negate } = self;
        Source::Register { place: Place::Direct { file, number, offset }, kind, region, absolute, negate }
    }
}

impl Codec {
    /// Walks over an operation with three sources.
    pub(super) fn three(&mut self, i: &mut Instruction) -> Result<(), Error> {
        self.result(i, Field::ThreeFlag)?;
        self.condition(i)?;
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
        let Destination { place, kind, stride, mask } = &mut destination;
        let Place::Direct { mut number, mut offset, .. } = *place else {
            return Err(misplaced(i, "its operands are direct"));
        };
        self.byte(Field::ThreeDestinationRegister, 1, &mut number)?;
        self.byte(Field::Three16DestinationOffset, 4, &mut offset)?;
        *place = Place::Direct { file: File::General, number, offset };
        *stride = 1;
        self.byte(Field::Three16DestinationMask, 1, mask)?;
        self.kind(Field::Three16DestinationType, Type::align16_code, kind)?;
        i.destination = Some(destination);
        let mut all = [Source::default(); 3];
        for (number, source) in all.iter_mut().enumerate() {
            *source = self.operand(i, i.sources[number], "it lacks a source")?;
        }
        let parts =
            all.map(|source| Parts::of(source).ok_or(misplaced(i, "its sources are direct registers")));
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
            self.source16(slot, &mut parts)?;
            i.sources[number] = Some(parts.source());
        }
        Ok(())
    }

    fn source16(&mut self, slot: &Slot16, parts: &mut Parts) -> Result<(), Error> {
        let (mut swizzle, mut is_scalar) = match parts.region {
            Region::Groups { vertical, swizzle } => (swizzle, vertical == Some(0)),
            Region::Rows { .. } | Region::Payload => (0, false),
        };
        parts.file = File::General;
        self.byte(slot.register, 1, &mut parts.number)?;
        self.byte(slot.offset, 4, &mut parts.offset)?;
        self.byte(slot.swizzle, 1, &mut swizzle)?;
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
        let Destination { place, kind, stride, .. } = &mut destination;
        let Place::Direct { mut file, mut number, mut offset } = *place else {
            return Err(misplaced(i, "its operands are direct"));
        };
        self.three_file(Field::ThreeDestinationFile, &mut file)?;
        self.byte(Field::ThreeDestinationRegister, 1, &mut number)?;
        self.byte(Field::ThreeDestinationOffset, 8, &mut offset)?;
        *place = Place::Direct { file, number, offset };
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

    /// Walks over a file of registers: before graphics 12, the code 1 is that of the architecture's.
    fn three_file(&mut self, field: Field, file: &mut File) -> Result<(), Error> {
        if self.platform.graphics() >= 120 {
            self.file(field, file)
        } else {
            self.coded(field, &[Some(File::General), Some(File::Architecture)], |_| 0, file)
        }
    }

    fn three_kind(&mut self, field: Field, is_float: bool, kind: &mut Type) -> Result<(), Error> {
        let platform = self.platform;
        let code_of = |kind: Type| {
            ((kind.base() == Base::Float) == is_float).then(|| kind.three_code(platform)).flatten()
        };
        self.kind(field, code_of, kind)
    }

    fn source1(
        &mut self,
        i: &Instruction,
        slot: &Slot,
        is_float: bool,
        source: &mut Source,
    ) -> Result<(), Error> {
        let has_bit = self.platform.graphics() >= 120;
        let mut is_immediate = matches!(source, Source::Immediate { .. });
        if let Some((bit, number)) = slot.immediate {
            self.bit(if has_bit { bit } else { slot.file }, &mut is_immediate)?;
            if is_immediate {
                let (mut kind, mut bits) = match *source {
                    Source::Immediate { kind, bits } => (kind, bits),
                    Source::Register { .. } => (Type::Uw, 0),
                };
                self.three_kind(slot.kind, is_float, &mut kind)?;
                self.number(number, &mut bits)?;
                *source = Source::Immediate { kind, bits };
                return Ok(());
            }
        }
        let start = match (self.direction, Parts::of(*source)) {
            (_, Some(parts)) => parts,
            (Direction::Decode, None) => Parts::default(),
            (Direction::Encode, None) => {
                return Err(misplaced(i, "its source is direct, or the first or last one"));
            }
        };
        let mut parts = start;
        if slot.immediate.is_some() && !has_bit {
            parts.file = File::General;
        } else {
            self.three_file(slot.file, &mut parts.file)?;
        }
        self.byte(slot.register, 1, &mut parts.number)?;
        self.byte(slot.offset, 1, &mut parts.offset)?;
        self.three_kind(slot.kind, is_float, &mut parts.kind)?;
        self.bit(slot.absolute, &mut parts.absolute)?;
        self.bit(slot.negate, &mut parts.negate)?;
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
        *source = parts.source();
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

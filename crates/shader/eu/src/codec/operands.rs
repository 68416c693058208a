//! Destinations and sources of instructions with one or two sources.

use super::{Codec, Direction, misplaced};
use crate::isa::Field;
use crate::{Destination, Error, File, Instruction, Opcode, Place, Region, Source, Type};

/// The code of immediates as a register file, before graphics 12.
pub(super) const IMMEDIATE: u64 = 3;

/// The refusal of a macro operation on other registers than general ones.
pub(super) const MACRO_FILE: &str = "an operand of a macro operation in architecture registers";

/// Distances of elements, by code.
pub(super) const STRIDES: [Option<u8>; 4] = [Some(0), Some(1), Some(2), Some(4)];

/// The accumulators of macro operations.
pub(super) const ACCUMULATORS: [Option<u8>; 9] =
    [Some(0), Some(1), Some(2), Some(3), Some(4), Some(5), Some(6), Some(7), Some(8)];

/// Distances of rows, by code; of the last, each row or element has an address of its own.
const VERTICAL: [Option<Option<u8>>; 16] = {
    let mut codes = [None; 16];
    let (mut code, mut stride) = (1, 1);
    codes[0] = Some(Some(0));
    while code < 7 {
        codes[code] = Some(Some(stride));
        code += 1;
        stride *= 2;
    }
    codes[15] = Some(None);
    codes
};

/// The fields of a place.
pub(super) struct PlaceFields {
    pub file: Field,
    pub register: Field,
    pub offset: Field,
    pub offset16: Field,
    pub indirect: Field,
    pub address: Field,
    pub distance: Field,
    pub accumulator: Field,
}

const DESTINATION: PlaceFields = PlaceFields {
    file: Field::DestinationFile,
    register: Field::DestinationRegister,
    offset: Field::DestinationOffset,
    offset16: Field::DestinationOffset16,
    indirect: Field::DestinationIndirect,
    address: Field::DestinationAddress,
    distance: Field::DestinationDistance,
    accumulator: Field::MacroDestination,
};

pub(super) const SOURCE0: PlaceFields = PlaceFields {
    file: Field::Source0File,
    register: Field::Source0Register,
    offset: Field::Source0Offset,
    offset16: Field::Source0Offset16,
    indirect: Field::Source0Indirect,
    address: Field::Source0Address,
    distance: Field::Source0Distance,
    accumulator: Field::MacroSource0,
};

const SOURCE1: PlaceFields = PlaceFields {
    file: Field::Source1File,
    register: Field::Source1Register,
    offset: Field::Source1Offset,
    offset16: Field::Source1Offset16,
    indirect: Field::Source1Indirect,
    address: Field::Source1Address,
    distance: Field::Source1Distance,
    accumulator: Field::MacroSource1,
};

/// The fields of a source.
pub(super) struct Slot {
    place: PlaceFields,
    immediate: Field,
    kind: Field,
    absolute: Field,
    negate: Field,
    vertical: Field,
    width: Field,
    horizontal: Field,
    swizzle: Field,
}

pub(super) static SLOTS: [Slot; 2] = [
    Slot {
        place: SOURCE0,
        immediate: Field::Source0Immediate,
        kind: Field::Source0Type,
        absolute: Field::Source0Absolute,
        negate: Field::Source0Negate,
        vertical: Field::Source0Vertical,
        width: Field::Source0Width,
        horizontal: Field::Source0Horizontal,
        swizzle: Field::Source0Swizzle,
    },
    Slot {
        place: SOURCE1,
        immediate: Field::Source1Immediate,
        kind: Field::Source1Type,
        absolute: Field::Source1Absolute,
        negate: Field::Source1Negate,
        vertical: Field::Source1Vertical,
        width: Field::Source1Width,
        horizontal: Field::Source1Horizontal,
        swizzle: Field::Source1Swizzle,
    },
];

impl Codec {
    /// Walks over an instruction with so many sources, 1 or 2.
    pub(super) fn basic(&mut self, i: &mut Instruction, sources: u8) -> Result<(), Error> {
        self.result(i)?;
        if i.opcode.has_function() {
            self.condition(i)?;
        }
        let is_right = match self.platform.graphics() {
            ..80 => false,
            80..110 => i.align16,
            110.. => !i.align16,
        };
        if i.is_macro() && !is_right {
            return Err(misplaced(i, "its function has another access mode on this platform, or is missing"));
        }
        self.destination(i)?;
        let last = if i.has_one_source() { 0 } else { usize::from(sources) - 1 };
        for (number, slot) in SLOTS.iter().enumerate().take(last + 1) {
            self.source(i, number, slot, number == last)?;
        }
        let has_long = matches!(i.sources[0], Some(Source::Immediate { kind, .. }) if kind.bytes() == 8);
        // From graphics 12 on, an immediate of 64 bits has the condition's bits.
        let has_none = i.opcode.has_function() || (has_long && self.platform.graphics() >= 120);
        if has_none { Ok(()) } else { self.condition(i) }
    }

    /// Walks over a file of registers, whose codes are 0 and 1.
    pub(super) fn file(&mut self, field: Field, file: &mut File) -> Result<(), Error> {
        self.coded(field, &[Some(File::Architecture), Some(File::General)], |_| 0, file)
    }

    /// Walks over the destination.
    pub(super) fn destination(&mut self, i: &mut Instruction) -> Result<(), Error> {
        let mut destination = self.operand(i, i.destination, "it lacks a destination")?;
        let Destination { place, kind, stride, mask } = &mut destination;
        let platform = self.platform;
        self.kind(Field::DestinationType, |kind| kind.register_code(platform), kind)?;
        if i.align16 && i.is_macro() {
            *stride = 1;
        } else {
            self.coded(Field::DestinationStride, &STRIDES, i64::from, stride)?;
        }
        self.place(i, &DESTINATION, place)?;
        if i.align16 && !i.is_macro() {
            self.byte(Field::DestinationMask, 1, mask)?;
        }
        i.destination = Some(destination);
        Ok(())
    }

    /// Returns an operand to walk over.
    pub(super) fn operand<T: Default>(
        &self,
        i: &Instruction,
        operand: Option<T>,
        what: &'static str,
    ) -> Result<T, Error> {
        match (self.direction, operand) {
            (Direction::Encode, None) => Err(misplaced(i, what)),
            (_, operand) => Ok(operand.unwrap_or_default()),
        }
    }

    /// Walks over a source; the last one can be an immediate.
    fn source(
        &mut self,
        i: &mut Instruction,
        number: usize,
        slot: &Slot,
        is_last: bool,
    ) -> Result<(), Error> {
        let mut source = self.operand(i, i.sources[number], "it lacks a source")?;
        let mut is_immediate = matches!(source, Source::Immediate { .. });
        if self.has(slot.immediate) {
            self.bit(slot.immediate, &mut is_immediate)?;
        } else if self.direction == Direction::Decode {
            is_immediate = slot.place.file.get(self.platform, self.word) == IMMEDIATE;
        }
        let is_double =
            self.direction == Direction::Decode || matches!(source, Source::Immediate { kind: Type::Df, .. });
        if i.opcode == Opcode::Dim && !(is_immediate && is_double) {
            return Err(misplaced(i, "its source is an immediate of type df"));
        }
        if is_immediate {
            if !is_last {
                let what = "an immediate can be the last source only";
                return Err(misplaced(i, what));
            }
            source = self.immediate(i.opcode, slot, source)?;
        } else {
            source = self.register(i, slot, source)?;
        }
        i.sources[number] = Some(source);
        Ok(())
    }

    fn immediate(&mut self, opcode: Opcode, slot: &Slot, source: Source) -> Result<Source, Error> {
        let (mut kind, mut bits) = match source {
            Source::Immediate { kind, bits } => (kind, bits),
            Source::Register { .. } => (Type::Ud, 0),
        };
        if !self.has(slot.immediate) {
            let mut code = IMMEDIATE;
            self.number(slot.place.file, &mut code)?;
        }
        let platform = self.platform;
        self.kind(slot.kind, |kind| opcode.immediate_code(kind, platform), &mut kind)?;
        let field = if kind.bytes() == 8 { Field::Immediate64 } else { Field::Immediate };
        self.number(field, &mut bits)?;
        Ok(Source::Immediate { kind, bits })
    }

    /// Walks over a source in registers.
    pub(super) fn register(&mut self, i: &Instruction, slot: &Slot, source: Source) -> Result<Source, Error> {
        let (mut place, mut kind, mut region, mut absolute, mut negate) = match source {
            Source::Register { place, kind, region, absolute, negate } => {
                (place, kind, region, absolute, negate)
            }
            Source::Immediate { .. } => (Place::NULL, Type::Ud, Region::Payload, false, false),
        };
        let platform = self.platform;
        self.kind(slot.kind, |kind| kind.register_code(platform), &mut kind)?;
        self.bit(slot.absolute, &mut absolute)?;
        self.bit(slot.negate, &mut negate)?;
        self.place(i, &slot.place, &mut place)?;
        let (mut vertical, mut width, mut horizontal, mut swizzle) = match region {
            Region::Rows { vertical, width, horizontal } => (vertical, width, horizontal, 0),
            Region::Groups { vertical, swizzle } => (vertical, 1, 0, swizzle),
            Region::Payload => (Some(0), 1, 0, 0),
        };
        self.coded(slot.vertical, &VERTICAL, |stride| stride.map_or(-1, i64::from), &mut vertical)?;
        region = if i.align16 {
            if i.is_macro() {
                swizzle = 0;
            } else {
                self.byte(slot.swizzle, 1, &mut swizzle)?;
            }
            Region::Groups { vertical, swizzle }
        } else {
            self.coded(slot.width, &[1, 2, 4, 8, 16].map(Some), i64::from, &mut width)?;
            self.coded(slot.horizontal, &STRIDES, i64::from, &mut horizontal)?;
            Region::Rows { vertical, width, horizontal }
        };
        Ok(Source::Register { place, kind, region, absolute, negate })
    }

    /// Walks over a place.
    pub(super) fn place(
        &mut self,
        i: &Instruction,
        fields: &PlaceFields,
        place: &mut Place,
    ) -> Result<(), Error> {
        if i.is_macro() {
            return self.macro_place(i, fields, place);
        }
        let mut is_indirect = matches!(place, Place::Indirect { .. });
        self.bit(fields.indirect, &mut is_indirect)?;
        let (mut file, mut number, mut offset, mut address, mut distance) = match *place {
            Place::Direct { file, number, offset } => (file, number, offset, 0, 0),
            Place::Indirect { register, offset } => (File::General, 0, 0, register, i32::from(offset)),
            Place::Macro { .. } => return Err(misplaced(i, "an operand of macro operations")),
        };
        // From graphics 12 on, the lowest bit of an address offset is in the place of the file.
        if is_indirect && self.has(Field::Scoreboard) {
            file = File::General;
        } else {
            self.file(fields.file, &mut file)?;
        }
        if is_indirect {
            let error = |what| Err(misplaced(i, what));
            if i.align16 {
                return error("an indirect operand of Align16, which is not known here");
            }
            if file != File::General {
                return error("an indirect operand in architecture registers");
            }
            self.byte(fields.address, 1, &mut address)?;
            self.signed(fields.distance, &mut distance)?;
            *place = Place::Indirect { register: address, offset: distance as i16 };
        } else {
            self.byte(fields.register, 1, &mut number)?;
            if i.align16 {
                self.byte(fields.offset16, 16, &mut offset)?;
            } else {
                self.byte(fields.offset, 1, &mut offset)?;
            }
            *place = Place::Direct { file, number, offset };
        }
        Ok(())
    }
    /// Walks over a place of a macro operation, which is direct.
    fn macro_place(&mut self, i: &Instruction, fields: &PlaceFields, place: &mut Place) -> Result<(), Error> {
        let (mut number, mut accumulator) = self.macro_register(i, *place)?;
        self.fixed(fields.indirect, 0, i.opcode, "an indirect operand of a macro operation")?;
        self.fixed(fields.file, 1, i.opcode, MACRO_FILE)?;
        self.byte(fields.register, 1, &mut number)?;
        self.coded(fields.accumulator, &ACCUMULATORS, i64::from, &mut accumulator)?;
        *place = Place::Macro { number, accumulator };
        Ok(())
    }

    /// Returns the register and the accumulator of a macro operation's operand to walk over.
    pub(super) fn macro_register(&self, i: &Instruction, place: Place) -> Result<(u8, u8), Error> {
        match place {
            Place::Macro { number, accumulator } => Ok((number, accumulator)),
            Place::Direct { .. } | Place::Indirect { .. } if self.direction == Direction::Decode => {
                Ok((0, 0))
            }
            Place::Direct { .. } | Place::Indirect { .. } => {
                Err(misplaced(i, "the operands of a macro operation have accumulators (Place::Macro)"))
            }
        }
    }
}

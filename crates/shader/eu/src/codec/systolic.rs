//! Matrix operations: `dpas` and `dpasw` of DG2.

use super::{Codec, Direction, misplaced};
use crate::isa::{Base, Field};
use crate::{Destination, Error, File, Instruction, Place, Region, Source, Systolic, Type};

/// The fields of a source.
struct Slot {
    file: Field,
    register: Field,
    offset: Field,
    kind: Field,
    /// Of the factors; source 0 is added.
    bits: Option<Field>,
    /// Of those that can be one.
    immediate: Option<Field>,
}

static SLOTS: [Slot; 3] = [
    Slot {
        file: Field::ThreeSource0File,
        register: Field::ThreeSource0Register,
        offset: Field::ThreeSource0Offset,
        kind: Field::ThreeSource0Type,
        bits: None,
        immediate: Some(Field::ThreeSource0IsImmediate),
    },
    Slot {
        file: Field::ThreeSource1File,
        register: Field::ThreeSource1Register,
        offset: Field::ThreeSource1Offset,
        kind: Field::ThreeSource1Type,
        bits: Some(Field::SystolicSource1Bits),
        immediate: None,
    },
    Slot {
        file: Field::ThreeSource2File,
        register: Field::ThreeSource2Register,
        offset: Field::ThreeSource2Offset,
        kind: Field::ThreeSource2Type,
        bits: Some(Field::SystolicSource2Bits),
        immediate: Some(Field::ThreeSource2IsImmediate),
    },
];

impl Codec {
    /// Walks over a matrix operation.
    pub(super) fn systolic(&mut self, i: &mut Instruction) -> Result<(), Error> {
        self.bit(Field::AccumulatorWrite, &mut i.accumulator_write)?;
        let mut systolic = match (self.direction, i.systolic) {
            (_, Some(systolic)) => systolic,
            (Direction::Decode, None) => Systolic { depth: 1, repeat: 1, bits: [8; 2] },
            (Direction::Encode, None) => return Err(misplaced(i, "it lacks a matrix")),
        };
        self.coded(Field::SystolicDepth, &[1, 2, 4, 8].map(Some), i64::from, &mut systolic.depth)?;
        let counts = [1, 2, 3, 4, 5, 6, 7, 8].map(Some);
        self.coded(Field::SystolicRepeat, &counts, i64::from, &mut systolic.repeat)?;
        let mut destination = self.operand(i, i.destination, "it lacks a destination")?;
        let mut is_float = destination.kind.base() == Base::Float;
        self.bit(Field::ThreeFloat, &mut is_float)?;
        self.systolic_kind(Field::ThreeDestinationType, is_float, false, &mut destination.kind)?;
        let (_, mut number, mut offset) = self.whole(i, destination.place)?;
        self.fixed(Field::ThreeDestinationFile, 1, i.opcode, "its destination is no general register")?;
        self.byte(Field::ThreeDestinationRegister, 1, &mut number)?;
        self.byte(Field::SystolicDestinationOffset, 1, &mut offset)?;
        let place = Place::Direct { file: File::General, number, offset };
        i.destination = Some(Destination { place, ..destination });
        let [first, second] = &mut systolic.bits;
        for (number, (slot, bits)) in SLOTS.iter().zip([None, Some(first), Some(second)]).enumerate() {
            self.factor(i, number, slot, is_float, bits)?;
        }
        i.systolic = Some(systolic);
        Ok(())
    }

    fn factor(
        &mut self,
        i: &mut Instruction,
        at: usize,
        slot: &Slot,
        is_float: bool,
        bits: Option<&mut u8>,
    ) -> Result<(), Error> {
        let source = self.operand(i, i.sources[at], "it lacks a source")?;
        let (place, mut kind) = match source {
            Source::Register { place, kind, .. } => (place, kind),
            Source::Immediate { .. } => return Err(misplaced(i, "its sources are registers")),
        };
        let (mut file, mut number, mut offset) = self.whole(i, place)?;
        if let Some(immediate) = slot.immediate {
            self.fixed(immediate, 0, i.opcode, "its sources are registers")?;
        }
        self.file(slot.file, &mut file)?;
        self.byte(slot.register, 1, &mut number)?;
        self.byte(slot.offset, 1, &mut offset)?;
        let place = Place::Direct { file, number, offset };
        // The added matrix may be missing.
        if file != File::General && (at != 0 || place != Place::NULL) {
            return Err(misplaced(i, "its source is no general register"));
        }
        self.systolic_kind(slot.kind, is_float, slot.bits.is_some(), &mut kind)?;
        if let (Some(field), Some(bits)) = (slot.bits, bits) {
            let widths: &[Option<u8>] = if is_float { &[Some(16)] } else { &[Some(8), Some(4), Some(2)] };
            self.coded(field, widths, i64::from, bits)?;
        }
        i.sources[at] =
            Some(Source::Register { place, kind, region: Region::Payload, absolute: false, negate: false });
        Ok(())
    }

    /// Returns the file of an operand to walk over, the register's number and the first byte.
    fn whole(&self, i: &Instruction, place: Place) -> Result<(File, u8, u8), Error> {
        match place {
            Place::Direct { file, number, offset } => Ok((file, number, offset)),
            Place::Indirect { .. } | Place::Macro { .. } => Err(misplaced(i, "its operands are direct")),
        }
    }

    fn systolic_kind(
        &mut self,
        field: Field,
        is_float: bool,
        is_factor: bool,
        kind: &mut Type,
    ) -> Result<(), Error> {
        let is_fitting = |kind: Type| (kind.base() == Base::Float) == is_float;
        self.kind(field, |kind| kind.systolic_code(is_factor).filter(|_| is_fitting(kind)), kind)
    }
}

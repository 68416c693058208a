//! Messages.

use super::operands::{IMMEDIATE, SOURCE0};
use super::{Codec, Direction, misplaced};
use crate::isa::Field;
use crate::{Descriptor, Destination, Error, File, Instruction, Message, Place, Region, Source, Type};

/// The number of the address register, which has a descriptor from its first word on.
const ADDRESS: u64 = 0x10;

impl Codec {
    /// Walks over a message with one payload (graphics 7 to 11).
    pub(super) fn send(&mut self, i: &mut Instruction) -> Result<(), Error> {
        self.byte(Field::Flag, 1, &mut i.flag)?;
        self.destination(i)?;
        let mut message = self.message(i)?;
        let mut payload = self.payload(i, 0)?;
        let platform = self.platform;
        self.kind(Field::Source0Type, |kind| kind.register_code(platform), &mut payload.1)?;
        self.place(i, &SOURCE0, &mut payload.0)?;
        self.set_payload(i, 0, payload);
        let mut file = match message.descriptor {
            Descriptor::Immediate(_) => IMMEDIATE,
            Descriptor::Register(_) => 0,
        };
        self.number(Field::Source1File, &mut file)?;
        self.descriptor_type(i)?;
        let what = "its descriptor is in a register other than a0.0";
        if file == IMMEDIATE {
            self.descriptor(&mut message.descriptor)?;
        } else if file != 0 {
            return Err(misplaced(i, what));
        } else {
            self.fixed(Field::Source1Register, ADDRESS, i.opcode, what)?;
            self.fixed(Field::Source1Offset, 0, i.opcode, what)?;
            message.descriptor = Descriptor::Register(0);
        }
        i.message = Some(message);
        Ok(())
    }

    /// Walks over a message with two payloads (`sends` of graphics 9 to 11, and all from graphics 12 on).
    pub(super) fn split_send(&mut self, i: &mut Instruction) -> Result<(), Error> {
        self.byte(Field::Flag, 1, &mut i.flag)?;
        let mut message = self.message(i)?;
        let mut destination = self.operand(i, i.destination, "it lacks a destination")?;
        let (mut file, mut number, mut offset) = direct(destination.place);
        self.file(Field::SplitDestinationFile, &mut file)?;
        self.byte(Field::DestinationRegister, 1, &mut number)?;
        if self.has(Field::Scoreboard) {
            destination.kind = Type::Ud;
        } else {
            let platform = self.platform;
            self.kind(Field::DestinationType, |kind| kind.register_code(platform), &mut destination.kind)?;
            self.byte(Field::DestinationOffset16, 16, &mut offset)?;
        }
        i.destination = Some(Destination { place: Place::Direct { file, number, offset }, ..destination });
        for (at, file_field, register) in [
            (0, Field::SplitSource0File, Field::Source0Register),
            (1, Field::SplitSource1File, Field::SplitSource1Register),
        ] {
            let (mut file, mut number, _) = direct(self.payload(i, at)?.0);
            if self.has(file_field) {
                self.file(file_field, &mut file)?;
            } else {
                file = File::General;
            }
            self.byte(register, 1, &mut number)?;
            self.set_payload(i, at, (Place::Direct { file, number, offset: 0 }, Type::Ud));
        }
        let mut is_indirect = matches!(message.descriptor, Descriptor::Register(_));
        self.bit(Field::IndirectDescriptor, &mut is_indirect)?;
        if is_indirect {
            message.descriptor = Descriptor::Register(0);
        } else {
            self.descriptor(&mut message.descriptor)?;
        }
        self.extended(&mut message.extended)?;
        i.message = Some(message);
        Ok(())
    }

    /// Walks over the fields that all messages have, and returns the message.
    fn message(&mut self, i: &Instruction) -> Result<Message, Error> {
        let mut message = match (self.direction, i.message) {
            (_, Some(message)) => message,
            (Direction::Decode, None) => Message {
                function: 0,
                descriptor: Descriptor::Immediate(0),
                extended: Descriptor::Immediate(0),
                end_of_thread: false,
            },
            (Direction::Encode, None) => {
                return Err(misplaced(i, "it lacks a message"));
            }
        };
        self.byte(Field::Condition, 1, &mut message.function)?;
        self.bit(Field::EndOfThread, &mut message.end_of_thread)?;
        Ok(message)
    }

    /// Checks the type of the descriptor, which is UD, or D in programs of older assemblers. The hardware takes both alike, so the type is
    /// one of the ignored bits.
    fn descriptor_type(&self, i: &Instruction) -> Result<(), Error> {
        let code = Field::Source1Type.get(self.platform, self.word);
        let known = [Type::Ud, Type::D].map(|kind| kind.register_code(self.platform).map(u64::from));
        if self.direction == Direction::Encode || known.contains(&Some(code)) {
            return Ok(());
        }
        Err(misplaced(i, "its descriptor is of another type than UD or D"))
    }

    fn descriptor(&mut self, descriptor: &mut Descriptor) -> Result<(), Error> {
        let mut bits = match *descriptor {
            Descriptor::Immediate(bits) => u64::from(bits),
            Descriptor::Register(_) => 0,
        };
        self.number(Field::Descriptor, &mut bits)?;
        *descriptor = Descriptor::Immediate(bits as u32);
        Ok(())
    }

    /// Walks over the extended descriptor. Before graphics 12, its bits 15 to 10 are no part of the instruction.
    fn extended(&mut self, descriptor: &mut Descriptor) -> Result<(), Error> {
        let mut is_indirect = matches!(descriptor, Descriptor::Register(_));
        self.bit(Field::IndirectExtended, &mut is_indirect)?;
        if is_indirect {
            let mut register = match *descriptor {
                Descriptor::Register(register) => register,
                Descriptor::Immediate(_) => 0,
            };
            self.byte(Field::ExtendedAddress, 2, &mut register)?;
            *descriptor = Descriptor::Register(register);
            return Ok(());
        }
        let bits = match *descriptor {
            Descriptor::Immediate(bits) => bits,
            Descriptor::Register(_) => 0,
        };
        let has_gap = !self.has(Field::Scoreboard);
        let mut packed = u64::from(if has_gap { bits >> 16 << 4 | bits >> 6 & 0xf } else { bits >> 6 });
        self.number(Field::Extended, &mut packed)?;
        let packed = packed as u32;
        let bits = if has_gap { packed >> 4 << 16 | (packed & 0xf) << 6 } else { packed << 6 };
        *descriptor = Descriptor::Immediate(bits);
        Ok(())
    }

    fn payload(&self, i: &Instruction, at: usize) -> Result<(Place, Type), Error> {
        match self.operand(i, i.sources[at], "it lacks a payload")? {
            Source::Register { place, kind, region: Region::Payload, .. } => Ok((place, kind)),
            Source::Register { .. } | Source::Immediate { .. } if self.direction == Direction::Decode => {
                Ok((Place::NULL, Type::Ud))
            }
            Source::Register { .. } | Source::Immediate { .. } => {
                Err(misplaced(i, "a payload is whole registers (Region::Payload)"))
            }
        }
    }

    fn set_payload(&self, i: &mut Instruction, at: usize, (place, kind): (Place, Type)) {
        i.sources[at] =
            Some(Source::Register { place, kind, region: Region::Payload, absolute: false, negate: false });
    }
}

/// Returns the file, number and offset of a direct place; those of null for another one.
fn direct(place: Place) -> (File, u8, u8) {
    match place {
        Place::Direct { file, number, offset } => (file, number, offset),
        Place::Indirect { .. } | Place::Macro { .. } => (File::Architecture, 0, 0),
    }
}

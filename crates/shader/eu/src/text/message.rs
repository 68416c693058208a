//! Messages, read.

use super::cursor::SyntaxError;
use super::operand::{self, Register};
use super::parse::Parser;
use crate::{Descriptor, Destination, Instruction, Message, Place, Region, Source, Type};

impl Parser<'_> {
    /// Reads the operands of a message with so many payloads.
    pub(super) fn send(&mut self, i: &mut Instruction, payloads: usize) -> Result<(), SyntaxError> {
        let (place, kind) = self.payload()?;
        i.destination = Some(Destination { place, kind, ..Destination::default() });
        for source in i.sources.iter_mut().take(payloads) {
            let (place, kind) = self.payload()?;
            *source = Some(Source::Register {
                place,
                kind,
                region: Region::Payload,
                absolute: false,
                negate: false,
            });
        }
        let mut length = 0;
        if self.platform.graphics() >= 125 && self.cursor.eat(":") {
            let start = self.cursor;
            length = self.cursor.number::<u32>()?;
            if length > 0x1f {
                return Err(start.error("is more than the registers of a payload"));
            }
        }
        let mut message = Message {
            function: 0,
            descriptor: Descriptor::Immediate(0),
            extended: self.descriptor(2)?,
            end_of_thread: false,
        };
        if let Descriptor::Immediate(bits) = &mut message.extended {
            *bits |= length << 6;
            if self.platform.graphics() < 120 {
                message.function = (*bits & 0xf) as u8;
                message.end_of_thread = *bits & 0x20 != 0;
                *bits &= !0x2f;
            }
        }
        message.descriptor = self.descriptor(1)?;
        i.message = Some(message);
        Ok(())
    }

    /// Reads a register of a message, and its type: UD if none is named.
    fn payload(&mut self) -> Result<(Place, Type), SyntaxError> {
        let register = Register::read(self.platform, &mut self.cursor)?;
        let start = self.cursor;
        let is_kind = self.cursor.eat(":") && self.cursor.peek().is_some_and(|c| c.is_ascii_alphabetic());
        self.cursor = start;
        let kind = if is_kind { operand::kind(&mut self.cursor)? } else { Type::Ud };
        Ok((register.place(kind)?, kind))
    }

    /// Reads a descriptor, whose register is named by elements of so many words.
    fn descriptor(&mut self, words: u8) -> Result<Descriptor, SyntaxError> {
        if !self.cursor.eat("a0.") {
            return self.cursor.number().map(Descriptor::Immediate);
        }
        let start = self.cursor;
        let element: u8 = self.cursor.number()?;
        let register = element.checked_mul(words).ok_or_else(|| start.error("is no address register"))?;
        Ok(Descriptor::Register(register))
    }
}

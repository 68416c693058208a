//! Messages: what they read and write.

use super::message::{Action, Block, Known, Scattered, known, second_registers};
use crate::execute::error::{NoRegister, Why};
use crate::execute::registers::{Bits, REGISTER_BYTES};
use crate::execute::shader::Located;
use crate::execute::{Access, Bus, Flow, Thread};
use crate::{Descriptor, Instruction, Place, Source};

impl Thread<'_> {
    /// Carries out a message.
    pub(in crate::execute) fn send(&mut self, located: &Located, bus: &mut dyn Bus) -> Result<Flow, Why> {
        let i = &located.instruction;
        let unknown = |what| Why::Unknown { opcode: i.opcode, what };
        let message = i.message.ok_or(unknown("a message without a payload"))?;
        let (Descriptor::Immediate(descriptor), Descriptor::Immediate(extended)) =
            (message.descriptor, message.extended)
        else {
            return Err(unknown("a descriptor in a register"));
        };
        let Some(known) = known(self.shader.platform, &message) else {
            return Err(Why::Message { function: message.function, descriptor });
        };
        let payload = Payload::of(i, extended).ok_or(unknown("a message without a payload"))?;
        match known {
            Known::End if i.predicate.is_some() || self.masks.waits() => {
                return Err(unknown("the end of some of the channels"));
            }
            Known::End => return Ok(Flow::Ended),
            Known::Fence { responds: false } => {}
            Known::Fence { responds: true } => {
                for skip in (0..REGISTER_BYTES).step_by(8) {
                    self.respond(i, skip, 8, None)?;
                }
            }
            Known::Block(Block { surface, .. }) | Known::Scattered(Scattered { surface, .. })
                if bus.rows(surface).is_some() =>
            {
                return Err(Why::Rows { surface });
            }
            Known::Block(block) => self.block(located, &payload, block, bus)?,
            Known::Media(media) => self.media(located, &payload, media, bus)?,
            Known::Scattered(scattered) => self.scattered(located, &payload, scattered, bus)?,
        }
        Ok(Flow::To(located.next))
    }

    /// Reads or writes bytes after one address. The masks do not apply.
    fn block(
        &mut self,
        located: &Located,
        payload: &Payload,
        block: Block,
        bus: &mut dyn Bus,
    ) -> Result<(), Why> {
        let i = &located.instruction;
        let Block { writes, surface, bytes, skip, unit } = block;
        let start = self.sent(i, payload.first, 8, 4, "the address")? as u32;
        // An address above 4 GB is after the end of each surface.
        let access = Access { at: located.at, surface, offset: start.saturating_mul(unit) };
        let mut block = vec![0; bytes];
        if writes {
            let (data, before) = payload.data(REGISTER_BYTES);
            for (number, byte) in block.iter_mut().enumerate() {
                *byte = self.sent(i, data, before + skip + number, 1, "a stored byte")? as u8;
            }
            bus.write(access, &block);
        } else {
            bus.read(access, &mut block);
            for (number, byte) in block.into_iter().enumerate() {
                self.respond(i, skip + number, 1, Some(u64::from(byte)))?;
            }
        }
        Ok(())
    }

    /// Accesses the elements of the enabled channels, from the lowest channel on. Where channels access the same bytes, the hardware may
    /// have another order.
    fn scattered(
        &mut self,
        located: &Located,
        payload: &Payload,
        scattered: Scattered,
        bus: &mut dyn Bus,
    ) -> Result<(), Why> {
        let i = &located.instruction;
        let Scattered { action, surface, channels, unit, alignment, bytes, elements } = scattered;
        let row = scattered.rows() * REGISTER_BYTES;
        let (data, before) = payload.data(row);
        let enabled = self.enabled(i);
        for channel in (0..channels).filter(|channel| enabled >> channel & 1 != 0) {
            let number = self.sent(i, payload.first, channel * 4, 4, "the address")? as u32;
            let offset = number.saturating_mul(unit);
            if offset % alignment != 0 && number.checked_mul(unit).is_some() {
                return Err(Why::Unaligned { opcode: i.opcode, offset });
            }
            for element in 0..elements {
                let place = element * row + channel * 4;
                let access =
                    Access { at: located.at, surface, offset: offset.saturating_add(4 * element as u32) };
                let mut memory = [0; 4];
                let slot = memory.get_mut(..bytes).unwrap_or_default();
                let operand = |thread: &Self, at: usize| {
                    thread.sent(i, data, before + place + at * row, bytes, "a stored byte")
                };
                match action {
                    Action::Read => {
                        bus.read(access, slot);
                        let read = u64::from(u32::from_le_bytes(memory));
                        self.respond(i, place, bytes, Some(read))?;
                        if bytes < 4 {
                            self.respond(i, place + bytes, 4 - bytes, None)?;
                        }
                    }
                    Action::Write => {
                        let stored = operand(self, 0)?.to_le_bytes();
                        bus.write(access, stored.get(..bytes).unwrap_or_default());
                    }
                    Action::Atomic { operation, responds } => {
                        let mut operands = [0; 2];
                        for (at, number) in operands.iter_mut().enumerate().take(operation.operands()) {
                            *number = operand(self, at)? as u32;
                        }
                        bus.read(access, slot);
                        let old = u32::from_le_bytes(memory);
                        bus.write(access, &operation.apply(old, operands).to_le_bytes());
                        if responds {
                            self.respond(i, place, 4, Some(u64::from(old)))?;
                        }
                    }
                }
            }
        }
        Ok(())
    }

    /// Returns bytes of a payload; `what` is said to depend on them.
    pub(super) fn sent(
        &self,
        i: &Instruction,
        place: Place,
        skip: usize,
        count: usize,
        what: &'static str,
    ) -> Result<u64, Why> {
        let got = self.registers.get(place, skip, count);
        got.map_err(|NoRegister| Why::Register { opcode: i.opcode, operand: "the payload" })?
            .ok_or(Why::Undefined { opcode: i.opcode, what })
    }

    /// Writes bytes of the response, `skip` bytes after the destination.
    pub(super) fn respond(
        &mut self,
        i: &Instruction,
        skip: usize,
        count: usize,
        bits: Bits,
    ) -> Result<(), Why> {
        let place = i.destination.map_or(Place::NULL, |destination| destination.place);
        let set = self.registers.set(place, skip, count, bits);
        set.map_err(|NoRegister| Why::Register { opcode: i.opcode, operand: "the destination" })
    }
}

/// The registers that are sent.
pub(super) struct Payload {
    pub first: Place,
    /// The data, if they are apart from header and addresses.
    second: Option<Place>,
}

impl Payload {
    /// Returns the payload of a message with an extended descriptor.
    fn of(i: &Instruction, extended: u32) -> Option<Self> {
        let place = |source| match source {
            Some(Source::Register { place, .. }) => Some(place),
            Some(Source::Immediate { .. }) | None => None,
        };
        let [first, second, _] = i.sources;
        Some(Self { first: place(first)?, second: place(second).filter(|_| second_registers(extended) != 0) })
    }

    /// Returns the place of the data, and the bytes before them: the second payload, or the first one after header and addresses.
    pub fn data(&self, before: usize) -> (Place, usize) {
        self.second.map_or((self.first, before), |second| (second, 0))
    }
}

//! Messages: what they read and write.

use super::error::Why;
use super::kernel::Located;
use super::message::{Direction, Known, has_header, known};
use super::registers::{NoRegister, REGISTER_BYTES};
use super::{Access, Bus, Flow, Thread};
use crate::{Descriptor, Instruction, Place, Source};

impl Thread {
    /// Carries out a message.
    pub(super) fn send(&mut self, located: &Located, bus: &mut dyn Bus) -> Result<Flow, Why> {
        let Located { instruction: i, at, next, .. } = located;
        let at = *at;
        let missing = Why::Unknown { opcode: i.opcode, what: "a message without a payload" };
        let message = i.message.ok_or(missing)?;
        let Descriptor::Immediate(descriptor) = message.descriptor else {
            return Err(Why::Unknown { opcode: i.opcode, what: "a descriptor in a register" });
        };
        let Some(known) = known(self.platform, &message) else {
            return Err(Why::Message { function: message.function, descriptor });
        };
        let first = place(i.sources[0]).ok_or(missing)?;
        match known {
            Known::End if i.predicate.is_some() || self.masks.waits() => {
                return Err(Why::Unknown { opcode: i.opcode, what: "the end of some of the channels" });
            }
            Known::End => return Ok(Flow::Ended),
            Known::Block { direction, surface, bytes, skip, unit } => {
                let (data, before) = data(i, first, REGISTER_BYTES);
                let start = self.payload(i, first, 8, 4, "the address")? as u32;
                let access = Access { at, surface, offset: start.wrapping_mul(unit) };
                let mut block = vec![0; bytes];
                match direction {
                    Direction::Read => {
                        bus.read(access, &mut block);
                        for (number, byte) in block.into_iter().enumerate() {
                            self.respond(i, skip + number, &[byte])?;
                        }
                    }
                    Direction::Write => {
                        for (number, byte) in block.iter_mut().enumerate() {
                            *byte = self.payload(i, data, before + skip + number, 1, "a stored byte")? as u8;
                        }
                        bus.write(access, &block);
                    }
                }
            }
            Known::Untyped { direction, surface, channels, dwords } => {
                let rows = channels * 4 / REGISTER_BYTES;
                let header = usize::from(has_header(descriptor)) * REGISTER_BYTES;
                let (data, before) = data(i, first, header + rows * REGISTER_BYTES);
                let enabled = self.enabled(i);
                for channel in (0..channels).filter(|channel| enabled >> channel & 1 != 0) {
                    let offset = self.payload(i, first, header + channel * 4, 4, "the address")? as u32;
                    for dword in (0..4).filter(|dword| dwords >> dword & 1 != 0) {
                        let access = Access { at, surface, offset: offset.wrapping_add(4 * dword) };
                        let behind = (dword as usize * rows) * REGISTER_BYTES + channel * 4;
                        match direction {
                            Direction::Read => {
                                let mut bytes = [0; 4];
                                bus.read(access, &mut bytes);
                                self.respond(i, behind, &bytes)?;
                            }
                            Direction::Write => {
                                let stored = self.payload(i, data, before + behind, 4, "a stored byte")?;
                                bus.write(access, &(stored as u32).to_le_bytes());
                            }
                        }
                    }
                }
            }
        }
        Ok(Flow::To(*next))
    }

    /// Returns bytes of a payload; `what` is said to depend on them.
    fn payload(
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

    /// Writes bytes of the response, `skip` bytes behind the destination.
    fn respond(&mut self, i: &Instruction, skip: usize, bytes: &[u8]) -> Result<(), Why> {
        let place = i.destination.map_or(Place::NULL, |destination| destination.place);
        let bits = bytes.iter().rev().fold(0, |bits, byte| bits << 8 | u64::from(*byte));
        let set = self.registers.set(place, skip, bytes.len(), Some(bits));
        set.map_err(|NoRegister| Why::Register { opcode: i.opcode, operand: "the destination" })
    }
}

/// Returns the place of a payload.
fn place(source: Option<Source>) -> Option<Place> {
    match source {
        Some(Source::Register { place, .. }) => Some(place),
        Some(Source::Immediate { .. }) | None => None,
    }
}

/// Returns the place of the data, and the bytes before them: the second payload, or the first one behind header and addresses.
fn data(i: &Instruction, first: Place, before: usize) -> (Place, usize) {
    match place(i.sources[1]) {
        Some(second) if second != Place::NULL => (second, 0),
        Some(_) | None => (first, before),
    }
}

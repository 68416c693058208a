//! Messages that access a place of its own for each channel: dwords, bytes and words, and atomic operations.

use super::super::Thread;
use super::super::channels::Channels;
use super::super::registers::REGISTER;
use super::{Message, dword};

/// The bits of a dword that a byte or a word which is read does not fill: they are not defined.
const UNDEFINED: u32 = 0x5a5a_5a5a;

/// A message of so many channels, whose payload begins with a dword of an offset for each of them.
struct Lanes {
    count: usize,
    binding: u8,
    payload: Vec<u8>,
}

impl Lanes {
    /// The registers that a dword of each channel has.
    fn registers(&self) -> usize {
        self.count * 4 / REGISTER
    }

    /// A dword of a channel, in a row of the payload.
    fn dword(&self, row: usize, channel: usize) -> u32 {
        dword(&self.payload, row * self.count + channel)
    }

    /// A channel's place, which is aligned to a power of two.
    fn offset(&self, channel: usize, align: u32) -> Result<u64, String> {
        let offset = self.dword(0, channel);
        if offset.is_multiple_of(align) {
            Ok(offset.into())
        } else {
            Err(format!("an access of {align} bytes at {offset:#x}"))
        }
    }
}

/// Returns what an atomic operation makes of an old dword, and of its operands.
fn atomic(code: u32, old: u32, [first, second]: [u32; 2]) -> Result<u32, String> {
    let [signed_old, signed_first] = [old, first].map(u32::cast_signed);
    Ok(match code {
        1 => old & first,
        2 => old | first,
        3 => old ^ first,
        4 => first,
        7 => old.wrapping_add(first),
        8 => old.wrapping_sub(first),
        10 => signed_old.max(signed_first).cast_unsigned(),
        11 => signed_old.min(signed_first).cast_unsigned(),
        12 => old.max(first),
        13 => old.min(first),
        // The old dword is compared with the first operand.
        14 if old == first => second,
        14 => old,
        _ => return Err(format!("atomic operation {code}")),
    })
}

impl Thread<'_> {
    /// The lanes of a message, which has no header and as many channels as the instruction.
    fn lanes(&mut self, channels: &Channels, message: &Message, count: usize) -> Result<Lanes, String> {
        if message.has_header() || count != channels.count as usize {
            return Err(format!("a message of {count} channels with a header, or in {}", channels.count));
        }
        Ok(Lanes { count, binding: message.binding()?, payload: self.payload(message)? })
    }

    /// The channels for which a message is executed.
    fn enabled(&self, channels: &Channels) -> Result<Vec<usize>, String> {
        let mut enabled = Vec::new();
        for channel in 0..channels.count as usize {
            if self.dispatched(channels, channel) && self.predicated(channels, channel)? {
                enabled.push(channel);
            }
        }
        Ok(enabled)
    }

    /// Reads or writes up to four dwords for each channel.
    pub fn untyped(&mut self, channels: &Channels, message: &Message, write: bool) -> Result<(), String> {
        let count = match message.bits(13, 12) {
            1 => 16,
            2 => 8,
            other => return Err(format!("an untyped message with SIMD mode {other}")),
        };
        let lanes = self.lanes(channels, message, count)?;
        // Bits say which dwords to leave out.
        let dwords: Vec<u64> = (0..4).filter(|dword| message.bits(11, 8) >> dword & 1 == 0).collect();
        let (sent, back) = if write { (1 + dwords.len(), 0) } else { (1, dwords.len()) };
        message.lengths(sent * lanes.registers(), back * lanes.registers())?;
        for channel in self.enabled(channels)? {
            let offset = lanes.offset(channel, 4)?;
            for (index, number) in dwords.iter().enumerate() {
                let at = offset + 4 * number;
                if write {
                    let value = lanes.dword(1 + index, channel);
                    self.memory.write(lanes.binding, at, &value.to_le_bytes())?;
                } else {
                    let mut bytes = [0; 4];
                    self.memory.read(lanes.binding, at, &mut bytes)?;
                    self.respond(message, index * count + channel, u32::from_le_bytes(bytes))?;
                }
            }
        }
        Ok(())
    }

    /// Reads or writes a byte or a word for each channel, which has a dword in registers.
    pub fn scattered(&mut self, channels: &Channels, message: &Message, write: bool) -> Result<(), String> {
        let count = if message.bits(8, 8) == 0 { 8 } else { 16 };
        let size = match message.bits(11, 10) {
            0 => 1,
            1 => 2,
            other => return Err(format!("a scattered message of size {other}")),
        };
        if message.bits(13, 12) != 0 || message.bits(9, 9) != 0 {
            return Err("a scattered message with other bits".into());
        }
        let lanes = self.lanes(channels, message, count)?;
        let (sent, back) = if write { (2, 0) } else { (1, 1) };
        message.lengths(sent * lanes.registers(), back * lanes.registers())?;
        for channel in self.enabled(channels)? {
            let offset = lanes.offset(channel, size as u32)?;
            let mut bytes = if write { lanes.dword(1, channel) } else { UNDEFINED }.to_le_bytes();
            if write {
                self.memory.write(lanes.binding, offset, &bytes[..size])?;
            } else {
                self.memory.read(lanes.binding, offset, &mut bytes[..size])?;
                self.respond(message, channel, u32::from_le_bytes(bytes))?;
            }
        }
        Ok(())
    }

    /// Changes a dword for each channel, in the order of channels, and returns the old one if that is asked for.
    pub fn atomic(&mut self, channels: &Channels, message: &Message) -> Result<(), String> {
        let count = if message.bits(12, 12) == 0 { 16 } else { 8 };
        let (code, responds) = (message.bits(11, 8), message.bits(13, 13) != 0);
        let lanes = self.lanes(channels, message, count)?;
        let operands = if code == 14 { 2 } else { 1 };
        message.lengths((1 + operands) * lanes.registers(), usize::from(responds) * lanes.registers())?;
        for channel in self.enabled(channels)? {
            let offset = lanes.offset(channel, 4)?;
            let mut bytes = [0; 4];
            self.memory.read(lanes.binding, offset, &mut bytes)?;
            let old = u32::from_le_bytes(bytes);
            let new = atomic(code, old, [1, 2].map(|row| lanes.dword(row, channel)))?;
            self.memory.write(lanes.binding, offset, &new.to_le_bytes())?;
            if responds {
                self.respond(message, channel, old)?;
            }
        }
        Ok(())
    }

    /// Writes a dword of the response.
    fn respond(&mut self, message: &Message, index: usize, value: u32) -> Result<(), String> {
        self.registers.set_dword(message.destination, index, value)
    }
}

//! Messages to the units that threads share: the data port, and the end of a thread.
//!
//! * [`port`]: messages with an offset for each channel;
//! * [`media`]: media blocks.

mod media;
mod port;

use super::Thread;
use super::channels::Channels;
use super::layout::{Field, Form, field};
use super::registers::REGISTER;

pub struct Message {
    /// The unit.
    function: u64,
    descriptor: u32,
    /// The first register of the payload, and of its second part with the number of registers.
    payload: usize,
    second: Option<(usize, usize)>,
    pub destination: usize,
    pub end: bool,
}

const GATEWAY: u64 = 3;
const RENDER_CACHE: u64 = 5;
const THREAD_SPAWNER: u64 = 7;
const DATA_PORT_0: u64 = 10;
const DATA_PORT_1: u64 = 12;

/// Message types of the data ports.
const BLOCK_READ: u32 = 0;
const SCATTERED_READ: u32 = 4;
const FENCE: u32 = 7;
const BLOCK_WRITE: u32 = 8;
const SCATTERED_WRITE: u32 = 12;
const UNTYPED_READ: u32 = 1;
const UNTYPED_ATOMIC: u32 = 2;
const UNTYPED_WRITE: u32 = 9;
/// Of the render cache on gen7, and of the second data port since Haswell.
const MEDIA_READ: u32 = 4;
const MEDIA_WRITE: u32 = 10;

/// Descriptors of a thread's end: one register, for the spawner with "no dereference".
const END_AT_SPAWNER: u32 = 0x0200_0010;
const END_AT_GATEWAY: u32 = 0x0200_0000;
/// The last payload of a thread is in these registers.
const FIRST_LAST: usize = 112;

/// Since gen12 a descriptor is in pieces: where each is, and its lowest bit in the descriptor.
const DESCRIPTOR_12: [(Field, u32); 5] =
    [((123, 122), 30), ((71, 67), 25), ((55, 51), 20), ((121, 113), 11), ((91, 81), 0)];
/// Binding table indices from here on are not surfaces of the table.
const FIRST_SPECIAL: u8 = 240;

impl Message {
    /// Decodes a message; `split`: it has a second payload.
    pub fn decode(form: Form, word: u128, split: bool) -> Result<Self, String> {
        let layout = form.layout();
        let of = |at: Field| field(word, at);
        let [source, other] = &layout.sources;
        let function = of(layout.condition);
        let payload = of(source.register) as usize;
        let destination = of(layout.destination.register) as usize;
        let general = |is: bool| if is { Ok(()) } else { Err("a payload outside of the GRF".to_owned()) };
        if form >= Form::Gen12 {
            if of((48, 48)) != 0 || of((49, 49)) != 0 {
                return Err("a descriptor in a register".into());
            }
            general(of(source.file) == 1)?;
            let length = of((103, 99)) as usize;
            general(length == 0 || of(other.file) == 1)?;
            let descriptor = DESCRIPTOR_12.iter().map(|(at, low)| (of(*at) as u32) << low).sum();
            let second = (length != 0).then(|| (of(other.register) as usize, length));
            return Ok(Self { function, descriptor, payload, second, destination, end: of((34, 34)) != 0 });
        }
        let in_register = if split { of((77, 77)) != 0 || of((61, 61)) != 0 } else { of(other.file) != 3 };
        if in_register {
            return Err("a descriptor in a register".into());
        }
        let second = if split {
            let length = of((67, 64)) as usize;
            general(length == 0 || of((36, 36)) == 1)?;
            (length != 0).then(|| (of((51, 44)) as usize, length))
        } else {
            general(of(source.file) == 1)?;
            None
        };
        let descriptor = of((126, 96)) as u32;
        Ok(Self { function, descriptor, payload, second, destination, end: of((127, 127)) != 0 })
    }

    pub fn bits(&self, high: u32, low: u32) -> u32 {
        field(self.descriptor.into(), (high, low)) as u32
    }

    pub fn binding(&self) -> Result<u8, String> {
        match self.bits(7, 0) as u8 {
            binding @ 0..FIRST_SPECIAL => Ok(binding),
            special => Err(format!("binding {special}, which is not in a table")),
        }
    }

    pub fn has_header(&self) -> bool {
        self.bits(19, 19) != 0
    }

    /// Checks the number of registers of payload and response.
    pub fn lengths(&self, payload: usize, response: usize) -> Result<(), String> {
        let sent = self.bits(28, 25) as usize + self.second.map_or(0, |(_, length)| length);
        let wanted = self.bits(24, 20) as usize;
        if (sent, wanted) == (payload, response) {
            return Ok(());
        }
        Err(format!("{sent} registers sent and {wanted} back, in place of {payload} and {response}"))
    }
}

/// A dword of a payload; after its end, zero.
pub fn dword(bytes: &[u8], index: usize) -> u32 {
    bytes.as_chunks().0.get(index).map_or(0, |dword| u32::from_le_bytes(*dword))
}

impl Thread<'_> {
    pub fn send(&mut self, channels: &Channels, message: &Message) -> Result<(), String> {
        let kind = message.bits(18, 14);
        match (message.function, kind) {
            (DATA_PORT_0, BLOCK_READ | BLOCK_WRITE) => self.block(channels, message, kind == BLOCK_WRITE),
            (DATA_PORT_0, SCATTERED_READ | SCATTERED_WRITE) => {
                self.scattered(channels, message, kind == SCATTERED_WRITE)
            }
            // Memory is coherent, and in order.
            (DATA_PORT_0, FENCE) => Ok(()),
            (DATA_PORT_1, UNTYPED_READ | UNTYPED_WRITE) => {
                self.untyped(channels, message, kind == UNTYPED_WRITE)
            }
            (DATA_PORT_1, UNTYPED_ATOMIC) => self.atomic(channels, message),
            (RENDER_CACHE, MEDIA_READ | MEDIA_WRITE) if self.form == Form::Gen7 => {
                self.media(channels, message, kind == MEDIA_WRITE)
            }
            (DATA_PORT_1, MEDIA_READ | MEDIA_WRITE) => self.media(channels, message, kind == MEDIA_WRITE),
            (function, _) => Err(format!("message {kind:#x} to unit {function}")),
        }
    }

    /// Checks the message that ends a thread.
    pub fn end(&self, channels: &Channels, message: &Message) -> Result<(), String> {
        let wanted = match self.form {
            Form::Gen7 | Form::Gen8 | Form::Gen11 | Form::Gen12 => (THREAD_SPAWNER, END_AT_SPAWNER),
            Form::XeHp => (GATEWAY, END_AT_GATEWAY),
        };
        let (function, descriptor) = (message.function, message.descriptor);
        if (function, descriptor) != wanted || channels.predicate.is_some() {
            return Err(format!("an end by message {descriptor:#x} to unit {function}"));
        }
        if message.payload < FIRST_LAST {
            return Err(format!("an end with payload r{}", message.payload));
        }
        Ok(())
    }

    /// The payload's bytes.
    pub fn payload(&mut self, message: &Message) -> Result<Vec<u8>, String> {
        let length = message.bits(28, 25) as usize * REGISTER;
        let mut payload = self.registers.bytes(message.payload, length)?.to_vec();
        if let Some((register, length)) = message.second {
            payload.extend_from_slice(self.registers.bytes(register, length * REGISTER)?);
        }
        Ok(payload)
    }

    /// Reads or writes up to eight OWords, whatever channels are enabled.
    fn block(&mut self, channels: &Channels, message: &Message, write: bool) -> Result<(), String> {
        if channels.predicate.is_some() || !message.has_header() {
            return Err("a block message with a predicate, or without a header".into());
        }
        // One OWord lies in the lower or in the upper half of its register.
        let (length, start): (usize, usize) = match message.bits(10, 8) {
            0 => (16, 0),
            1 => (16, 16),
            2 => (32, 0),
            3 => (64, 0),
            4 => (128, 0),
            other => return Err(format!("a block of size {other}")),
        };
        let (binding, registers) = (message.binding()?, (start + length).div_ceil(REGISTER));
        let payload = self.payload(message)?;
        let at = 16 * u64::from(dword(&payload, 2));
        if write {
            message.lengths(1 + registers, 0)?;
            let data = &payload[REGISTER + start..];
            return self.memory.write(binding, at, &data[..length]);
        }
        message.lengths(1, registers)?;
        let data = &mut self.registers.bytes(message.destination, start + length)?[start..];
        self.memory.read(binding, at, data)
    }
}

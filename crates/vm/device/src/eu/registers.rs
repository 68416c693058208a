//! The registers of a thread.

use super::types::Type;

/// Where an operand is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Place {
    General,
    Flags,
    /// Drops writes.
    Null,
}

/// An operand's elements: rows of `width`, with strides in elements.
#[derive(Clone, Copy)]
pub struct Region {
    pub place: Place,
    /// In bytes from register 0.
    pub start: usize,
    pub vertical: usize,
    pub width: usize,
    pub horizontal: usize,
}

/// A register's bytes, and the number of registers.
pub const REGISTER: usize = 32;
const COUNT: usize = 128;

pub struct Registers {
    general: [u8; COUNT * REGISTER],
    flags: [u8; 8],
}

impl Registers {
    pub fn new() -> Self {
        Self { general: [0; COUNT * REGISTER], flags: [0; 8] }
    }

    /// Consecutive bytes from register `number` on.
    pub fn bytes(&mut self, number: usize, length: usize) -> Result<&mut [u8], String> {
        let start = number * REGISTER;
        self.general
            .get_mut(start..start + length)
            .ok_or_else(|| format!("{length} bytes from r{number} on: there are {COUNT} registers"))
    }

    /// Writes a dword of a register or of one after it.
    pub fn set_dword(&mut self, number: usize, index: usize, value: u32) -> Result<(), String> {
        self.bytes(number, 4 * index + 4)?[4 * index..].copy_from_slice(&value.to_le_bytes());
        Ok(())
    }

    /// The bytes of one channel's element.
    fn element(&mut self, region: &Region, kind: Type, channel: usize) -> Result<&mut [u8], String> {
        let (row, column) = (channel / region.width, channel % region.width);
        let at = region.start + kind.size() * (row * region.vertical + column * region.horizontal);
        let file: &mut [u8] = match region.place {
            Place::General => &mut self.general,
            Place::Flags => &mut self.flags,
            Place::Null => return Err("an element of the null register".into()),
        };
        let register = at / REGISTER;
        file.get_mut(at..at + kind.size()).ok_or_else(|| format!("channel {channel} in register {register}"))
    }

    /// The bits of a channel's element.
    pub fn get(&mut self, region: &Region, kind: Type, channel: usize) -> Result<u64, String> {
        let mut bits = [0; 8];
        bits[..kind.size()].copy_from_slice(self.element(region, kind, channel)?);
        Ok(u64::from_le_bytes(bits))
    }

    /// Writes as many of the lower bits as the type has.
    pub fn set(&mut self, region: &Region, kind: Type, channel: usize, bits: u64) -> Result<(), String> {
        if region.place != Place::Null {
            let bits = bits.to_le_bytes();
            self.element(region, kind, channel)?.copy_from_slice(&bits[..kind.size()]);
        }
        Ok(())
    }

    pub fn flag(&self, bit: u32) -> bool {
        u64::from_le_bytes(self.flags) >> bit & 1 != 0
    }

    pub fn set_flag(&mut self, bit: u32, set: bool) {
        let flags = u64::from_le_bytes(self.flags) & !(1 << bit) | u64::from(set) << bit;
        self.flags = flags.to_le_bytes();
    }
}

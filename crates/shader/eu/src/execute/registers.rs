//! The registers of a thread, with a mark for each byte that no instruction has defined.

use super::accumulator::{self, Accumulator};
use super::error::NoRegister;
use crate::{File, Place};

/// Bytes of a general register.
pub(super) const REGISTER_BYTES: usize = 32;
/// General registers of a thread.
const REGISTERS: usize = 128;
/// Words of the address register.
const ADDRESS_WORDS: usize = 16;

/// A number of an element, or nothing if one of its bytes is undefined.
pub(super) type Bits = Option<u64>;

/// Registers that have bytes, one after the other.
#[derive(Clone, Debug)]
struct Bank {
    bytes: Vec<u8>,
    defined: Vec<bool>,
}

impl Bank {
    fn new(count: usize) -> Self {
        Self { bytes: vec![0; count], defined: vec![false; count] }
    }

    fn get(&self, at: usize, count: usize) -> Result<Bits, NoRegister> {
        let end = at.checked_add(count).ok_or(NoRegister)?;
        let (bytes, defined) =
            (self.bytes.get(at..end).ok_or(NoRegister)?, self.defined.get(at..end).ok_or(NoRegister)?);
        let all = defined.iter().all(|defined| *defined);
        Ok(all.then(|| bytes.iter().rev().fold(0, |bits, byte| bits << 8 | u64::from(*byte))))
    }

    fn set(&mut self, at: usize, count: usize, bits: Bits) -> Result<(), NoRegister> {
        let end = at.checked_add(count).ok_or(NoRegister)?;
        let bytes = self.bytes.get_mut(at..end).ok_or(NoRegister)?;
        bytes.copy_from_slice(&bits.unwrap_or(0).to_le_bytes()[..count]);
        self.defined.get_mut(at..end).ok_or(NoRegister)?.fill(bits.is_some());
        Ok(())
    }
}

/// The registers of a thread.
#[derive(Clone, Debug)]
pub(super) struct Registers {
    general: Bank,
    address: Bank,
    pub accumulator: Accumulator,
    /// f0 and f1. They are zeroes when the thread starts.
    flags: [u32; 2],
}

/// The numbers of architecture registers: null, the addresses, and the flags.
const NULL: u8 = 0;
const ADDRESS: u8 = 0x10;
const FLAGS: u8 = 0x30;

impl Registers {
    /// Returns registers of which the first general ones are the payload, and the others undefined.
    pub fn new(payload: &[[u8; REGISTER_BYTES]]) -> Self {
        let mut general = Bank::new(REGISTERS * REGISTER_BYTES);
        for (at, byte) in payload.iter().flatten().enumerate().take(general.bytes.len()) {
            general.bytes[at] = *byte;
            general.defined[at] = true;
        }
        Self {
            general,
            address: Bank::new(ADDRESS_WORDS * 2),
            accumulator: Accumulator::filled(None),
            flags: [0; 2],
        }
    }

    /// Returns registers that are all defined, each byte of the general and address registers as `byte`, and each flag as `flag`.
    pub fn filled(byte: u8, flag: bool) -> Self {
        let bank = |count| Bank { bytes: vec![byte; count], defined: vec![true; count] };
        Self {
            general: bank(REGISTERS * REGISTER_BYTES),
            address: bank(ADDRESS_WORDS * 2),
            accumulator: Accumulator::filled(Some(i128::from(byte))),
            flags: [if flag { u32::MAX } else { 0 }; 2],
        }
    }

    /// Makes bytes of a general register undefined.
    pub fn undefine(&mut self, register: u8, bytes: std::ops::Range<usize>) {
        let first = usize::from(register) * REGISTER_BYTES;
        let defined = self.general.defined.get_mut(first..first + REGISTER_BYTES).unwrap_or_default();
        defined.get_mut(bytes).unwrap_or_default().fill(false);
    }

    /// Returns `count` bytes, at most 8, that lie `skip` bytes after a place.
    pub fn get(&self, place: Place, skip: usize, count: usize) -> Result<Bits, NoRegister> {
        if let Some(at) = accumulator::byte(place) {
            return Ok(self.accumulator.get(at + skip, count)?.map(|number| number as u64));
        }
        match place {
            Place::Direct { file: File::General, number, offset } => {
                self.general.get(usize::from(number) * REGISTER_BYTES + usize::from(offset) + skip, count)
            }
            Place::Direct { file: File::Architecture, number: NULL, .. } => Ok(None),
            Place::Direct { file: File::Architecture, number: ADDRESS, offset } => {
                self.address.get(usize::from(offset) + skip, count)
            }
            Place::Direct { file: File::Architecture, number, offset } => {
                let flags = self.flags.get(usize::from(number.wrapping_sub(FLAGS))).ok_or(NoRegister)?;
                let at = usize::from(offset) + skip;
                if at + count > 4 {
                    return Err(NoRegister);
                }
                Ok(Some(u64::from(*flags) >> (8 * at) & (u64::MAX >> (64 - 8 * count))))
            }
            // Macro operations are not known here.
            Place::Macro { .. } => Err(NoRegister),
            Place::Indirect { register, offset } => {
                let at = self.indirect(register, offset)?;
                at.map_or(Ok(None), |at| self.general.get(at + skip, count))
            }
        }
    }

    /// Sets bytes after a place.
    pub fn set(&mut self, place: Place, skip: usize, count: usize, bits: Bits) -> Result<(), NoRegister> {
        match place {
            Place::Direct { file: File::General, number, offset } => {
                let at = usize::from(number) * REGISTER_BYTES + usize::from(offset) + skip;
                self.general.set(at, count, bits)
            }
            Place::Direct { file: File::Architecture, number: NULL, .. } => Ok(()),
            Place::Direct { file: File::Architecture, number: ADDRESS, offset } => {
                self.address.set(usize::from(offset) + skip, count, bits)
            }
            Place::Direct { file: File::Architecture, number, offset } => {
                let flags = self.flags.get_mut(usize::from(number.wrapping_sub(FLAGS))).ok_or(NoRegister)?;
                let at = usize::from(offset) + skip;
                let bits = bits.filter(|_| at + count <= 4).ok_or(NoRegister)?;
                let mask = (u64::MAX >> (64 - 8 * count)) << (8 * at);
                *flags = (u64::from(*flags) & !mask | bits << (8 * at) & mask) as u32;
                Ok(())
            }
            // Macro operations are not known here.
            Place::Macro { .. } => Err(NoRegister),
            Place::Indirect { register, offset } => {
                let at = self.indirect(register, offset)?.ok_or(NoRegister)?;
                self.general.set(at + skip, count, bits)
            }
        }
    }

    /// Returns the first byte that an address register names; nothing if it is undefined.
    fn indirect(&self, register: u8, offset: i16) -> Result<Option<usize>, NoRegister> {
        let Some(address) = self.address.get(usize::from(register) * 2, 2)? else { return Ok(None) };
        usize::try_from(address as i64 + i64::from(offset)).map(Some).map_err(|_| NoRegister)
    }

    /// Returns the flag of a channel; `flag` is 0 to 3 for f0.0 to f1.1.
    pub fn flag(&self, flag: u8, channel: u32) -> bool {
        let bit = u32::from(flag & 1) * 16 + channel;
        self.flags[usize::from(flag >> 1 & 1)] >> (bit % 32) & 1 != 0
    }

    /// Sets the flag of a channel.
    pub fn set_flag(&mut self, flag: u8, channel: u32, value: bool) {
        let bit = 1 << ((u32::from(flag & 1) * 16 + channel) % 32);
        let flags = &mut self.flags[usize::from(flag >> 1 & 1)];
        *flags = if value { *flags | bit } else { *flags & !bit };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_of_the_payload_are_defined_and_others_are_not() {
        let mut registers = Registers::new(&[[7; 32]]);
        assert_eq!(registers.get(Place::general(0), 28, 4), Ok(Some(0x0707_0707)));
        assert_eq!(registers.get(Place::general(0), 30, 4), Ok(None), "half of it is undefined");
        assert_eq!(registers.get(Place::general(127), 28, 4), Ok(None));
        assert_eq!(registers.get(Place::general(127), 30, 4), Err(NoRegister));
        registers.set(Place::general(1), 0, 2, Some(0x1234)).unwrap();
        assert_eq!(registers.get(Place::general(0), 30, 4), Ok(Some(0x1234_0707)));
        registers.set(Place::general(0), 31, 1, None).unwrap();
        assert_eq!(registers.get(Place::general(0), 28, 4), Ok(None));
    }

    #[test]
    fn flags_are_bits_of_the_flag_registers() {
        let mut registers = Registers::new(&[]);
        registers.set_flag(1, 3, true);
        let flags = Place::Direct { file: File::Architecture, number: FLAGS, offset: 0 };
        assert_eq!(registers.get(flags, 0, 4), Ok(Some(1 << 19)));
        registers.set(flags, 0, 2, Some(0x8001)).unwrap();
        assert!(registers.flag(0, 0) && registers.flag(0, 15) && registers.flag(1, 3));
        registers.set_flag(1, 3, false);
        assert!(!registers.flag(0, 19), "the channels above 15 have the upper half");
    }

    #[test]
    fn an_address_register_names_a_byte() {
        let mut registers = Registers::new(&[[0; 32], [9; 32]]);
        let indirect = Place::Indirect { register: 0, offset: -4 };
        assert_eq!(registers.get(indirect, 0, 1), Ok(None), "the address is undefined");
        let address = Place::Direct { file: File::Architecture, number: ADDRESS, offset: 0 };
        registers.set(address, 0, 2, Some(36)).unwrap();
        assert_eq!(registers.get(indirect, 0, 1), Ok(Some(9)));
        assert_eq!(registers.get(Place::Indirect { register: 0, offset: -40 }, 0, 1), Err(NoRegister));
    }
}

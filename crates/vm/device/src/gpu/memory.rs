//! The memory that the GPU accesses: the guest's RAM, and its own local memory.

use crate::cache::Write;
use crate::qemu::{Ram, cache};

/// The place that an address of the GPU translates to.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Address {
    /// System memory, by an access that looks into the CPU's caches.
    Snooped(u64),
    /// The same, and the last-level cache keeps what is written.
    Kept(u64),
    /// System memory, by an access that does not look into them.
    Unsnooped(u64),
    Local(u64),
}

impl Address {
    /// The same place, past the CPU's caches.
    pub fn unsnooped(self) -> Self {
        match self {
            Self::Snooped(address) | Self::Kept(address) | Self::Unsnooped(address) => {
                Self::Unsnooped(address)
            }
            Self::Local(address) => Self::Local(address),
        }
    }

    /// The same place, where the last-level cache keeps nothing.
    pub fn not_kept(self) -> Self {
        match self {
            Self::Kept(address) => Self::Snooped(address),
            Self::Snooped(_) | Self::Unsnooped(_) | Self::Local(_) => self,
        }
    }

    pub fn plus(self, offset: u64) -> Self {
        match self {
            Self::Snooped(address) => Self::Snooped(address.wrapping_add(offset)),
            Self::Kept(address) => Self::Kept(address.wrapping_add(offset)),
            Self::Unsnooped(address) => Self::Unsnooped(address.wrapping_add(offset)),
            Self::Local(address) => Self::Local(address.wrapping_add(offset)),
        }
    }
}

pub struct Memory {
    pub local: Option<Ram>,
}

impl Memory {
    /// Reads bytes that do not cross a page; memory that is not there leaves the buffer alone.
    pub fn read(&self, address: Address, buffer: &mut [u8]) {
        match (address, &self.local) {
            (Address::Snooped(address) | Address::Kept(address), _) => cache::read(address, buffer, true),
            (Address::Unsnooped(address), _) => cache::read(address, buffer, false),
            (Address::Local(address), Some(local)) => local.read(address, buffer),
            (Address::Local(_), None) => {}
        }
    }

    /// Reads for the CPU, which has a write-combining mapping of the place: its own stores are there.
    pub fn read_combining(&self, address: Address, buffer: &mut [u8]) {
        if let Address::Snooped(address) | Address::Kept(address) | Address::Unsnooped(address) = address {
            cache::combine(address);
        }
        self.read(address, buffer);
    }

    /// Writes up to eight bytes for the CPU, which has a write-combining mapping of the place: they may wait.
    pub fn write_combining(&self, address: Address, data: &[u8]) {
        match address {
            Address::Snooped(address) => cache::write_late(address, data, Write::Snoops),
            Address::Kept(address) => cache::write_late(address, data, Write::Allocates),
            Address::Unsnooped(address) => cache::write_late(address, data, Write::Bypasses),
            Address::Local(_) => self.write(address, data),
        }
    }

    /// Writes bytes that do not cross a page.
    pub fn write(&self, address: Address, data: &[u8]) {
        match (address, &self.local) {
            (Address::Snooped(address), _) => cache::write(address, data, Write::Snoops),
            (Address::Kept(address), _) => cache::write(address, data, Write::Allocates),
            (Address::Unsnooped(address), _) => cache::write(address, data, Write::Bypasses),
            (Address::Local(address), Some(local)) => local.write(address, data),
            (Address::Local(_), None) => {}
        }
    }

    pub fn read_u32(&self, address: Address) -> u32 {
        let mut bytes = [0; 4];
        self.read(address, &mut bytes);
        u32::from_le_bytes(bytes)
    }

    pub fn read_u64(&self, address: Address) -> u64 {
        let mut bytes = [0; 8];
        self.read(address, &mut bytes);
        u64::from_le_bytes(bytes)
    }

    pub fn write_u32(&self, address: Address, value: u32) {
        self.write(address, &value.to_le_bytes());
    }
}

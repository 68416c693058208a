//! Lists in the caller's memory that a struct points to.

use bytemuck::{Pod, cast_slice};

use crate::processes::arena::{DATA, LISTS};

/// Bytes of the arena whose values differ between processes; they are not compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mask {
    /// The first byte's address.
    pub address: u64,
    /// The number of bytes.
    pub len: u64,
}

/// Puts things into memory, one after the other.
#[derive(Debug)]
pub struct Builder {
    next: u64,
    /// Address and bytes.
    pub written: Vec<(u64, Vec<u8>)>,
    /// The bytes that are not compared afterwards.
    pub masks: Vec<Mask>,
}

impl Default for Builder {
    fn default() -> Self {
        Self { next: LISTS, written: Vec::new(), masks: Vec::new() }
    }
}

impl Builder {
    /// Puts a value down, aligned to 8 bytes; returns its address.
    pub fn put<T: Pod>(&mut self, value: &T) -> u64 {
        self.list(std::slice::from_ref(value))
    }

    /// Puts values down, one behind the other, the first aligned to 8 bytes; returns its address.
    pub fn list<T: Pod>(&mut self, values: &[T]) -> u64 {
        let bytes = cast_slice(values).to_vec();
        let address = self.next;
        self.next += (bytes.len() as u64).next_multiple_of(8);
        assert!(self.next <= DATA, "lists of a call do not fit");
        self.written.push((address, bytes));
        address
    }

    /// Says that bytes at `address` are not compared.
    pub fn mask(&mut self, address: u64, len: u64) {
        self.masks.push(Mask { address, len });
    }
}

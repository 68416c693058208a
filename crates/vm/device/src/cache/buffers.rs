//! Buffers of non-temporal stores that take effect late: one for each line, which combines the stores to it, as in a CPU.

use super::lines::LINE;
use std::collections::BTreeMap;

/// The bytes of a line that wait.
#[derive(Default)]
pub struct Buffer(BTreeMap<usize, u8>);

impl Buffer {
    /// The bytes, each with its place in the line.
    pub fn bytes(&self) -> impl Iterator<Item = (usize, u8)> {
        self.0.iter().map(|(index, byte)| (*index, *byte))
    }
}

#[derive(Default)]
pub struct Buffers(BTreeMap<u64, Buffer>);

impl Buffers {
    pub fn of(&self, line: u64) -> Option<&Buffer> {
        self.0.get(&line)
    }

    /// Adds bytes that do not cross a line; returns whether its buffer is a new one.
    pub fn add(&mut self, at: u64, bytes: &[u8]) -> bool {
        let is_new = !self.0.contains_key(&(at & !(LINE - 1)));
        let buffer = self.0.entry(at & !(LINE - 1)).or_default();
        buffer.0.extend((at as usize % LINE as usize..).zip(bytes.iter().copied()));
        is_new
    }

    pub fn take(&mut self, line: u64) -> Option<Buffer> {
        self.0.remove(&line)
    }
}

//! Batches for the copy engine: stores, fills and copies, as the commands of each generation.
//!
//! A [`Builder`] knows neither objects nor addresses: buffers are numbers, and the finished [`Batch`] says
//! where in it whose address goes. So it can be written for addresses of one's own
//! ([`Batch::at`]) or for the kernel's ([`Batch::patches`]).
//!
//! ```
//! use gem_coherency_exercise::commands::{Builder, Extent, Memory, Surface};
//! use gem_coherency::platform;
//! use gem_coherency::vocabulary::KernelVersion;
//!
//! let machine = platform::by_name("glk")?.machine(KernelVersion::new(6, 12), false);
//! let mut builder = Builder::new(&machine)?;
//! let rows = Surface { buffer: 0, offset: 0, pitch: 4096, mocs: None, memory: Memory::System };
//! builder.fill(rows, Extent { width: 64, height: 1 }, 0xdead_beef)?;
//! let batch = builder.finish();
//! assert_eq!(batch.words()[0], 2 << 29 | 0x50 << 22 | 3 << 20 | 5); // XY_COLOR_BLT, seven dwords
//! assert_eq!(batch.patches()[0].buffer, 0);
//! # Ok::<(), gem_coherency::Error>(())
//! ```
//!
//! Covered are graphics versions 6 to 12.7x, rows of 32-bit pixels without tiling or compression. Source:
//! Intel's Programmer's Reference Manuals, "Copy Engine" and "Memory Interface Commands", of Sandy Bridge,
//! Broadwell, Skylake, Tiger Lake and Alchemist.

mod builder;
mod dialect;
#[cfg(test)]
mod tests;

pub use builder::Builder;
pub use dialect::{Dialect, Field};

/// Where a buffer lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Memory {
    /// The machine's memory.
    System,
    /// A discrete device's own.
    Local,
}

/// Rows of bytes in a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Surface {
    /// Which buffer of the batch.
    pub buffer: u32,
    /// The first byte, a multiple of 4.
    pub offset: u64,
    /// Bytes from row to row, a multiple of 64.
    pub pitch: u32,
    /// The MOCS entry that the access names; `None` leaves it to the page table.
    pub mocs: Option<u8>,
    /// Where the buffer lives, which some commands of discrete devices want to know.
    pub memory: Memory,
}

/// How much of a surface is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    /// Bytes of a row, a multiple of 4.
    pub width: u32,
    /// Rows.
    pub height: u32,
}

/// An address that belongs into a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Patch {
    /// Which dword of the batch it goes to, and to the one after it where addresses are wide.
    pub word: usize,
    /// Which buffer's address.
    pub buffer: u32,
    /// What is added to it.
    pub delta: u64,
}

/// A finished batch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Batch {
    words: Vec<u32>,
    patches: Vec<Patch>,
    wide: bool,
}

impl Batch {
    /// The commands, an even number of dwords, with only the deltas where addresses belong.
    pub fn words(&self) -> &[u32] {
        &self.words
    }

    /// Where addresses belong.
    pub fn patches(&self) -> &[Patch] {
        &self.patches
    }

    /// The batch with its buffers at these addresses; a buffer without one is at 0.
    pub fn at(mut self, addresses: &[u64]) -> Self {
        for patch in &self.patches {
            let base = addresses.get(patch.buffer as usize).copied().unwrap_or(0);
            put(&mut self.words, patch.word, base.wrapping_add(patch.delta), self.wide);
        }
        self
    }

    /// The commands as bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        self.words.iter().flat_map(|word| word.to_le_bytes()).collect()
    }
}

/// Writes an address at `word`, with its upper half after it if it is wide.
fn put(words: &mut [u32], word: usize, address: u64, wide: bool) {
    if let Some(low) = words.get_mut(word) {
        *low = address as u32;
    }
    if wide && let Some(high) = words.get_mut(word + 1) {
        *high = (address >> 32) as u32;
    }
}

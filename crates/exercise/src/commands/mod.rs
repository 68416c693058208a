//! Batches as the commands of each generation: stores, fills and copies, and shaders on the render engine.
//!
//! A [`Builder`] and a [`walker()`] use neither objects nor addresses: buffers are numbers, and the finished [`Batch`] lists
//! where each buffer's address belongs. The addresses can be the caller's ([`Batch::at`]) or the kernel's
//! ([`Batch::patches`]).
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
//! # Ok::<(), gem_coherency_exercise::Error>(())
//! ```
//!
//! Fills and copies are those of graphics versions 2 to 30, for rows of 32-bit pixels without tiling or compression. From
//! Sandy Bridge on the copy engine executes them, before it the render engine ([`Dialect::engine`]). Source: Intel's Programmer's
//! Reference Manuals, "Copy Engine" and "Memory Interface Commands", of Sandy Bridge, Broadwell, Skylake, Tiger Lake and
//! Alchemist; for earlier ones "Blitter" of 965G and G45, and i915's `gen2_engine_cs.c` and `intel_gpu_commands.h`; from 20 on
//! xe's `xe_migrate.c` and `xe_gpu_commands.h`.

mod builder;
mod dialect;
mod generation;
pub mod shaders;
#[cfg(test)]
mod tests;
mod walker;

pub use builder::Builder;
pub use dialect::{Dialect, Field};
use gem_coherency::platform::EngineClass;
pub use walker::{Bytes, Walker, walker};

/// The memory that a buffer is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Memory {
    /// System memory.
    System,
    /// A discrete device's local memory.
    Local,
}

/// Rows of bytes in a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Surface {
    /// The number of the buffer in the batch.
    pub buffer: u32,
    /// The offset of the first byte, a multiple of 4.
    pub offset: u64,
    /// Pitch in bytes, a multiple of 64.
    pub pitch: u32,
    /// The MOCS entry of the access; with `None` the page table determines caching.
    pub mocs: Option<u8>,
    /// The buffer's memory, which some commands of discrete devices encode.
    pub memory: Memory,
}

/// The accessed size of a surface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    /// Width in bytes, a multiple of 4.
    pub width: u32,
    /// Height in rows.
    pub height: u32,
}

/// A buffer address to be written into a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Patch {
    /// The dword of the batch to write; a wide address continues in the next one.
    pub word: usize,
    /// The number of the buffer.
    pub buffer: u32,
    /// The offset that is added to the address.
    pub delta: u64,
}

/// A finished batch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Batch {
    words: Vec<u32>,
    patches: Vec<Patch>,
    wide: bool,
    engine: EngineClass,
}

impl Batch {
    /// Returns the engine that executes the commands.
    pub fn engine(&self) -> EngineClass {
        self.engine
    }

    /// Returns the commands, an even number of dwords; addresses are not filled in, only their deltas.
    pub fn words(&self) -> &[u32] {
        &self.words
    }

    /// Returns the addresses to fill in.
    pub fn patches(&self) -> &[Patch] {
        &self.patches
    }

    /// Fills in the buffers' addresses; a buffer without one is at 0.
    pub fn at(mut self, addresses: &[u64]) -> Self {
        for patch in &self.patches {
            let base = addresses.get(patch.buffer as usize).copied().unwrap_or(0);
            put(&mut self.words, patch.word, base.wrapping_add(patch.delta), self.wide);
        }
        self
    }

    /// Returns the commands as bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        self.words.iter().flat_map(|word| word.to_le_bytes()).collect()
    }
}

/// Writes an address at `word`; the upper half of a wide one goes into the next dword.
fn put(words: &mut [u32], word: usize, address: u64, wide: bool) {
    if let Some(low) = words.get_mut(word) {
        *low = address as u32;
    }
    if wide && let Some(high) = words.get_mut(word + 1) {
        *high = (address >> 32) as u32;
    }
}

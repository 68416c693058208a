//! Cache-line operations of x86, and non-temporal stores and streaming loads; the only inline assembly.
//!
//! | what | functions | fences |
//! |---|---|---|
//! | lines | [`line()`], [`lines`], [`lines_of_ranges`], [`lines_of_page`], [`lines_of_pages`] | none: [`fence_for`] before and after the batch |
//! | lines, waited for | [`write_back_range`], [`flush_range`], [`invalidate_range`], [`fenced_ranges`] | their own |
//! | stores | [`copy_non_temporal`], [`fill_non_temporal`], [`copy_through`] | none: [`fence_for`] a write-back after the last |
//! | copies | [`copy_in`], [`copy_out`], [`copy_across`], [`differing_lines`] | none: ordinary stores and loads |
//! | loads | [`load_streaming`] | none: [`fence`] before the first |
//!
//! The instructions are chosen once per process: the best that the CPU has within the limits of the environment
//! variable [`OVERRIDE`]. [`support()`] returns the choice. Nothing here allocates, and only the C library's getenv(3)
//! is called.
//!
//! ```
//! use gem_coherency_cacheops as cacheops;
//!
//! let bytes = [7; 256];
//! // SAFETY: the bytes are mapped.
//! unsafe { cacheops::flush_range(bytes.as_ptr(), bytes.len()) };
//! println!("flushed by {}", cacheops::support()?.flush_by);
//! # Ok::<(), cacheops::Error>(())
//! ```
//!
//! # Layers
//!
//! ```text
//! L4  tests
//! L3  line   load   store: the operations
//! L2  support: the choice
//! L1  chosen   cpu   error
//! L0  copy   environment   instruction   span
//! ```
//!
//! * `tests`: the operations on real memory between faulting pages. Not the choice.
//! * `line`: flushes, write-backs and invalidates of lines, and their fences. Not copies.
//! * `load`: streaming loads. Not stores.
//! * `store`: non-temporal stores, and what is written back after them. Not loads.
//! * `support`: what the CPU has, and what is used of it, once per process. Not how it is used.
//! * `chosen`: an instruction for each kind of operation. Not the choice.
//! * `cpu`: CPUID. Not preferences.
//! * `error`: why the instructions cannot be used as requested. Not errors of operations.
//! * `copy`: ordinary copies and comparisons of any memory. Not copies that bypass the cache.
//! * `environment`: the variable that limits the instructions. Not its words.
//! * `instruction`: the instructions as values, and, in tests, a record of those executed. Not assembly.
//! * `span`: the lines of a range of bytes. Not operations on them.
//!
//! # Safety
//! Each file states under this heading what its functions require, and why that suffices. The fences here
//! require nothing.
#![cfg_attr(not(test), no_std)]
#![allow(unsafe_code)]

#[cfg(not(any(target_arch = "x86", target_arch = "x86_64")))]
compile_error!("gem-coherency is for x86 and x86-64: i915 drives GPUs beside no other CPU");

mod chosen;
mod copy;
mod cpu;
mod environment;
mod error;
mod instruction;
mod line;
mod load;
mod span;
mod store;
mod support;
#[cfg(test)]
mod tests;

use core::arch::asm;

use gem_coherency_policy::vocabulary::PAGE_BYTES;

pub use copy::{copy_across, copy_in, copy_out, differing_lines};
pub use environment::OVERRIDE;
pub use error::Error;
pub use gem_coherency_policy::vocabulary::LineOp;
pub use instruction::{Instruction, LoadInstruction, StoreInstruction};
pub use line::{
    fence_for, fenced_ranges, flush_range, invalidate_range, line, lines, lines_of_page, lines_of_pages,
    lines_of_ranges, write_back_range,
};
pub use load::load_streaming;
pub use span::{LineSpan, line_span};
pub use store::{copy_non_temporal, copy_through, fill_non_temporal};
pub use support::{Support, support};

/// Size of a cache line, the unit of coherency, in bytes: `boot_cpu_data.x86_clflush_size` on every CPU that
/// is combined with an i915 device.
pub const LINE_BYTES: u64 = 64;
/// Lines per page.
pub const PAGE_LINES: u64 = PAGE_BYTES / LINE_BYTES;

/// Orders all earlier accesses before all later ones, as seen by every agent (MFENCE).
///
/// Also drains the write-combining buffers of the core that executes it, but no other's.
#[inline]
pub fn fence() {
    #[cfg(test)]
    instruction::record("mfence", 0);
    // SAFETY: MFENCE has no operand and cannot fault.
    unsafe { asm!("mfence", options(nostack, preserves_flags)) }
}

/// Orders earlier stores (including write-combining and non-temporal ones), CLFLUSHOPT and CLWB before later
/// ones (SFENCE).
///
/// Loads may pass it, so it is not sufficient before a read; and it does not order CLFLUSH on every CPU.
#[inline]
pub fn store_fence() {
    #[cfg(test)]
    instruction::record("sfence", 0);
    // SAFETY: SFENCE has no operand and cannot fault.
    unsafe { asm!("sfence", options(nostack, preserves_flags)) }
}

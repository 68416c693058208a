//! Cache-line operations of x86, and stores and loads around the cache; the only inline assembly.
//!
//! | what | functions | fences |
//! |---|---|---|
//! | lines | [`line()`], [`lines`], [`lines_of_ranges`], [`lines_of_page`] | none: [`fence_around`] before and after the batch |
//! | lines, waited for | [`write_back_range`], [`flush_range`], [`invalidate_range`], [`fenced_ranges`] | their own |
//! | stores | [`copy_around`], [`fill_around`], [`copy_through`] | none: [`fence_around`] a write-back after the last |
//! | copies | [`copy_in`], [`copy_out`], [`copy_across`] | none: ordinary stores and loads |
//! | loads | [`load_around`] | none: [`fence`] before the first |
//!
//! The instructions are chosen once per process: the best that the CPU has within the limits of [`OVERRIDE`].
//! [`support()`] returns the choice.
//!
//! # Safety
//! Each file states under this heading what its functions require, and why that suffices. The fences here
//! require nothing.
#![allow(unsafe_code)]

#[cfg(not(any(target_arch = "x86", target_arch = "x86_64")))]
compile_error!("gem-coherency is for x86 and x86-64: i915 drives GPUs beside no other CPU");

mod copy;
mod cpu;
mod line;
mod load;
mod span;
mod store;
mod support;
#[cfg(test)]
mod tests;

use std::arch::asm;

use crate::error::Result;
use crate::units::Lines;

pub use crate::vocabulary::LineOp;
pub use copy::{copy_across, copy_in, copy_out};
pub use line::{
    fence_around, fenced_ranges, flush_range, invalidate_range, line, lines, lines_of_page, lines_of_ranges,
    write_back_range,
};
pub use load::load_around;
pub use span::{LineSpan, line_span};
pub use store::{copy_around, copy_through, fill_around};
pub(crate) use support::chosen;
pub use support::{Instruction, LoadInstruction, OVERRIDE, StoreInstruction, Support, support};

/// Memory on whose cache lines operations can be performed.
pub trait CacheLines {
    /// Performs `op` on `lines`, without fences.
    ///
    /// # Errors
    /// Those of accessing the lines.
    fn perform(&self, op: LineOp, lines: Lines) -> Result<()>;
}

/// Orders all earlier accesses before all later ones, as seen by every agent (MFENCE).
///
/// Also drains the write-combining buffers of the core that executes it, but no other's.
pub fn fence() {
    // SAFETY: MFENCE has no operand and cannot fault.
    unsafe { asm!("mfence", options(nostack, preserves_flags)) }
}

/// Orders earlier stores (including write-combining and non-temporal ones), CLFLUSHOPT and CLWB before later
/// ones (SFENCE).
///
/// Loads may pass it, so it is not sufficient before a read; and it does not order CLFLUSH on every CPU.
pub fn store_fence() {
    // SAFETY: SFENCE has no operand and cannot fault.
    unsafe { asm!("sfence", options(nostack, preserves_flags)) }
}

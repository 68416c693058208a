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
//! Which instructions are used is decided once per process: the best that the CPU has, or what [`OVERRIDE`]
//! allows; [`support()`] says which.
//!
//! # Safety
//! Each file says under this heading what its functions need, and why that is enough. The fences here need
//! nothing.
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

pub use copy::{copy_across, copy_in, copy_out};
pub use line::{
    LineOp, fence_around, fenced_ranges, flush_range, invalidate_range, line, lines, lines_of_page,
    lines_of_ranges, write_back_range,
};
pub use load::load_around;
pub use span::{LineSpan, line_span};
pub use store::{copy_around, copy_through, fill_around};
pub use support::{Instruction, LoadInstruction, OVERRIDE, StoreInstruction, Support, support};

/// Orders everything before against everything after, in every agent's eyes (MFENCE).
///
/// It also drains the write-combining buffers of the core that executes it, and of no other.
pub fn fence() {
    // SAFETY: MFENCE has no operand and cannot fault.
    unsafe { asm!("mfence", options(nostack, preserves_flags)) }
}

/// Orders stores, write-combining and non-temporal ones too, CLFLUSHOPT and CLWB before against those after
/// (SFENCE).
///
/// Loads may pass it: not enough before a read. Nor does it order CLFLUSH on every CPU.
pub fn store_fence() {
    // SAFETY: SFENCE has no operand and cannot fault.
    unsafe { asm!("sfence", options(nostack, preserves_flags)) }
}

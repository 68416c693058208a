//! Cache-line operations of x86; the only inline assembly.
//!
//! [`lines`] is for batches and has no fence; [`flush_range`], [`invalidate_range`] and
//! [`write_back_range`] have one on either side. Which instructions are used is decided once per
//! process: the best that the CPU has, or what [`OVERRIDE`] allows.
//!
//! # Safety
//! The instructions access no byte, but they fault like a load where nothing is mapped; so every function
//! that takes an address requires it to be mapped. No address outside the lines of the caller's
//! bytes is used, and a line never reaches into another page. They change no register, no flag and
//! no stack, but memory as other agents see it, so the assembly never says `nomem`: the compiler
//! may not move a store past it.
#![allow(unsafe_code)]

#[cfg(not(target_arch = "x86_64"))]
compile_error!("gem-coherency supports x86_64 only: Intel GPUs that i915 drives stand beside no other CPU");

mod span;
mod support;
#[cfg(test)]
mod tests;

use std::arch::asm;

use span::line_addresses;
pub use span::{LineSpan, line_span};
pub use support::{Instruction, OVERRIDE, Support, support};

/// What is done to a cache line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LineOp {
    /// CLWB: a dirty line is written to memory and may stay, clean. Never drops a stale line.
    ///
    /// On a CPU without CLWB the line leaves the cache.
    WriteBack,
    /// CLFLUSHOPT or CLFLUSH: a dirty line is written to memory, and the line leaves the cache.
    Flush,
    /// As `Flush`, before a read: a stale line leaves the cache; the last line is flushed twice.
    ///
    /// Source: kernel commit 396f5d62d1a5 ("drm: Restore double clflush on the last partial
    /// cacheline"): Baytrail and later Atoms do not serialise a flush without it.
    Invalidate,
}

/// Orders everything before against everything after, in every agent's eyes (MFENCE).
///
/// It also drains the write-combining buffers of the core that executes it, and of no other.
pub fn fence() {
    // SAFETY: MFENCE has no operand and cannot fault.
    unsafe { asm!("mfence", options(nostack, preserves_flags)) }
}

/// Orders stores, write-combining stores, CLFLUSHOPT and CLWB before against those after (SFENCE).
///
/// Loads may pass it: not enough before a read.
pub fn store_fence() {
    // SAFETY: SFENCE has no operand and cannot fault.
    unsafe { asm!("sfence", options(nostack, preserves_flags)) }
}

/// Performs `op` on every line with a byte in `first..first + len`, without a fence.
///
/// A batch of calls stands between two [`fence`]s: the first orders the stores before the flushes,
/// the second waits for the flushes. Where [`support()`] reports an error, CLFLUSH is used.
///
/// # Safety
/// The bytes are mapped.
pub unsafe fn lines(first: *const u8, len: usize, op: LineOp) {
    // SAFETY:
    // - the bytes are mapped: the caller's obligation, passed on;
    // - the CPU has the instruction: `support` made sure of it.
    unsafe { lines_by(first, len, op, support::chosen(op)) }
}

/// [`lines`] by a given instruction.
///
/// # Safety
/// The bytes are mapped, and the CPU has `instruction`.
unsafe fn lines_by(first: *const u8, len: usize, op: LineOp, instruction: Instruction) {
    let pointers = line_addresses(first.addr(), len, op).map(|address| first.with_addr(address));
    match instruction {
        Instruction::Clflush => pointers.for_each(|line| {
            // SAFETY: `line` is in the page of one of the caller's bytes, which is mapped.
            unsafe { asm!("clflush byte ptr [{}]", in(reg) line, options(nostack, preserves_flags)) }
        }),
        Instruction::Clflushopt => pointers.for_each(|line| {
            // SAFETY:
            // - `line` is in the page of one of the caller's bytes, which is mapped;
            // - the CPU has CLFLUSHOPT: the caller's obligation.
            unsafe { asm!("clflushopt byte ptr [{}]", in(reg) line, options(nostack, preserves_flags)) }
        }),
        Instruction::Clwb => pointers.for_each(|line| {
            // SAFETY:
            // - `line` is in the page of one of the caller's bytes, which is mapped;
            // - the CPU has CLWB: the caller's obligation.
            unsafe { asm!("clwb byte ptr [{}]", in(reg) line, options(nostack, preserves_flags)) }
        }),
    }
}

/// Flushes every line with a byte in `first..first + len`, between two fences.
///
/// # Safety
/// The bytes are mapped.
pub unsafe fn flush_range(first: *const u8, len: usize) {
    // SAFETY: the bytes are mapped: the caller's obligation, passed on.
    unsafe { fenced(first, len, LineOp::Flush) }
}

/// Invalidates every line with a byte in `first..first + len`, between two fences: the next load
/// reads memory. A dirty line is written back first.
///
/// # Safety
/// The bytes are mapped.
pub unsafe fn invalidate_range(first: *const u8, len: usize) {
    // SAFETY: the bytes are mapped: the caller's obligation, passed on.
    unsafe { fenced(first, len, LineOp::Invalidate) }
}

/// Writes back every line with a byte in `first..first + len`, between two fences; the lines may
/// stay in the cache.
///
/// # Safety
/// The bytes are mapped.
pub unsafe fn write_back_range(first: *const u8, len: usize) {
    // SAFETY: the bytes are mapped: the caller's obligation, passed on.
    unsafe { fenced(first, len, LineOp::WriteBack) }
}

/// [`lines`] between two fences.
///
/// # Safety
/// The bytes are mapped.
unsafe fn fenced(first: *const u8, len: usize, op: LineOp) {
    fence();
    // SAFETY: the bytes are mapped: the caller's obligation, passed on.
    unsafe { lines(first, len, op) }
    fence();
}

//! Cache-line operations: on a line, a range, several ranges, or the lines of a page in a mask.
//!
//! # Safety
//! CLFLUSH, CLFLUSHOPT and CLWB access no byte but fault like a load on unmapped addresses, so every function
//! requires its bytes to be mapped. Only addresses in the lines of these bytes are used, and a line never
//! extends into another page.
#![allow(unsafe_code)]

use core::arch::asm;

use super::span::{self, line_addresses};
use super::support::chosen;
use gem_coherency_policy::vocabulary::{LineOp, PAGE_BYTES};

use super::chosen::Chosen;
use super::{Instruction, fence, store_fence};

/// Performs `op` on the line that contains `byte`, without a fence.
///
/// Fences: as [`lines`].
///
/// # Safety
/// The byte is mapped.
#[inline]
pub unsafe fn line(byte: *const u8, op: LineOp) {
    // SAFETY: the byte is mapped: the caller's obligation, passed on.
    unsafe { lines(byte, 1, op) }
}

/// Performs `op` on every line with a byte in `first..first + len`, without a fence.
///
/// Fences: put a batch of calls between two calls of [`fence_for`]. The first orders earlier stores before
/// the flushes, the second the flushes before later accesses. If [`crate::support()`] returns an error,
/// CLFLUSH is used.
///
/// # Safety
/// The bytes are mapped.
#[inline]
pub unsafe fn lines(first: *const u8, len: usize, op: LineOp) {
    // SAFETY:
    // - the bytes are mapped: the caller's obligation, passed on;
    // - the CPU has the instructions: they were chosen so.
    unsafe { chosen().lines(first, len, op) }
}

/// Performs `op` on every line with a byte in one of `ranges`, each an address and a length, without a fence.
///
/// Fences: as [`lines`].
///
/// # Safety
/// The bytes are mapped.
#[inline]
pub unsafe fn lines_of_ranges(ranges: &[(*const u8, usize)], op: LineOp) {
    // SAFETY:
    // - the bytes are mapped: the caller's obligation, passed on;
    // - the CPU has the instructions: they were chosen so.
    unsafe { chosen().lines_of_ranges(ranges, op) }
}

/// Performs `op` on the lines of one page whose bits are set in `mask`, without a fence: bit 0 is the line at
/// `page`, bit 63 the page's last line.
///
/// Fences: as [`lines`].
///
/// # Safety
/// `page` is the first byte of a page that is mapped, unless `mask` is 0.
#[inline]
pub unsafe fn lines_of_page(page: *const u8, mask: u64, op: LineOp) {
    // SAFETY:
    // - the page is mapped: the caller's obligation, passed on;
    // - the CPU has the instructions: they were chosen so.
    unsafe { chosen().lines_of_page(page, mask, op) }
}

/// Performs `op` on lines of several pages, as [`lines_of_page`] does: each page is an offset from `first` and a mask.
/// Returns the number of lines.
///
/// Fences: as [`lines`].
///
/// # Safety
/// `first` is the first byte of a page, and each page whose mask is not 0 is mapped.
#[inline]
pub unsafe fn lines_of_pages(
    first: *const u8,
    pages: impl Iterator<Item = (usize, u64)>,
    op: LineOp,
) -> usize {
    // SAFETY:
    // - the pages are mapped: the caller's obligation, passed on;
    // - the CPU has the instructions: they were chosen so.
    unsafe { chosen().lines_of_pages(first, pages, op) }
}

/// Writes back every line with a byte in `first..first + len` and waits for completion; the lines may stay in
/// the cache.
///
/// Fences: has its own, before and after. Earlier stores are in memory before any later store.
///
/// # Safety
/// The bytes are mapped.
pub unsafe fn write_back_range(first: *const u8, len: usize) {
    // SAFETY: the bytes are mapped: the caller's obligation, passed on.
    unsafe { fenced_range(first, len, LineOp::WriteBack) }
}

/// Flushes every line with a byte in `first..first + len` and waits for completion.
///
/// Fences: has its own, before and after. Earlier stores are in memory before any later store.
///
/// # Safety
/// The bytes are mapped.
pub unsafe fn flush_range(first: *const u8, len: usize) {
    // SAFETY: the bytes are mapped: the caller's obligation, passed on.
    unsafe { fenced_range(first, len, LineOp::Flush) }
}

/// Invalidates every line with a byte in `first..first + len` and waits for completion: the next load reads
/// memory. A dirty line is written back first.
///
/// Fences: has its own, before and after; no load passes them.
///
/// # Safety
/// The bytes are mapped.
pub unsafe fn invalidate_range(first: *const u8, len: usize) {
    // SAFETY: the bytes are mapped: the caller's obligation, passed on.
    unsafe { fenced_range(first, len, LineOp::Invalidate) }
}

/// [`fenced_ranges`] for one range, without the overhead of a list.
///
/// # Safety
/// The bytes are mapped.
#[inline(always)]
unsafe fn fenced_range(first: *const u8, len: usize, op: LineOp) {
    let chosen = chosen();
    let fence = Fence::for_batch_of(op, chosen.by(op));
    fence.issue();
    // SAFETY:
    // - the bytes are mapped: the caller's obligation;
    // - the CPU has the instructions: they were chosen so.
    unsafe { chosen.lines(first, len, op) }
    fence.issue();
}

/// Performs `op` on every line with a byte in one of `ranges` and waits for completion, as
/// [`write_back_range`], [`flush_range`] and [`invalidate_range`] do.
///
/// Fences: has its own, one pair for all ranges.
///
/// # Safety
/// The bytes are mapped.
pub unsafe fn fenced_ranges(ranges: &[(*const u8, usize)], op: LineOp) {
    let chosen = chosen();
    let fence = Fence::for_batch_of(op, chosen.by(op));
    fence.issue();
    // SAFETY:
    // - the bytes are mapped: the caller's obligation, passed on;
    // - the CPU has the instructions: they were chosen so.
    unsafe { chosen.lines_of_ranges(ranges, op) }
    fence.issue();
}

/// Issues the cheapest fence that is sufficient before and after a batch of `op`.
///
/// An observer that is notified of the batch by a later store of this thread (another thread, a device or the
/// kernel) finds it complete. After an invalidate, so does a later load of this thread; after a flush or a
/// write-back, which serve other agents, a load that bypasses the cache needs a [`fence`] of its own.
#[inline]
pub fn fence_for(op: LineOp) {
    Fence::for_batch_of(op, chosen().by(op)).issue();
}

/// The fence before and after a batch of line operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fence {
    /// SFENCE.
    Stores,
    /// MFENCE.
    All,
}

impl Fence {
    /// Returns the fence that `op` by `instruction` needs before and after it.
    ///
    /// SFENCE orders CLFLUSHOPT and CLWB, but loads may pass it, so an invalidate needs more. According to
    /// older manuals only MFENCE orders CLFLUSH.
    /// Source: Intel SDM vol. 2A, CLFLUSH, CLFLUSHOPT, CLWB.
    #[inline]
    pub(super) fn for_batch_of(op: LineOp, instruction: Instruction) -> Self {
        match (op, instruction) {
            (LineOp::Invalidate, _) | (_, Instruction::Clflush) => Self::All,
            (LineOp::WriteBack | LineOp::Flush, Instruction::Clflushopt | Instruction::Clwb) => Self::Stores,
        }
    }

    #[inline]
    fn issue(self) {
        match self {
            Self::Stores => store_fence(),
            Self::All => fence(),
        }
    }
}

impl Chosen {
    /// [`lines()`] with these instructions.
    ///
    /// # Safety
    /// The bytes are mapped, and the CPU has the instructions.
    #[inline]
    pub(super) unsafe fn lines(self, first: *const u8, len: usize, op: LineOp) {
        let addresses = line_addresses(first.addr(), len, self.last_line(op));
        // SAFETY:
        // - each is in the page of one of the caller's bytes, which is mapped;
        // - the CPU has the instruction: the caller's obligation.
        unsafe { perform(addresses.map(|address| first.with_addr(address)), self.by(op)) }
    }

    /// [`lines_of_ranges()`] with these instructions.
    ///
    /// # Safety
    /// The bytes are mapped, and the CPU has the instructions.
    #[inline]
    pub(super) unsafe fn lines_of_ranges(self, ranges: &[(*const u8, usize)], op: LineOp) {
        let last_line = self.last_line(op);
        let pointers = ranges.iter().flat_map(|&(first, len)| {
            line_addresses(first.addr(), len, last_line).map(move |address| first.with_addr(address))
        });
        // SAFETY:
        // - each is in the page of one of the caller's bytes, which is mapped;
        // - the CPU has the instruction: the caller's obligation.
        unsafe { perform(pointers, self.by(op)) }
    }

    /// [`lines_of_page()`] with these instructions.
    ///
    /// # Safety
    /// As [`lines_of_page()`]; the CPU has the instructions.
    #[inline]
    pub(super) unsafe fn lines_of_page(self, page: *const u8, mask: u64, op: LineOp) {
        // SAFETY: the caller's obligations, passed on.
        unsafe { self.lines_of_pages(page, core::iter::once((0, mask)), op) };
    }

    /// [`lines_of_pages()`] with these instructions.
    ///
    /// # Safety
    /// As [`lines_of_pages()`]; the CPU has the instructions.
    #[inline]
    pub(super) unsafe fn lines_of_pages(
        self,
        first: *const u8,
        pages: impl Iterator<Item = (usize, u64)>,
        op: LineOp,
    ) -> usize {
        let last_line = self.last_line(op);
        let pages = pages.map(|(offset, mask)| {
            // Rounded down to the page's start, whatever the caller passes, so that no line of another page is
            // touched.
            (first.addr().wrapping_add(offset) & !(PAGE_BYTES as usize - 1), mask)
        });
        let at = |address| first.with_addr(address);
        match self.by(op) {
            Instruction::Clflush => span::lines_of_pages(pages, last_line, |line| {
                // SAFETY: the line is in one of the caller's pages, which is mapped.
                unsafe { clflush(at(line)) }
            }),
            Instruction::Clflushopt => span::lines_of_pages(pages, last_line, |line| {
                // SAFETY: as above; the CPU has the instruction: the caller's obligation.
                unsafe { clflushopt(at(line)) }
            }),
            Instruction::Clwb => span::lines_of_pages(pages, last_line, |line| {
                // SAFETY: as above.
                unsafe { clwb(at(line)) }
            }),
        }
    }
}

/// Performs one instruction on each of `lines`.
///
/// # Safety
/// Every one of `lines` is mapped, and the CPU has `instruction`.
#[inline(always)]
unsafe fn perform(lines: impl Iterator<Item = *const u8>, instruction: Instruction) {
    match instruction {
        // SAFETY: `line` is mapped: the caller's obligation.
        Instruction::Clflush => lines.for_each(|line| unsafe { clflush(line) }),
        // SAFETY: `line` is mapped, and the CPU has the instruction: the caller's obligations.
        Instruction::Clflushopt => lines.for_each(|line| unsafe { clflushopt(line) }),
        // SAFETY: as above.
        Instruction::Clwb => lines.for_each(|line| unsafe { clwb(line) }),
    }
}

/// Defines the function of an instruction on a line.
macro_rules! instruction {
    ($name:ident, $text:literal) => {
        #[doc = concat!("Performs ", $text, " on a line.")]
        ///
        /// # Safety
        /// The line is mapped, and the CPU has the instruction.
        #[inline(always)]
        unsafe fn $name(line: *const u8) {
            #[cfg(test)]
            super::instruction::record($text, line.addr());
            // The assembly changes no register, flag or stack, but changes memory as seen by other agents. It must
            // not be `nomem`, because the compiler may not move a store past it.
            // SAFETY: the caller's obligations.
            unsafe {
                asm!(concat!($text, " byte ptr [{}]"), in(reg) line, options(nostack, preserves_flags))
            }
        }
    };
}

instruction!(clflush, "clflush");
instruction!(clflushopt, "clflushopt");
instruction!(clwb, "clwb");

//! Copies that end in memory: past the cache by non-temporal stores, or through it with a write-back.
//!
//! Whole lines bypass the cache. Partial lines at either end are stored normally and written back: a partial
//! non-temporal store would have to read the rest of the line, or reach memory in pieces.
//!
//! # Safety
//! Every function writes only the bytes that it is given and touches only their lines, which never extend
//! into another page. Destinations need no alignment: [`pieces`] finds the aligned part. After non-temporal
//! stores the destination may be accessed only after a fence, which each function requires of its caller.
#![allow(unsafe_code)]

use core::arch::asm;
#[cfg(target_arch = "x86")]
use core::arch::x86::{_mm_loadu_si128, _mm_stream_si128, _mm256_loadu_si256, _mm256_stream_si256};
#[cfg(target_arch = "x86_64")]
use core::arch::x86_64::{_mm_loadu_si128, _mm_stream_si128, _mm256_loadu_si256, _mm256_stream_si256};

use gem_coherency_policy::vocabulary::LineOp;
use static_assertions::const_assert;

use super::chosen::Chosen;
use super::copy::{copy_in, fill};
use super::span::{LINE, Pieces, pieces};
use super::support::chosen;
use super::{PAGE_LINES, StoreInstruction};

/// Bytes copied through the cache before they are written back: few enough to be still in it.
const THROUGH_BYTES: usize = 4096;

/// Large copies interleave this many pages, a few lines of each in turn: Intel's CPUs prefetch only within a
/// page, so this way they wait for the first lines of several pages at once. Measured: a quarter less time
/// from 64 KiB on; on AMD's CPUs (Zen 4) a tenth more at 64 MiB.
const STREAMS: usize = 4;
/// Lines per page.
const STREAM_LINES: usize = PAGE_LINES as usize;
/// Number of lines from which on a copy is large.
const STREAMS_FROM_LINES: usize = 1024;
/// Lines of one page that are copied before the next page's turn.
const TURN_LINES: usize = 4;
const_assert!(STREAM_LINES % TURN_LINES == 0);

/// Copies `from` to `to` past the cache: whole lines by non-temporal stores, lines that are overwritten in
/// part by ordinary stores and a write-back. No line stays dirty.
///
/// Fences: a [`super::fence_for`] of [`LineOp::WriteBack`] must follow before any other agent is notified
/// of the bytes.
///
/// The memory may be mapped write-back or write-combining. Intended for bytes that the CPU will not access
/// again soon.
///
/// # Safety
/// `to` is mapped for writing, `from.len()` bytes long, and no reference points there.
pub unsafe fn copy_non_temporal(to: *mut u8, from: &[u8]) {
    // SAFETY:
    // - the destination: the caller's obligation, passed on;
    // - the CPU has the instructions: they were chosen so.
    unsafe { copy_non_temporal_by(chosen(), to, from) }
}

/// Sets `len` bytes at `to` to `byte` past the cache, as [`copy_non_temporal`] does.
///
/// Fences: as [`copy_non_temporal`].
///
/// # Safety
/// `to` is mapped for writing, `len` bytes long, and no reference points there.
pub unsafe fn fill_non_temporal(to: *mut u8, byte: u8, len: usize) {
    // SAFETY:
    // - the destination: the caller's obligation, passed on;
    // - the CPU has the instructions: they were chosen so.
    unsafe { fill_non_temporal_by(chosen(), to, byte, len) }
}

/// Copies `from` to `to` through the cache and writes back every line of it; the lines may stay, clean.
///
/// Fences: as [`copy_non_temporal`]. Another thread's earlier stores to parts of the same lines are written back,
/// too, if this thread was notified of them by a locked instruction.
///
/// # Safety
/// As [`copy_non_temporal`].
pub unsafe fn copy_through(to: *mut u8, from: &[u8]) {
    // SAFETY:
    // - the destination: the caller's obligation, passed on;
    // - the CPU has the instructions: they were chosen so.
    unsafe { copy_through_by(chosen(), to, from) }
}

/// [`copy_non_temporal`] with the instructions of `chosen`.
///
/// # Safety
/// As [`copy_non_temporal`]; the CPU has the instructions.
pub(super) unsafe fn copy_non_temporal_by(chosen: Chosen, to: *mut u8, from: &[u8]) {
    if chosen.store_by == StoreInstruction::Mov {
        // SAFETY: the caller's obligations, passed on.
        return unsafe { copy_through_by(chosen, to, from) };
    }
    let Pieces { head, lines, tail: _ } = pieces(to.addr(), from.len());
    let (head, rest) = from.split_at(head);
    let (whole, tail) = rest.split_at(lines * LINE);
    let interleaved = if chosen.interleaves_pages && lines >= STREAMS_FROM_LINES { lines } else { 0 };
    // SAFETY:
    // - destinations: the pieces lie one after the other within the caller's bytes;
    // - alignment: whole lines begin where one does, which `pieces` finds;
    // - the CPU has the instructions: the caller's obligation.
    unsafe {
        copy_through_by(chosen, to, head);
        let to = to.add(head.len());
        match chosen.store_by {
            StoreInstruction::Mov => copy_through_by(chosen, to, whole),
            StoreInstruction::Sse2 => copy_lines_sse2(to, whole.as_ptr(), lines, interleaved),
            StoreInstruction::Avx => copy_lines_avx(to, whole.as_ptr(), lines, interleaved),
            StoreInstruction::Avx512 => copy_lines_avx512(to, whole.as_ptr(), lines, interleaved),
        }
        copy_through_by(chosen, to.add(whole.len()), tail);
    }
}

/// [`fill_non_temporal`] with the instructions of `chosen`.
///
/// # Safety
/// As [`fill_non_temporal`]; the CPU has the instructions.
pub(super) unsafe fn fill_non_temporal_by(chosen: Chosen, to: *mut u8, byte: u8, len: usize) {
    let Pieces { head, lines, tail } = pieces(to.addr(), len);
    // SAFETY: as in `copy_non_temporal_by`.
    unsafe {
        fill_through(chosen, to, byte, head);
        let to = to.add(head);
        match chosen.store_by {
            StoreInstruction::Mov => fill_through(chosen, to, byte, lines * LINE),
            StoreInstruction::Sse2 => fill_lines_sse2(to, byte, lines),
            StoreInstruction::Avx => fill_lines_avx(to, byte, lines),
            StoreInstruction::Avx512 => fill_lines_avx512(to, byte, lines),
        }
        fill_through(chosen, to.add(lines * LINE), byte, tail);
    }
}

/// [`copy_through`] with the instructions of `chosen`.
///
/// # Safety
/// As [`copy_through`]; the CPU has the instructions.
pub(super) unsafe fn copy_through_by(chosen: Chosen, to: *mut u8, from: &[u8]) {
    for (index, block) in from.chunks(THROUGH_BYTES).enumerate() {
        // SAFETY:
        // - destination: the block's place within the caller's bytes;
        // - the CPU has the instructions: the caller's obligation.
        unsafe {
            let to = to.add(index * THROUGH_BYTES);
            copy_in(to, block);
            chosen.lines(to, block.len(), LineOp::WriteBack);
        }
    }
}

/// Sets `len` bytes at `to` to `byte` and writes their lines back.
///
/// # Safety
/// As [`fill_non_temporal_by`].
unsafe fn fill_through(chosen: Chosen, to: *mut u8, byte: u8, len: usize) {
    for start in (0..len).step_by(THROUGH_BYTES) {
        let block = THROUGH_BYTES.min(len - start);
        // SAFETY:
        // - destination: the block's place within the caller's bytes;
        // - the CPU has the instructions: the caller's obligation.
        unsafe {
            let to = to.add(start);
            fill(to, byte, block);
            chosen.lines(to, block, LineOp::WriteBack);
        }
    }
}

/// Declares the copy and the fill of whole lines in parts of `$width` bytes; `$part` copies one part, and `$end`
/// runs after the last.
macro_rules! whole_lines {
    ($(#[$feature:meta])?, $width:literal, $copy:ident, $fill:ident, |$to:ident, $from:ident| $part:expr, $end:expr) => {
        /// Copies `lines` lines by non-temporal stores, the first `interleaved` of them several pages side by side, as far
        /// as these are whole groups of pages.
        ///
        /// # Safety
        /// `to` is the first byte of so many lines that are mapped for writing, `from` as many readable bytes
        /// elsewhere; the CPU has the feature.
        $(#[$feature])?
        unsafe fn $copy(to: *mut u8, from: *const u8, lines: usize, interleaved: usize) {
            let copy_line = |line: usize| {
                for part in (0..LINE).step_by($width) {
                    let at = line * LINE + part;
                    // SAFETY:
                    // - source: within the caller's readable bytes, of any alignment;
                    // - destination: within the caller's lines, aligned as a part of a line is.
                    unsafe {
                        let ($to, $from) = (to.add(at), from.add(at));
                        $part
                    }
                }
            };
            let mut next = 0;
            while interleaved.saturating_sub(next) >= STREAMS * STREAM_LINES {
                for turn in (0..STREAM_LINES).step_by(TURN_LINES) {
                    for stream in 0..STREAMS {
                        let first = next + stream * STREAM_LINES + turn;
                        (first..first + TURN_LINES).for_each(copy_line);
                    }
                }
                next += STREAMS * STREAM_LINES;
            }
            (next..lines).for_each(copy_line);
            $end
        }

        /// Fills `lines` lines by non-temporal stores.
        ///
        /// # Safety
        /// As for the copy.
        $(#[$feature])?
        unsafe fn $fill(to: *mut u8, byte: u8, lines: usize) {
            let bytes = [byte; $width];
            for at in (0..lines * LINE).step_by($width) {
                // SAFETY:
                // - source: `bytes`;
                // - destination: within the caller's lines, aligned as a part of a line is.
                unsafe {
                    let ($to, $from) = (to.add(at), bytes.as_ptr());
                    $part
                }
            }
            $end
        }
    };
}

whole_lines!(
    #[target_feature(enable = "sse2")],
    16,
    copy_lines_sse2,
    fill_lines_sse2,
    |to, from| _mm_stream_si128(to.cast(), _mm_loadu_si128(from.cast())),
    ()
);
whole_lines!(
    #[target_feature(enable = "avx")],
    32,
    copy_lines_avx,
    fill_lines_avx,
    |to, from| _mm256_stream_si256(to.cast(), _mm256_loadu_si256(from.cast())),
    ()
);
// Assembly, because the feature and its intrinsics need Rust 1.89. ZMM0 contains XMM0, so clobbering XMM0 covers it.
whole_lines!(
    ,
    64,
    copy_lines_avx512,
    fill_lines_avx512,
    |to, from| asm!(
        "vmovdqu64 zmm0, [{from}]",
        "vmovntdq [{to}], zmm0",
        from = in(reg) from,
        to = in(reg) to,
        out("xmm0") _,
        options(nostack, preserves_flags),
    ),
    // SAFETY: every register that it changes is a clobber of the ABI. Without it, SSE instructions that follow are slow.
    unsafe { asm!("vzeroupper", clobber_abi("C"), options(nomem, nostack, preserves_flags)) }
);

//! Loads from write-combining memory.
//!
//! Each ordinary load from there is a separate memory read, however narrow. MOVNTDQA reads the whole line
//! into a buffer, from which the other three quarters of the line are served.
//!
//! # Safety
//! MOVNTDQA requires 16-byte alignment, so the first and the last bytes are extracted from their aligned 16
//! bytes: these are in one line, and so in a mapped page. No byte outside the caller's range is returned.
#![allow(unsafe_code)]

#[cfg(target_arch = "x86")]
use core::arch::x86::{__m128i, _mm_storeu_si128, _mm_stream_load_si128};
#[cfg(target_arch = "x86_64")]
use core::arch::x86_64::{__m128i, _mm_storeu_si128, _mm_stream_load_si128};

use super::LoadInstruction;
use super::chosen::Chosen;
use super::copy::copy_out;
use super::span::LINE;
use super::support::chosen;

/// Bytes per streaming load.
const UNIT: usize = size_of::<__m128i>();

/// Copies the `to.len()` bytes at `from` into `to` by streaming loads, or by ordinary loads if the CPU has
/// none.
///
/// Fences: a [`super::fence`] must precede it, or the bytes may be those of an earlier read.
///
/// Intended for memory that is mapped write-combining; correct for any other, too. Source and destination
/// need no alignment.
///
/// # Safety
/// The bytes at `from` are mapped for reading.
pub unsafe fn load_streaming(to: &mut [u8], from: *const u8) {
    // SAFETY:
    // - the source: the caller's obligation, passed on;
    // - the CPU has the instruction: it was chosen so.
    unsafe { load_streaming_by(chosen(), to, from) }
}

/// [`load_streaming`] with the instructions of `chosen`.
///
/// # Safety
/// As [`load_streaming`]; the CPU has the instructions.
pub(super) unsafe fn load_streaming_by(chosen: Chosen, to: &mut [u8], from: *const u8) {
    match chosen.load_by {
        // SAFETY: the source: the caller's obligation, passed on.
        LoadInstruction::Mov => unsafe { copy_out(to, from) },
        // SAFETY:
        // - the source: the caller's obligation, passed on;
        // - the CPU has SSE4.1: the caller's obligation.
        LoadInstruction::Movntdqa => unsafe { stream(to, from) },
    }
}

/// Copies by streaming loads.
///
/// # Safety
/// As [`load_streaming`]; the CPU has SSE4.1.
#[target_feature(enable = "sse4.1")]
unsafe fn stream(to: &mut [u8], from: *const u8) {
    let to_unit = from.addr().wrapping_neg() % UNIT;
    let (head, rest) = to.split_at_mut(to_unit.min(to.len()));
    // SAFETY: the head lies in one unit, and each of its bytes is mapped: the caller's obligation.
    unsafe { stream_part(head, from) }
    let from = from.wrapping_add(head.len());
    let mut lines = rest.chunks_exact_mut(LINE);
    let mut done = 0;
    for line in &mut lines {
        for part in (0..LINE).step_by(UNIT) {
            // SAFETY:
            // - source: within the caller's bytes, and aligned: `from` is after the head;
            // - destination: `part` and the unit after it lie in `line`.
            unsafe {
                let unit = _mm_stream_load_si128(from.add(done + part).cast());
                _mm_storeu_si128(line.as_mut_ptr().add(part).cast(), unit);
            }
        }
        done += LINE;
    }
    for unit in lines.into_remainder().chunks_mut(UNIT) {
        // SAFETY: `unit` lies in one unit, and each of its bytes is mapped: the caller's obligation.
        unsafe { stream_part(unit, from.wrapping_add(done)) }
        done += unit.len();
    }
}

/// Copies bytes at `from` that are in one unit, which is loaded whole.
///
/// # Safety
/// The bytes at `from` are mapped and lie in one unit; the CPU has SSE4.1.
#[target_feature(enable = "sse4.1")]
unsafe fn stream_part(to: &mut [u8], from: *const u8) {
    if to.is_empty() {
        return;
    }
    let skipped = from.addr() % UNIT;
    let mut whole = [0; UNIT];
    // SAFETY:
    // - source: aligned, and in the page of a byte that is mapped;
    // - destination: `whole` has the size of a unit.
    unsafe {
        let unit = _mm_stream_load_si128(from.wrapping_sub(skipped).cast());
        _mm_storeu_si128(whole.as_mut_ptr().cast(), unit);
    }
    for (to, byte) in to.iter_mut().zip(whole.iter().skip(skipped)) {
        *to = *byte;
    }
}

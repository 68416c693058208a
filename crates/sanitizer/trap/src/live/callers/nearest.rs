//! The nearest callers of trapped instructions, without unwinding where the stack is as it was the last time.
//!
//! A loop executes an instruction many times with one call stack. What unwinding found is remembered with the places of the return
//! addresses on the stack, and holds as long as the same thread executes the same instruction at the same depth and these places have
//! the same words.
//!
//! # Safety
//! Places are read that the same thread's stack had above the same stack pointer, at most a page above it.
#![allow(unsafe_code)]

use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

use crate::live::registers::Registers;
use crate::live::system::PAGE_BYTES;

/// Number of callers that are found, the instruction included.
pub const NEAREST: usize = 4;

/// A call stack that was found.
struct Known {
    /// Odd while it is changed.
    version: AtomicUsize,
    thread: AtomicUsize,
    /// The stack pointer.
    stack: AtomicUsize,
    depth: AtomicUsize,
    frames: [AtomicUsize; NEAREST],
    places: [AtomicUsize; NEAREST],
}

static KNOWN: [Known; 32] = [const {
    Known {
        version: AtomicUsize::new(0),
        thread: AtomicUsize::new(0),
        stack: AtomicUsize::new(0),
        depth: AtomicUsize::new(0),
        frames: [const { AtomicUsize::new(0) }; NEAREST],
        places: [const { AtomicUsize::new(0) }; NEAREST],
    }
}; 32];

/// Writes the nearest callers of the instruction to `frames`, as [`super::walk`] does; returns their number.
pub(in crate::live) fn walk(registers: Registers, frames: &mut [usize; NEAREST]) -> usize {
    let site = registers.get(libc::REG_RIP) as usize;
    let stack = registers.get(libc::REG_RSP) as usize;
    let at = (site ^ stack >> 4).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 59;
    let Some(known) = KNOWN.get(at) else { return 0 };
    if let Some(depth) = known.recall(site, stack, frames) {
        return depth;
    }
    let mut places = [0; NEAREST];
    let depth = super::walk_places(registers, frames, &mut places);
    known.remember(stack, depth, frames, &places);
    depth
}

impl Known {
    /// Finds a call stack that still holds; returns its depth.
    fn recall(&self, site: usize, stack: usize, frames: &mut [usize; NEAREST]) -> Option<usize> {
        let version = self.version.load(SeqCst);
        let is_same = version % 2 == 0
            && (self.stack.load(SeqCst), self.thread.load(SeqCst)) == (stack, thread())
            && self.frames.first().is_some_and(|first| first.load(SeqCst) == site);
        let depth = self.depth.load(SeqCst);
        if !is_same || !(1..=NEAREST).contains(&depth) {
            return None;
        }
        for (frame, known) in frames.iter_mut().zip(&self.frames) {
            *frame = known.load(SeqCst);
        }
        let places = self.places.iter().map(|place| place.load(SeqCst));
        let mut above = places.zip(frames.iter()).take(depth).skip(1);
        // SAFETY: the place was on this thread's stack at the same depth.
        let word = |place| unsafe { std::ptr::with_exposed_provenance::<usize>(place).read_volatile() };
        let holds = above.all(|(place, frame)| is_near(stack, place) && word(place) == *frame);
        (holds && self.version.load(SeqCst) == version).then_some(depth)
    }

    /// Remembers a call stack, unless one of its places is not known, or far from the stack pointer.
    fn remember(&self, stack: usize, depth: usize, frames: &[usize; NEAREST], places: &[usize; NEAREST]) {
        let all_near = places.iter().take(depth).skip(1).all(|&place| is_near(stack, place));
        let version = self.version.load(SeqCst);
        if !all_near
            || version % 2 != 0
            || self.version.compare_exchange(version, version + 1, SeqCst, SeqCst).is_err()
        {
            return;
        }
        self.thread.store(thread(), SeqCst);
        self.stack.store(stack, SeqCst);
        self.depth.store(depth, SeqCst);
        for (to, from) in self.frames.iter().zip(frames).chain(self.places.iter().zip(places)) {
            to.store(*from, SeqCst);
        }
        self.version.store(version + 2, SeqCst);
    }
}

/// Returns whether a word is at most a page above the stack pointer.
fn is_near(stack: usize, place: usize) -> bool {
    place % size_of::<usize>() == 0 && (stack..stack.saturating_add(PAGE_BYTES)).contains(&place)
}

/// Returns a number of this thread: its thread pointer.
fn thread() -> usize {
    let pointer: usize;
    // SAFETY: the first word of a thread's block is its own address (System V ABI for AMD64, 3.4.6).
    unsafe { std::arch::asm!("mov {}, fs:0", out(reg) pointer, options(nostack, readonly, preserves_flags)) };
    pointer
}

//! The program's own memory of which it made userptr objects. The GPU snoops it, so that a flush of it does nothing for the GPU.

use std::sync::atomic::{AtomicUsize, Ordering};

use crate::system::lock::Lock;

/// Most ranges; flushes of later ones are not counted.
const MOST: usize = 1024;

/// The memory of an object.
#[derive(Clone, Copy)]
struct Range {
    /// The cookie of the file, and the object's handle there.
    name: (u64, u32),
    start: usize,
    end: usize,
}

const FREE: Range = Range { name: (0, 0), start: 0, end: 0 };

static RANGES: Lock<[Range; MOST]> = Lock::new([FREE; MOST]);

/// Number of ranges, so that most programs take no lock.
static COUNT: AtomicUsize = AtomicUsize::new(0);

/// Returns whether there is a range.
fn is_used() -> bool {
    // Relaxed: a thread that uses an object's memory has learned of the object from the one that made it.
    COUNT.load(Ordering::Relaxed) > 0
}

/// Adds the `len` bytes at `start`, of the object with a handle of a file.
pub(crate) fn add(name: (u64, u32), start: usize, len: usize) {
    let mut ranges = RANGES.hold();
    if let Some(free) = ranges.iter_mut().find(|range| range.end == 0) {
        *free = Range { name, start, end: start.saturating_add(len) };
        COUNT.fetch_add(1, Ordering::Relaxed);
    }
}

/// Removes the ranges for which `is_gone` holds.
fn remove(is_gone: impl Fn(&Range) -> bool) {
    if !is_used() {
        return;
    }
    for range in RANGES.hold().iter_mut().filter(|range| range.end != 0 && is_gone(range)) {
        *range = FREE;
        COUNT.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Removes the range of an object whose handle is closed.
pub(crate) fn close(name: (u64, u32)) {
    remove(|range| range.name == name);
}

/// Removes the ranges in which the `len` bytes at `start` are unmapped.
pub(crate) fn unmap(start: usize, len: usize) {
    remove(|range| range.start < start.saturating_add(len) && start < range.end);
}

/// Returns whether an address is in a range.
pub(crate) fn has(address: usize) -> bool {
    is_used() && RANGES.hold().iter().any(|range| (range.start..range.end).contains(&address))
}

/// Forgets the parent's ranges in a child process, whose memory no object has.
///
/// # Safety
/// As [`Lock::reset`].
pub(crate) unsafe fn reset() {
    // SAFETY: the caller's obligation.
    unsafe { RANGES.reset() };
    remove(|_| true);
}

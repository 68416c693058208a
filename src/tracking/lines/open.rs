//! The lines that an open stream may have stored to without a mark.
//!
//! A stream marks its stores late: at an announcement, or at its end. Until then every flush of the object marks the lines
//! that are left of the stream before it takes marks, so it flushes what the stream has stored so far. The lines stay open.
//!
//! The stream marks lines before it takes them out of the open ones, and a flush looks at the open lines before it takes
//! marks: it finds each line in one place or in both.

use crate::sync::{AtomicU64, Ordering};
use crate::units::LineRange;

/// The open lines of an object: at most one stream's.
#[derive(Debug)]
pub(super) struct OpenLines {
    /// The first one.
    first: AtomicU64,
    /// One past the last one; 0 if no stream is open.
    end: AtomicU64,
}

impl OpenLines {
    /// Creates the empty set.
    pub(super) fn new() -> Self {
        Self { first: AtomicU64::new(0), end: AtomicU64::new(0) }
    }

    /// Returns the open lines.
    #[inline]
    pub(super) fn lines(&self) -> LineRange {
        // Acquire, here and for `first`, pairs with the Release of `advance` and `close`: a thread that no longer finds a line
        // here finds its mark, or the flush announced that took it.
        let end = self.end.load(Ordering::Acquire);
        LineRange::new(self.first.load(Ordering::Acquire).min(end), end)
    }

    /// Returns whether no line is open.
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        // Acquire: as in `lines`.
        self.end.load(Ordering::Acquire) == 0
    }

    /// Opens `lines`, whose end is not 0; returns whether no others were open.
    ///
    /// A flush that reads this end beside an earlier stream's first line runs at the same time, before any store of this stream.
    pub(super) fn open(&self, lines: LineRange) -> bool {
        // Relaxed: a thread that has learned of a store sees both; and a read-modify-write keeps the release of the last `close`.
        let opened = self.end.compare_exchange(0, lines.end(), Ordering::Relaxed, Ordering::Relaxed);
        if opened.is_ok() {
            // Release: a flush that reads this beside an earlier stream's end finds the marks of that stream.
            self.first.store(lines.first(), Ordering::Release);
        }
        opened.is_ok()
    }

    /// Takes out the lines before `first`, which are marked. Only for the stream.
    pub(super) fn advance(&self, first: u64) {
        self.first.store(first, Ordering::Release);
    }

    /// Takes out all lines, of which those that were stored to are marked. Only for the stream.
    pub(super) fn close(&self) {
        self.end.store(0, Ordering::Release);
    }
}

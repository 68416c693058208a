//! The tracked state of one object.

use super::board::Flushes;
use crate::error::Result;
use crate::sync::{AtomicU64, Ordering};
use crate::tracking::gpu_writes::GpuWrites;
use crate::tracking::lines::{DirtyLines, LineMap};
use crate::tracking::word::{ObjectWord, State};
use crate::units::{LineRange, PageLines};
use crate::vocabulary::CacheLevel;

/// The tracked state of one object.
///
/// In the order in which it is used, so that an access to a small object takes few cache lines.
#[derive(Debug)]
#[repr(C)]
pub struct Tracked {
    pub(super) word: ObjectWord,
    pub(super) gpu_writes: GpuWrites,
    /// Number of open flushes that may have taken stale lines.
    pub(super) invalidates: AtomicU64,
    pub(super) dirty: DirtyLines,
    pub(super) stale: LineMap,
    pub(super) in_flight: Flushes,
}

impl Tracked {
    /// Creates the state of a new object of `size_bytes` bytes at `level`: no line is dirty or stale.
    ///
    /// # Errors
    /// [`crate::Error::NoMemory`] if the maps cannot be allocated.
    pub fn new(size_bytes: u64, level: CacheLevel) -> Result<Self> {
        Ok(Self {
            word: ObjectWord::new(level),
            dirty: DirtyLines::new(size_bytes)?,
            stale: LineMap::new(size_bytes)?,
            gpu_writes: GpuWrites::default(),
            in_flight: Flushes::default(),
            invalidates: AtomicU64::new(0),
        })
    }

    /// Returns the object word.
    #[inline]
    pub fn word(&self) -> &ObjectWord {
        &self.word
    }

    /// Returns the lines whose newest data may be only in the CPU cache.
    #[inline]
    pub fn dirty(&self) -> &DirtyLines {
        &self.dirty
    }

    /// Returns the lines whose newest data may be only in memory.
    #[inline]
    pub fn stale(&self) -> &LineMap {
        &self.stale
    }

    /// Returns the GPU's writes.
    #[inline]
    pub fn gpu_writes(&self) -> &GpuWrites {
        &self.gpu_writes
    }

    /// Returns whether nothing that `is_pending` checks, in the word or in the maps, is pending or being
    /// flushed. If so, an access that requires nothing else needs no in-flight flush.
    #[inline(always)]
    pub fn is_current(&self, is_pending: impl Fn(State) -> bool) -> bool {
        let returns = self.returned_flushes();
        !is_pending(self.word.state()) && self.is_idle_since(returns)
    }

    /// Returns how many flushes returned the work that they took, to begin a check of what is pending. [`Tracked::is_current`] without a closure,
    /// which the compiler may keep as a function on the shortest paths.
    #[inline(always)]
    pub fn returned_flushes(&self) -> u64 {
        self.in_flight.returns()
    }

    /// Returns whether no flush is open, and none has returned its work since [`Tracked::returned_flushes`]: the end of the check.
    #[inline(always)]
    pub fn is_idle_since(&self, returns: u64) -> bool {
        self.in_flight.is_idle_since(returns)
    }

    /// Returns whether `is_stale`, which reads the stale lines, is true, or any line may be about to be invalidated.
    #[inline(always)]
    fn finds_stale(&self, is_stale: impl Fn() -> bool) -> bool {
        // If an invalidate took the mark of a line, the first check, which acquires, sees it taken; then the
        // second one sees the invalidate counted, or, by Acquire, its lines invalidated or marked again.
        is_stale() || self.invalidates.load(Ordering::Acquire) != 0 || is_stale()
    }

    /// Returns whether a line of `lines` is stale, or any line may be about to be invalidated.
    #[inline]
    pub fn may_be_stale(&self, lines: LineRange) -> bool {
        self.finds_stale(|| self.stale.any(lines))
    }

    /// [`Tracked::may_be_stale`] for lines of one page.
    #[inline(always)]
    pub fn may_be_stale_in(&self, lines: PageLines) -> bool {
        self.finds_stale(|| !self.stale.is_swept()) && self.may_be_stale_on_page(lines)
    }

    #[inline(never)]
    fn may_be_stale_on_page(&self, lines: PageLines) -> bool {
        self.finds_stale(|| self.stale.any_in(lines))
    }

    /// Waits for the in-flight flushes that are open, none of which is the calling thread's. One that begins later finds what
    /// this thread did before.
    pub fn wait_for_flushes(&self) {
        self.in_flight.wait_for_open();
    }
}

//! What a device counts: its files, its memory, and what went wrong.

use std::sync::atomic::{AtomicU64, Ordering};

use super::limits::SYSTEM_BYTES;
use gem_coherency::policy::kernel::Backing;

/// The counts of a device.
#[derive(Debug, Default)]
pub(crate) struct Accounting {
    /// Number of open files.
    files: AtomicU64,
    /// Number of files that were ever opened.
    opened: AtomicU64,
    /// Number of resets of the whole GPU (`i915_reset_count`).
    pub(crate) resets: AtomicU64,
    /// Number of CPU accesses that would have raised SIGBUS on a real device.
    pub(crate) bus_errors: AtomicU64,
    /// Bytes of objects' pages, in total and in local memory.
    in_use: AtomicU64,
    local_in_use: AtomicU64,
    /// Bytes of local memory, if objects move to system memory when it is full: on a discrete device of xe.
    local_bytes: Option<u64>,
    /// Objects with pages that the kernel can purge or swap out, and their bytes (`mm.shrink_count`, `mm.shrink_memory`).
    shrinkable: AtomicU64,
    shrinkable_bytes: AtomicU64,
}

impl Accounting {
    /// Creates the counts of a device with `local_bytes` of local memory from which objects move to system memory.
    pub(crate) fn new(local_bytes: Option<u64>) -> Self {
        Self { local_bytes, ..Self::default() }
    }

    /// Returns the size of local memory from which objects move to system memory; `None` if they do not.
    pub(crate) fn local_bytes(&self) -> Option<u64> {
        self.local_bytes
    }

    /// Returns whether `bytes` of local memory are free.
    pub(crate) fn has_local_room(&self, bytes: u64) -> bool {
        let left = self.local_bytes.and_then(|all| all.checked_sub(self.local_bytes_in_use()));
        left.is_some_and(|left| bytes <= left)
    }

    /// Counts a new open file; returns its number.
    pub(crate) fn open(&self) -> u64 {
        // Relaxed: counts; the state that the last file leaves is behind a lock.
        self.files.fetch_add(1, Ordering::Relaxed);
        self.opened.fetch_add(1, Ordering::Relaxed)
    }

    /// Counts a closed file; returns whether it was the last one.
    pub(crate) fn close(&self) -> bool {
        // Relaxed: see `open`.
        self.files.fetch_sub(1, Ordering::Relaxed) == 1
    }

    /// Takes `bytes` of the machine's memory for pages; returns whether they were available.
    pub(crate) fn take_memory(&self, bytes: u64, backing: Backing) -> bool {
        // Where objects move, local memory is a budget of its own.
        let (is_separate, is_local) = (self.local_bytes.is_some(), backing == Backing::Local);
        let others = if is_separate { self.local_bytes_in_use() } else { 0 };
        if is_separate && is_local && !self.has_local_room(bytes) {
            return false;
        }
        let is_free = |sum: u64| is_separate && is_local || sum.saturating_sub(others) <= SYSTEM_BYTES;
        let fits = |used: u64| used.checked_add(bytes).filter(|&sum| is_free(sum));
        // Relaxed: a budget; it publishes no other data. Local memory that objects leave is taken by one thread at a time.
        let taken = self.in_use.fetch_update(Ordering::Relaxed, Ordering::Relaxed, fits).is_ok();
        if taken && backing == Backing::Local {
            self.local_in_use.fetch_add(bytes, Ordering::Relaxed);
        }
        if taken && is_shrinkable(backing) {
            self.shrinkable.fetch_add(1, Ordering::Relaxed);
            self.shrinkable_bytes.fetch_add(bytes, Ordering::Relaxed);
        }
        taken
    }

    /// Releases memory.
    pub(crate) fn give_memory(&self, bytes: u64, backing: Backing) {
        // Relaxed: see `take_memory`.
        self.in_use.fetch_sub(bytes, Ordering::Relaxed);
        if backing == Backing::Local {
            self.local_in_use.fetch_sub(bytes, Ordering::Relaxed);
        }
        if is_shrinkable(backing) {
            self.shrinkable.fetch_sub(1, Ordering::Relaxed);
            self.shrinkable_bytes.fetch_sub(bytes, Ordering::Relaxed);
        }
    }

    /// Returns how many objects have pages that the kernel can purge or swap out, and their bytes.
    pub(crate) fn shrinkable(&self) -> (u64, u64) {
        // Relaxed: see `take_memory`.
        (self.shrinkable.load(Ordering::Relaxed), self.shrinkable_bytes.load(Ordering::Relaxed))
    }

    /// Returns the bytes of local memory in use.
    pub(crate) fn local_bytes_in_use(&self) -> u64 {
        // Relaxed: see `take_memory`.
        self.local_in_use.load(Ordering::Relaxed)
    }

    /// Returns the bytes of memory in use.
    pub(crate) fn bytes_in_use(&self) -> u64 {
        // Relaxed: see `take_memory`.
        self.in_use.load(Ordering::Relaxed)
    }

    /// Counts a CPU access that would have raised SIGBUS.
    pub(crate) fn bus_error(&self, why: &dyn std::fmt::Display) {
        // Relaxed: a statistic.
        self.bus_errors.fetch_add(1, Ordering::Relaxed);
        tracing::error!(%why, "SIGBUS on real devices");
    }
}

/// Returns whether the kernel can purge pages, or swap them out (`I915_GEM_OBJECT_IS_SHRINKABLE`).
fn is_shrinkable(backing: Backing) -> bool {
    match backing {
        Backing::Shmem | Backing::LocalSystem | Backing::Phys | Backing::Userptr | Backing::Internal => true,
        Backing::Local | Backing::Stolen | Backing::Import => false,
    }
}

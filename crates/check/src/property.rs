//! Properties that must hold in every reachable state.

use gem_coherency::vocabulary::words;

words! {
    /// A property that must always hold.
    Property, "property" {
        /// Every ordered read returns the last value written.
        NewestRead = "newest-read",
        /// No write is lost.
        NoLostWrite = "no-lost-write",
        /// No reader gets the previous owner's data.
        NoLeak = "no-leak",
        /// Every line that may be dirty or stale is marked.
        Marked = "marked",
        /// The kernel's own invariants for objects without an LLC hold.
        KernelInvariants = "kernel-invariants",
    }
}

impl Property {
    /// The property, in one sentence.
    pub const fn statement(self) -> &'static str {
        match self {
            Self::NewestRead => {
                "Every ordered read, by the CPU, the GPU or the display, returns the last value written."
            }
            Self::NoLostWrite => "At any time, some copy of every byte holds the last value written.",
            Self::NoLeak => {
                "No access by userspace, ordered or not, reads the previous owner's data of a page."
            }
            Self::Marked => {
                "Every line that some reader could miss is tracked: in the dirty map or as pending work if \
                 the cache may be newer, in the stale map if it may be older."
            }
            Self::KernelInvariants => {
                "Without an LLC, an uncached object without pages is dirty, and so is every object whose \
                 pages were released."
            }
        }
    }
}

/// An invariant of the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Invariant {
    /// An uncached object without pages is dirty.
    StartsDirty,
    /// An object whose pages were released is dirty.
    ReleasedDirty,
}

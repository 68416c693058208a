//! Properties that must hold in every reachable state.

use gem_coherency::vocabulary::words;

words! {
    /// A property that must always hold.
    Property, "property" {
        /// Every ordered read returns what was written last.
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
                "Every ordered read, by the CPU, the GPU or the display, returns what was written last."
            }
            Self::NoLostWrite => "At any time some copy of every byte is the one that was written last.",
            Self::NoLeak => {
                "Nothing that userspace can do, ordered or not, reads what a page's previous owner left in it."
            }
            Self::Marked => {
                "Every line that may be newer in the cache is in the dirty map or noted, and every line that may be \
                 older there is in the stale map, as far as some reader would not see it otherwise."
            }
            Self::KernelInvariants => {
                "Without an LLC, an uncached object without pages is dirty, and so is every object whose pages were \
                 given back."
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

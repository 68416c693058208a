//! What must hold in every state that can be reached.

use gem_coherency::vocabulary::words;

words! {
    /// Something that must never happen otherwise.
    Property, "property" {
        /// Every ordered read returns what was written last.
        NewestRead = "newest-read",
        /// No write is lost.
        NoLostWrite = "no-lost-write",
        /// Nobody reads what a page's previous owner left.
        NoLeak = "no-leak",
        /// Whatever may be dirty or stale is marked so.
        Marked = "marked",
        /// The kernel's own invariants for objects without an LLC hold.
        KernelInvariants = "kernel-invariants",
    }
}

impl Property {
    /// What it says, in one sentence.
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

/// Which of the kernel's invariants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Invariant {
    /// An uncached object without pages is dirty.
    StartsDirty,
    /// An object whose pages were given back is dirty.
    ReleasedDirty,
}

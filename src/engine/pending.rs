//! The work that an access leaves pending.

use crate::platform::Caps;
use crate::policy::driver::CpuMemory;
use crate::policy::kernel::{KernelRules, Snapshot};
use crate::policy::needs_flush_of_zeroes;
use crate::policy::pending::PendingWork;
use crate::policy::{Decision, Rule, Verdict};

/// Pending work that concerns the whole object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Note {
    /// Stores may be in the CPU's write-combining buffers.
    WcStores,
    /// Stores through the aperture may be in the chipset.
    GttStores,
    /// The GPU's writes may be dirty in the CPU's caches.
    GpuWrite,
}

impl Note {
    /// Returns the memory type of the stores that a note is about.
    pub(super) const fn memory(self) -> Option<CpuMemory> {
        match self {
            Self::WcStores => Some(CpuMemory::Combining),
            Self::GttStores => Some(CpuMemory::Aperture),
            Self::GpuWrite => None,
        }
    }
}

/// The pending work of one object: its storage, and how an access adds to it.
pub trait Pending {
    /// A set of the object's lines.
    type Lines: Copy;

    /// Returns every line of the object.
    fn all(&self) -> Self::Lines;

    /// Marks `lines` dirty.
    fn mark_dirty(&mut self, lines: Self::Lines);

    /// Notes that memory of `lines` was written around the CPU's caches: marks the lines as stale if there is
    /// a cached mapping, and otherwise records the fact for the first cached mapping.
    fn note_uncached_write(&mut self, lines: Self::Lines);

    /// Sets a note.
    fn note(&mut self, note: Note);

    /// Counts a write that the GPU is told to make.
    fn count_gpu_write(&mut self);
}

/// Adds the work that an access to `lines` leaves pending.
///
/// Call it after the access's stores: a mark made before its store may be taken, and its line flushed, before
/// the data is there.
#[inline]
pub fn note<P: Pending>(object: &mut P, work: PendingWork, lines: P::Lines) {
    if work.dirty {
        object.mark_dirty(lines);
    }
    if work.wc_stores {
        object.note(Note::WcStores);
    }
    if work.gtt_stores {
        object.note(Note::GttStores);
    }
    if work.gpu_write {
        object.note(Note::GpuWrite);
    }
    if work.stale {
        object.note_uncached_write(lines);
    }
}

/// Adds the work that a write by the GPU leaves pending, `work` by the rules.
///
/// Call it both before and after the submitting ioctl: a reader may take the first notes before the GPU has
/// anything to write. On an unknown device (`is_conservative`) the write may have been coherent, so every line
/// is marked as dirty, too.
pub fn note_gpu_write<P: Pending>(object: &mut P, work: PendingWork, is_conservative: bool) {
    // Counted before it is noted, so that a thread that takes the note finds the write to wait for.
    object.count_gpu_write();
    let lines = object.all();
    note(object, PendingWork { dirty: work.dirty || is_conservative, ..work }, lines);
}

/// Returns whether the zeroes of a new object's pages must be treated as dirty, with the rule.
///
/// `fresh` is the kernel's state of the object before it has pages.
pub fn zeroes(caps: Caps, rules: &KernelRules, fresh: Snapshot, is_conservative: bool) -> Decision {
    if is_conservative {
        return Decision::new(Verdict::Flush, Rule::ZeroesStayDirty);
    }
    needs_flush_of_zeroes(caps, rules, fresh)
}

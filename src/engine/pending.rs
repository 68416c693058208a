//! What an access leaves pending.

use crate::platform::Caps;
use crate::policy::driver::{CpuMemory, needs_flush_of_zeroes};
use crate::policy::kernel::{KernelRules, Snapshot};
use crate::policy::pending::Notes;
use crate::policy::{Decision, Rule, Verdict};

/// Pending work that concerns the whole object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Note {
    /// Stores may be in the CPU's write-combining buffers.
    WcStores,
    /// Stores through the aperture may be in the chipset.
    GttStores,
    /// What the GPU wrote may be dirty in the CPU's caches.
    GpuWrite,
}

impl Note {
    /// The memory type whose stores a note of stores is about.
    pub(super) const fn memory(self) -> Option<CpuMemory> {
        match self {
            Self::WcStores => Some(CpuMemory::Combining),
            Self::GttStores => Some(CpuMemory::Aperture),
            Self::GpuWrite => None,
        }
    }
}

/// The pending work of one object: how it is kept, and how an access adds to it.
pub trait Pending {
    /// Some lines of the object.
    type Lines: Copy;

    /// Every line of the object.
    fn all(&self) -> Self::Lines;

    /// Marks `lines` dirty.
    fn mark_dirty(&mut self, lines: Self::Lines);

    /// Notes that memory of `lines` was written around the CPU's caches: marks them stale if a mapping goes through
    /// the caches, and otherwise remembers it for the first mapping that does.
    fn note_written_around(&mut self, lines: Self::Lines);

    /// Adds a note.
    fn note(&mut self, note: Note);

    /// Counts one more write that the GPU was told to make.
    fn count_gpu_write(&mut self);
}

/// Adds what an access to `lines` leaves pending.
///
/// Call it after the stores of the access: a mark that is made before its store may be taken, and its line flushed,
/// before the data is there.
pub fn note<P: Pending>(object: &mut P, notes: Notes, lines: P::Lines) {
    if notes.dirty {
        object.mark_dirty(lines);
    }
    for (is_noted, note) in [
        (notes.wc_stores, Note::WcStores),
        (notes.gtt_stores, Note::GttStores),
        (notes.gpu_write, Note::GpuWrite),
    ] {
        if is_noted {
            object.note(note);
        }
    }
    if notes.stale {
        object.note_written_around(lines);
    }
}

/// Adds what a write of the GPU leaves pending, by the rules' `notes`.
///
/// Call it before the submitting ioctl and after it: a reader may take the first notes before the GPU has anything to
/// write. On a device of which only the worst is known (`is_conservative`), the write may have been coherent after all,
/// so every line counts as dirty, too.
pub fn note_gpu_write<P: Pending>(object: &mut P, notes: Notes, is_conservative: bool) {
    // Counted before it is noted, so that whoever takes a note finds the write that has to be waited for.
    object.count_gpu_write();
    let lines = object.all();
    note(object, Notes { dirty: notes.dirty || is_conservative, ..notes }, lines);
}

/// Returns whether the zeroes of a new object's pages count as dirty, by which rule.
///
/// `fresh` is the kernel's state of the object before it has pages.
pub fn zeroes(caps: Caps, rules: &KernelRules, fresh: Snapshot, is_conservative: bool) -> Decision {
    if is_conservative {
        return Decision::new(Verdict::Flush, Rule::ZeroesStayDirty);
    }
    needs_flush_of_zeroes(caps, rules, fresh)
}

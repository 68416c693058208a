//! The work that an access requires, and its order.

use super::pending::Note;
use crate::cacheops::LineOp;
use crate::policy::driver::CpuMemory;
use crate::policy::pending::{RequiredWork, flush_op};
use crate::policy::{Decision, Path, Verdict};
use crate::vocabulary::Access;

/// An in-flight flush of one object: takes pending work, to perform it.
///
/// Work that was taken is pending again if the flush fails.
pub trait Take {
    /// The error of an operation.
    type Error;

    /// Takes a note; returns whether it was set.
    fn take(&mut self, note: Note) -> bool;

    /// Drains the stores made through mappings of this memory type.
    ///
    /// # Errors
    /// Those of a read through such a mapping.
    fn drain(&mut self, memory: CpuMemory) -> Result<(), Self::Error>;

    /// Takes the dirty marks; the caller is about to write the lines to memory.
    fn forget_dirty(&mut self);
}

/// An in-flight flush that performs what it takes, and reports it.
pub trait Flush: Take {
    /// Takes the stale lines and their dirty marks, and invalidates them; returns how many there were.
    ///
    /// # Errors
    /// Those of mapping the object and of performing operations.
    fn invalidate_stale(&mut self) -> Result<u64, Self::Error>;

    /// Takes the dirty lines and performs `op` on them; returns how many there were.
    ///
    /// # Errors
    /// Those of mapping the object and of performing operations.
    fn flush_dirty(&mut self, op: LineOp) -> Result<u64, Self::Error>;

    /// Writes back every line and takes all dirty marks; returns the number of lines.
    ///
    /// # Errors
    /// Those of mapping the object and of performing operations.
    fn write_back_all(&mut self) -> Result<u64, Self::Error>;

    /// Reports the decision and the number of lines that it concerned.
    fn report(&mut self, decision: Decision, lines: u64);
}

/// The handling of stale lines before an access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StaleLines {
    /// They are invalidated if the rules require it.
    Invalidate,
    /// They are left, because each store invalidates the lines that it overwrites in part ([`overwrite`]), or
    /// because the access does not go through the CPU's caches.
    Leave,
}

impl StaleLines {
    /// Returns the handling when the CPU begins an access.
    pub const fn at_begin(access: Access) -> Self {
        match access {
            Access::Read => Self::Invalidate,
            Access::Write => Self::Leave,
        }
    }

    /// Returns the rules' requirements for an access, without the invalidate if stale lines are left.
    #[inline]
    pub fn restrict(self, required: RequiredWork) -> RequiredWork {
        match self {
            Self::Invalidate => required,
            Self::Leave => RequiredWork { stale: None, ..required },
        }
    }
}

/// Performs the pending work that the access requires.
///
/// Drains come first, so that a line that is dropped after them is refilled with the drained stores in it.
/// Stale lines come before dirty ones: an invalidate takes the dirty marks of its lines.
///
/// # Errors
/// That of the first failing operation. Then everything that was pending still is.
#[inline]
pub fn perform_work<F: Flush>(
    flush: &mut F,
    required: &RequiredWork,
    next: Path,
    access: Access,
) -> Result<(), F::Error> {
    for (note, demand) in [(Note::WcStores, required.wc_stores), (Note::GttStores, required.gtt_stores)] {
        let Some(decision) = demand else { continue };
        if drain(flush, note)? {
            flush.report(decision, 0);
        }
    }
    if let Some(decision) = required.stale {
        let lines = flush.invalidate_stale()?;
        report_lines(flush, decision, lines);
    }
    // GPU writes may be anywhere in the object; writing back all of it includes the dirty lines. The lines stay
    // in the cache, clean, also if the access writes around it: then they are marked as stale for the CPU, and a
    // snoop that hits a clean line is served from memory (assumption A8 in docs/verification.md).
    let gpu_write = required.gpu_write.filter(|_| flush.take(Note::GpuWrite));
    if let Some(decision) = gpu_write {
        let lines = flush.write_back_all()?;
        report_lines(flush, decision, lines);
    } else if let Some(decision) = required.dirty {
        let lines = flush.flush_dirty(flush_op(next, access))?;
        report_lines(flush, decision, lines);
    }
    Ok(())
}

#[inline]
fn report_lines<F: Flush>(flush: &mut F, decision: Decision, lines: u64) {
    if lines > 0 {
        flush.report(decision, lines);
    }
}

/// Drains the stores of a note, if it is set; returns whether it was.
#[inline]
fn drain<F: Take>(flush: &mut F, note: Note) -> Result<bool, F::Error> {
    let Some(memory) = note.memory() else { return Ok(false) };
    if !flush.take(note) {
        return Ok(false);
    }
    flush.drain(memory)?;
    Ok(true)
}

/// A flush before the object's level changes.
pub trait LevelChange: Take {
    /// Marks every line dirty.
    fn mark_all_dirty(&mut self);

    /// Returns whether memory was ever written around the CPU's caches.
    fn has_uncached_writes(&self) -> bool;

    /// Moves the object to the CPU's read domain (SET_DOMAIN), which makes the kernel drop stale lines.
    ///
    /// # Errors
    /// The kernel's.
    fn enter_cpu_domain(&mut self) -> Result<(), Self::Error>;
}

/// Performs the pending work of the old level before a level change: drains stores around the cache while
/// their mappings can still be used, and marks every line dirty if the GPU may have left data in the cache.
///
/// If the level `changes` and the caches may hold lines older than memory, moves the object to the CPU
/// domain, as the uAPI requires before SET_CACHING: SET_CACHING flushes nothing, and at a level that is
/// coherent for reads the kernel drops no line before it saves pages.
///
/// # Errors
/// As [`perform_work`]; those of SET_DOMAIN.
pub fn leave_level<F: LevelChange>(flush: &mut F, changes: bool) -> Result<(), F::Error> {
    drain_stores(flush)?;
    if flush.take(Note::GpuWrite) {
        flush.mark_all_dirty();
    }
    if changes && flush.has_uncached_writes() {
        flush.enter_cpu_domain()?;
    }
    Ok(())
}

/// Drains the stores that were made around the cache.
///
/// # Errors
/// Those of a read through a mapping.
pub fn drain_stores<T: Take>(flush: &mut T) -> Result<(), T::Error> {
    drain(flush, Note::WcStores)?;
    drain(flush, Note::GttStores)?;
    Ok(())
}

/// An object to which the CPU is about to store through its cache.
pub trait Overwrite {
    /// A set of the object's lines.
    type Lines: Copy;
    /// The error of an invalidate.
    type Error;

    /// Returns whether one of `lines` is stale.
    fn is_stale(&self, lines: Self::Lines) -> bool;

    /// Invalidates the stale lines among `lines`.
    ///
    /// # Errors
    /// Those of mapping the object and of waiting for the GPU.
    fn invalidate(&mut self, lines: Self::Lines) -> Result<(), Self::Error>;

    /// Takes the stale marks of `lines`, whose memory the caller is about to overwrite, or has just invalidated.
    ///
    /// A mark that another thread makes after the invalidate may be lost: its write around the cache races
    /// with the caller's store to the same line, so memory may hold either, whatever is flushed.
    fn forget_stale(&mut self, lines: Self::Lines);
}

/// Handles stale lines right before a store through the cache: invalidates those in `parts`, which are
/// overwritten only in part; the rest of `lines` is overwritten whole and is no longer stale.
///
/// # Errors
/// As [`Overwrite::invalidate`].
#[inline]
pub fn overwrite<O: Overwrite>(
    object: &mut O,
    lines: O::Lines,
    parts: impl IntoIterator<Item = O::Lines>,
) -> Result<(), O::Error> {
    if !object.is_stale(lines) {
        return Ok(());
    }
    parts.into_iter().try_for_each(|part| object.invalidate(part))?;
    object.forget_stale(lines);
    Ok(())
}

/// The way in which stores through a cached mapping reach memory at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StoreMethod {
    /// Whole lines by non-temporal stores; lines that are overwritten in part as with `WriteBack`.
    NonTemporal,
    /// By ordinary stores and a write-back of the lines.
    WriteBack,
}

/// The time at which uploaded bytes reach memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UploadTime {
    /// At once, by [`upload`].
    Now,
    /// With the next submission: they are stored and marked as by any other store.
    AtSubmission,
}

impl UploadTime {
    /// Returns the time, given the rules' decision for a store before the GPU reads (`after_store`).
    ///
    /// If a store needs a flush, the upload makes it at once; a drain is left to the submission. On an unknown
    /// device the end of the GPU's writes is unknown, so every upload there is an ordinary store that marks its
    /// lines.
    #[inline]
    pub fn of(after_store: Decision, is_conservative: bool) -> Self {
        match after_store.verdict {
            Verdict::Flush if !is_conservative => Self::Now,
            Verdict::Flush | Verdict::NotNeeded | Verdict::Invalidate | Verdict::Drain | Verdict::Refused => {
                Self::AtSubmission
            }
        }
    }
}

/// Writes bytes to memory by `store`, which stores them non-temporally, or through the cache with a write-back.
///
/// Takes the marks first, so that concurrent stores keep theirs: a store whose mark was taken happened before
/// the take, so `store` writes it back, too; a mark that is made later stays.
///
/// # Errors
/// Those of `store`. Then the lines are dirty.
pub fn upload<F: Take>(
    flush: &mut F,
    store: impl FnOnce(&mut F) -> Result<(), F::Error>,
) -> Result<(), F::Error> {
    flush.forget_dirty();
    store(flush)
}

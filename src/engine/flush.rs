//! What is done about pending work before an access, and in which order.

use super::pending::Note;
use crate::cacheops::LineOp;
use crate::policy::driver::CpuMemory;
use crate::policy::pending::{Demands, flush_op};
use crate::policy::{Decision, Path, Verdict};
use crate::vocabulary::Access;

/// A flush of one object that is under way: takes pending work, and performs what is done about it.
///
/// What was taken is pending again if the flush fails.
pub trait Flush {
    /// What keeps it from being done.
    type Error;

    /// Takes a note; returns whether there was one.
    fn take(&mut self, note: Note) -> bool;

    /// Drains the stores that were made through mappings of this memory type.
    ///
    /// # Errors
    /// What reading through such a mapping answers.
    fn drain(&mut self, memory: CpuMemory) -> Result<(), Self::Error>;

    /// Takes the stale lines, and the dirty marks of these lines, and invalidates them; returns how many there were.
    ///
    /// # Errors
    /// What mapping the object answers.
    fn invalidate_stale(&mut self) -> Result<u64, Self::Error>;

    /// Takes the dirty lines and performs `op` on them; returns how many there were.
    ///
    /// # Errors
    /// What mapping the object answers.
    fn flush_dirty(&mut self, op: LineOp) -> Result<u64, Self::Error>;

    /// Writes every line back, and takes all dirty marks; returns how many lines there are.
    ///
    /// # Errors
    /// What mapping the object answers.
    fn write_back_all(&mut self) -> Result<u64, Self::Error>;

    /// Takes the dirty marks; the lines are about to be brought to memory.
    fn forget_dirty(&mut self);

    /// Marks every line dirty.
    fn mark_all_dirty(&mut self);

    /// Reports what was done to `lines` lines, by which decision.
    fn report(&mut self, decision: Decision, lines: u64);
}

/// What an access demands, of what the rules demand of any such access: stale lines are invalidated (`invalidate`) unless
/// the access overwrites them whole.
pub fn of_access(demands: Demands, invalidate: bool) -> Demands {
    Demands { stale: demands.stale.filter(|_| invalidate), ..demands }
}

/// Does what `next` demands of what is pending.
///
/// Drains come first, so that a line that is dropped after them is read again with the drained stores in it. Stale lines
/// come before dirty ones: an invalidate takes the dirty marks of its lines.
///
/// # Errors
/// What the first failing operation answers. Then everything that was pending still is.
pub fn carry_out<F: Flush>(
    flush: &mut F,
    demands: &Demands,
    next: Path,
    access: Access,
) -> Result<(), F::Error> {
    for (note, demand) in [(Note::WcStores, demands.wc_stores), (Note::GttStores, demands.gtt_stores)] {
        let Some(decision) = demand else { continue };
        if drain(flush, note)? {
            flush.report(decision, 0);
        }
    }
    if let Some(decision) = demands.stale {
        let lines = flush.invalidate_stale()?;
        report_lines(flush, decision, lines);
    }
    // What the GPU wrote may be anywhere in the object, so the dirty lines are among those that are written back.
    let gpu_write = demands.gpu_write.filter(|_| flush.take(Note::GpuWrite));
    if let Some(decision) = gpu_write {
        let lines = flush.write_back_all()?;
        report_lines(flush, decision, lines);
    } else if let Some(decision) = demands.dirty {
        let lines = flush.flush_dirty(flush_op(next, access))?;
        report_lines(flush, decision, lines);
    }
    Ok(())
}

fn report_lines<F: Flush>(flush: &mut F, decision: Decision, lines: u64) {
    if lines > 0 {
        flush.report(decision, lines);
    }
}

/// Drains the stores of a note, if it is there; returns whether it was.
fn drain<F: Flush>(flush: &mut F, note: Note) -> Result<bool, F::Error> {
    let Some(memory) = note.memory() else { return Ok(false) };
    if !flush.take(note) {
        return Ok(false);
    }
    flush.drain(memory)?;
    Ok(true)
}

/// A flush before the object's level changes.
pub trait LevelChange: Flush {
    /// Returns whether memory was ever written around the CPU's caches.
    fn is_written_around(&self) -> bool;

    /// Moves the object to the CPU's read domain (SET_DOMAIN), so that the kernel drops stale lines.
    ///
    /// # Errors
    /// The kernel's.
    fn enter_cpu_domain(&mut self) -> Result<(), Self::Error>;
}

/// Deals with what is pending under the rules of the level that is about to go: drains stores around the cache while
/// their mappings can still be used, and marks what the GPU left in the cache dirty.
///
/// If the level `changes` and the caches may hold lines that are older than memory, it moves the object to the CPU domain, as
/// the uAPI asks before SET_CACHING: SET_CACHING flushes nothing, and at a level that is coherent for reads the kernel drops no
/// line before it saves pages.
///
/// # Errors
/// As [`carry_out`]; SET_DOMAIN's.
pub fn leave_level<F: LevelChange>(flush: &mut F, changes: bool) -> Result<(), F::Error> {
    drain(flush, Note::WcStores)?;
    drain(flush, Note::GttStores)?;
    if flush.take(Note::GpuWrite) {
        flush.mark_all_dirty();
    }
    if changes && flush.is_written_around() {
        flush.enter_cpu_domain()?;
    }
    Ok(())
}

/// An object that the CPU is about to store to through its cache.
pub trait Overwrite {
    /// Some lines of the object.
    type Lines: Copy;
    /// What keeps lines from being invalidated.
    type Error;

    /// Returns whether one of `lines` is stale.
    fn is_stale(&self, lines: Self::Lines) -> bool;

    /// Invalidates `lines`, as far as they are stale.
    ///
    /// # Errors
    /// What mapping the object, or waiting for the GPU, answers.
    fn invalidate(&mut self, lines: Self::Lines) -> Result<(), Self::Error>;

    /// Takes the stale marks of `lines`.
    fn forget_stale(&mut self, lines: Self::Lines);
}

/// Makes stale lines right before a store through the cache: invalidates those of `parts`, which are overwritten in
/// part; the others of `lines` are overwritten whole, and are stale no longer.
///
/// # Errors
/// As [`Overwrite::invalidate`].
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

/// How bytes that the CPU stores get to memory at once, through a mapping that goes through its cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// Whole lines by non-temporal stores; lines that are overwritten in part as `Through`.
    Around,
    /// By stores, and a write-back of the lines.
    Through,
}

/// Returns whether bytes are uploaded by [`upload`], or stored and marked like any others, by what the rules
/// say of a store before the GPU reads (`after_store`).
///
/// A flush is what a store through the cache needs: it is made at once. A drain is left to the submission. On a device of
/// which only the worst is known, the end of the GPU's writes is unknown, and marks say what was stored since.
pub fn is_uploaded_at_once(after_store: Decision, is_conservative: bool) -> bool {
    after_store.verdict == Verdict::Flush && !is_conservative
}

/// Brings bytes to memory by `store`, which stores them around the cache, or through it and writes them back.
///
/// Takes the marks first: a thread that marks one of the lines after this stored to it after this, and its mark stays.
///
/// # Errors
/// `store`'s. Then the lines are dirty.
pub fn upload<F: Flush>(
    flush: &mut F,
    store: impl FnOnce(&mut F) -> Result<(), F::Error>,
) -> Result<(), F::Error> {
    flush.forget_dirty();
    store(flush)
}

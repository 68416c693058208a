//! Flushes and invalidates that are in flight, and how other threads wait for them.
//!
//! Between the moment a thread takes dirty lines from the map and the moment they are in memory, the map says
//! "clean" and memory is old. A second thread that trusted the map would hand old memory to the GPU or the
//! display. So a thread announces an in-flight flush ([`InFlightFlush`]) before it takes anything, and completes it
//! ([`complete`]) after its fence. `complete` ends the thread's own flush, and then waits for the flushes of
//! other threads that had begun by then.
//!
//! No thread waits while its own flush is open, so flushes over several objects, in any order, cannot
//! deadlock. No thread waits for a flush that began after its own ended, so none waits for ever. Flushes of
//! other lines of the same object are waited for, too: one of them may have taken a note of stores, which
//! concerns the whole object.

use std::borrow::BorrowMut;

use super::board::{Open, Wait};
use super::tracked::Tracked;
use crate::error::Result;
use crate::sync::Ordering;
use crate::tracking::State;
use crate::tracking::lines::{LineMap, Marks, by_runs};
use crate::units::{LineRange, PageLines};

/// The work that an in-flight flush took, and marks again if it fails.
#[derive(Clone, Copy, Debug, Default)]
struct TakenWork {
    dirty: bool,
    stale: bool,
    gpu_write: bool,
    wc_stores: bool,
    gtt_stores: bool,
}

/// The result of taking pending work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum WasPending {
    /// Pending work was taken; the caller must flush or drain it.
    Yes,
    /// No work was pending, or another thread took it; [`complete`] waits for that thread.
    No,
}

impl WasPending {
    #[inline]
    fn new(pending: bool) -> Self {
        if pending { Self::Yes } else { Self::No }
    }
}

/// An in-flight flush or invalidate of one object.
///
/// Other threads that need the same memory wait until it completes ([`complete`]). If it is dropped before, it
/// has failed: what it took is marked and noted again, for its whole range, so that no line is lost.
#[derive(Debug)]
#[must_use = "pass it to `complete`; a flush that is dropped has failed"]
pub struct InFlightFlush<'a> {
    object: &'a Tracked,
    range: LineRange,
    open: Open,
    returns: u64,
    took: TakenWork,
    completed: bool,
    /// Some of the work that it took is pending again, because the GPU was still writing.
    kept: bool,
}

impl<'a> InFlightFlush<'a> {
    /// Begins a flush or invalidate of lines in `range`, which lies within the object.
    #[inline]
    pub(super) fn begin(object: &'a Tracked, range: LineRange) -> Self {
        let open = object.in_flight.begin();
        let returns = object.in_flight.returns();
        Self { object, range, open, returns, took: TakenWork::default(), completed: false, kept: false }
    }

    /// Returns the object.
    pub fn object(&self) -> &'a Tracked {
        self.object
    }

    /// Returns the lines that are flushed or invalidated.
    pub fn range(&self) -> LineRange {
        self.range
    }

    /// Takes the dirty lines of the range, by runs: [`LineMap::take`].
    pub fn take_dirty(&mut self, marks: Marks, visit: impl FnMut(LineRange)) -> u64 {
        by_runs(visit, |visit| self.take_dirty_pages(marks, visit))
    }

    /// Takes the dirty lines of the range, by pages: [`LineMap::take_pages`].
    pub fn take_dirty_pages(&mut self, marks: Marks, visit: impl FnMut(PageLines)) -> u64 {
        self.took.dirty = true;
        self.object.dirty.take_pages(marks, self.range, visit)
    }

    /// Returns an iterator that takes the dirty lines, page by page and without locked instructions: if the flush is of
    /// the whole object, and all its marks are the caller's own. Not all lines may be taken if it is dropped early.
    #[inline]
    pub fn take_own_pages(&mut self, marks: Marks) -> Option<impl Iterator<Item = PageLines> + use<'a>> {
        let pages = self.object.dirty.take_own(marks, self.range)?;
        self.took.dirty = true;
        Some(pages)
    }

    /// Takes the stale lines of the range, to be invalidated: [`LineMap::take`].
    ///
    /// Takes their dirty marks, too, because an invalidate writes a dirty line back before it drops it. If
    /// the GPU was told to write and its writes were not waited for, the lines stay marked: those writes make
    /// them stale, or dirty, again.
    pub fn take_stale(&mut self, mut visit: impl FnMut(LineRange)) -> u64 {
        let Tracked { stale, dirty, gpu_writes, invalidates, .. } = self.object;
        if !self.took.stale {
            // Relaxed: the takes that follow release it.
            invalidates.fetch_add(1, Ordering::Relaxed);
        }
        (self.took.stale, self.took.dirty) = (true, true);
        let mut kept = false;
        // Checked after the take: the write of a taken mark is then visible.
        let mut keep_if_pending = |map: &LineMap, run| {
            if !gpu_writes.are_over() {
                kept = true;
                let _ = map.mark(run);
            }
        };
        let lines = stale.take_in_flight(self.range, |run| {
            keep_if_pending(stale, run);
            by_runs(
                |run| keep_if_pending(dirty.shared(), run),
                |visit| dirty.take_pages(Marks::Shared, run, visit),
            );
            visit(run);
        });
        self.kept |= kept;
        lines
    }

    /// Marks every line of the object dirty again, because lines that this flush took may have been marked for
    /// a write of the GPU that is not over.
    pub fn keep_all_dirty(&mut self) {
        self.kept = true;
        self.object.dirty.mark_all();
    }

    /// Takes the note that the GPU wrote into the LLC, which requires a flush of the whole object. If the GPU
    /// was told to write and its writes were not waited for, the note stays, too.
    #[inline]
    pub fn take_gpu_write(&mut self) -> WasPending {
        let Tracked { word, gpu_writes, .. } = self.object;
        let pending = word.take(State::has_gpu_write, State::take_gpu_write);
        // After the take, as in `take_stale`.
        if pending && !gpu_writes.are_over() {
            self.kept = true;
            word.update(State::note_gpu_write);
        }
        self.took.gpu_write |= pending;
        WasPending::new(pending)
    }

    /// Takes the note of write-combining stores, which must be drained.
    #[inline]
    pub fn take_wc_stores(&mut self) -> WasPending {
        let Tracked { word, dirty, .. } = self.object;
        let pending = word.take(State::has_wc_stores, State::take_wc_stores);
        // A stream notes its stores late.
        if pending && dirty.has_stream() {
            word.update(State::note_wc_store);
        }
        self.took.wc_stores |= pending;
        WasPending::new(pending)
    }

    /// Takes the note of stores through the aperture, which must be drained.
    #[inline]
    pub fn take_gtt_stores(&mut self) -> WasPending {
        let Tracked { word, dirty, .. } = self.object;
        let pending = word.take(State::has_gtt_stores, State::take_gtt_stores);
        // As in `take_wc_stores`.
        if pending && dirty.has_stream() {
            word.update(State::note_gtt_store);
        }
        self.took.gtt_stores |= pending;
        WasPending::new(pending)
    }

    /// Returns the sweep of the summaries of the maps that it took from, if it took all marks.
    #[inline]
    fn sweep(&self) -> Option<impl FnOnce() + use<'a>> {
        let Tracked { dirty, stale, .. } = self.object;
        let maps = [(dirty.shared(), self.took.dirty), (stale, self.took.stale)];
        let maps = maps.map(|(map, taken)| (map, taken && map.can_be_swept()));
        let sweeps = self.range == dirty.all() && maps.iter().any(|(_, sweeps)| *sweeps);
        sweeps.then_some(move || maps.iter().filter(|(_, sweeps)| *sweeps).for_each(|(map, _)| map.sweep()))
    }

    /// Stops counting the flush as an invalidate, after its lines were invalidated or marked again.
    #[inline]
    fn end_invalidate(&self) {
        if self.took.stale {
            // Release pairs with the Acquire of `Tracked::may_be_stale`.
            self.object.invalidates.fetch_sub(1, Ordering::Release);
        }
    }

    /// Ends the flush; returns the result, or what is left to wait for.
    #[inline]
    fn end(&mut self) -> Ended<'a> {
        self.completed = true;
        self.end_invalidate();
        let Self { object, open, .. } = *self;
        if self.kept {
            // A thread that looked between the take and the mark must look again. This thread need not: it
            // has waited for the writes that it had to wait for.
            object.in_flight.count_return();
            self.returns += 1;
        }
        let rest = Rest { object, returns: self.returns };
        match object.in_flight.end(open, self.sweep()) {
            // Everything taken before this flush began is in memory or was marked again.
            None => Ended::Known(rest.completion()),
            Some(wait) => Ended::Open(rest, wait),
        }
    }
}

impl Tracked {
    /// Begins an in-flight flush or invalidate of lines in `range`.
    ///
    /// # Errors
    /// [`crate::Error::RangeOutOfBounds`] if `range` exceeds the object.
    #[inline]
    pub fn begin_flush(&self, range: LineRange) -> Result<InFlightFlush<'_>> {
        self.stale.check(range)?;
        Ok(InFlightFlush::begin(self, range))
    }
}

impl Drop for InFlightFlush<'_> {
    fn drop(&mut self) {
        if self.completed {
            return;
        }
        // Mark again before ending: threads that wait for this flush must find the lines when they check
        // again. The range was checked when the flush began.
        let Tracked { word, dirty, stale, in_flight, gpu_writes: _, invalidates: _ } = self.object;
        if self.took.dirty {
            let _ = dirty.mark(self.range);
        }
        if self.took.stale {
            let _ = stale.mark(self.range);
        }
        self.end_invalidate();
        if self.took.gpu_write {
            word.update(State::note_gpu_write);
        }
        if self.took.wc_stores {
            word.update(State::note_wc_store);
        }
        if self.took.gtt_stores {
            word.update(State::note_gtt_store);
        }
        in_flight.count_return();
        in_flight.fail(self.open);
    }
}

/// The end of an in-flight flush.
enum Ended<'a> {
    /// No other flush was open.
    Known(Completion),
    /// Others were open.
    Open(Rest<'a>, Wait),
}

/// What is left of a flush that has ended.
struct Rest<'a> {
    object: &'a Tracked,
    returns: u64,
}

impl Rest<'_> {
    fn wait(self, wait: Wait) -> Completion {
        self.object.in_flight.wait(wait);
        self.completion()
    }

    /// Returns the result, once no flush is left to wait for.
    fn completion(&self) -> Completion {
        if self.object.in_flight.returns() == self.returns { Completion::InMemory } else { Completion::Again }
    }
}

/// The result of completing in-flight flushes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum Completion {
    /// Everything that was dirty, stale or noted when they began is done.
    InMemory,
    /// Another thread's flush failed meanwhile, or the GPU was still writing: what that flush took is marked
    /// again. Start over.
    Again,
}

/// Completes `in_flight`, after their trailing fence, and waits for other threads' flushes that may have taken
/// lines which these did not find.
///
/// One call must complete all in-flight flushes of the calling thread: a thread that waits while it keeps one
/// open can deadlock.
#[inline]
pub fn complete<'a, F: BorrowMut<InFlightFlush<'a>>>(in_flight: impl IntoIterator<Item = F>) -> Completion {
    let mut completion = Completion::InMemory;
    let mut note = |one| match one {
        Completion::InMemory => {}
        Completion::Again => completion = Completion::Again,
    };
    let mut waits = Vec::new();
    for mut in_flight in in_flight {
        match in_flight.borrow_mut().end() {
            Ended::Known(one) => note(one),
            Ended::Open(rest, wait) => waits.push((rest, wait)),
        }
    }
    waits.into_iter().map(|(rest, wait)| rest.wait(wait)).for_each(note);
    completion
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::vocabulary::CacheLevel;

    #[test]
    fn only_an_invalidate_counts_as_one_and_until_it_ends() {
        let tracked = Tracked::new(4096, CacheLevel::None).unwrap();
        let all = tracked.dirty().all();
        let mut flush = tracked.begin_flush(all).unwrap();
        flush.take_dirty(Marks::Shared, |_| {});
        assert_eq!(complete([flush]), Completion::InMemory);
        assert!(!tracked.may_be_stale(all), "a flush of dirty lines invalidates none");
        tracked.stale().mark(all).unwrap();
        let mut flush = tracked.begin_flush(all).unwrap();
        assert_eq!(flush.take_stale(|_| {}), 64);
        assert_eq!(flush.take_stale(|_| {}), 0);
        assert!(tracked.may_be_stale(all), "no line is invalidated yet");
        assert_eq!(complete([flush]), Completion::InMemory);
        assert!(!tracked.may_be_stale(all));
    }
}

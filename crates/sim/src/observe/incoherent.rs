//! The log of accesses that miss another agent's newer bytes, or destroy them.
//!
//! It is computed from the simulated hardware alone: the effect of an access on a line, and the bytes in the cache and in
//! memory. An access whose bytes are the same in both is not logged. Reads of the GPU's own writes before their flush, and
//! of undrained stores, are told by the GPU.

use std::ops::Range;
use std::sync::MutexGuard;
use std::sync::atomic::{AtomicBool, Ordering};

use super::history::{Accessed, History};
use crate::memory::backing_store::BackingStore;
use crate::memory::lines::Run;
use crate::memory::observer::{About, Observed, Observer, RunAccess};
use gem_coherency::error::Result;
use gem_coherency::sync::Mutex;
use gem_coherency::units::{ByteRange, LINE_BYTES, LineRange};
use gem_coherency::vocabulary::{CacheLevel, Handle, MocsClass};
use gem_coherency_memory_model::{Line, Mistake, Place, Route, Transfer};

/// Number of ranges of lines that each list keeps; later ones are dropped.
const KEPT: usize = 1 << 16;

/// An incoherent access, or several consecutive ones of the same kind on the same route.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Incoherent {
    /// The object's number on the device, in order of creation, from 1 or as
    /// [`SimDevice::number_objects_from`](crate::SimDevice::number_objects_from) said.
    pub object: u64,
    /// The object's first handle; `None` without one.
    pub handle: Option<Handle>,
    /// The object's size in bytes.
    pub size: u64,
    /// The object's level at the time of the access; [`CacheLevel::None`] for the CPU's through a mapping of the
    /// file behind the object (GEM_MMAP, a dma-buf).
    pub level: CacheLevel,
    /// The mistake.
    pub kind: Mistake,
    /// The route of the access.
    pub route: Route,
    /// The accessed lines whose bytes differ, in the order of the accesses.
    pub lines: Vec<LineRange>,
}

/// An object of a submission that had dirty lines when its batch began to run, on a route by which the GPU does
/// not see them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DirtyAtSubmission {
    /// The submission's number on the device, from 1.
    pub submission: u64,
    /// As [`Incoherent::object`].
    pub object: u64,
    /// As [`Incoherent::handle`].
    pub handle: Option<Handle>,
    /// As [`Incoherent::size`].
    pub size: u64,
    /// The object's level.
    pub level: CacheLevel,
    /// The dirty lines whose bytes differ from memory's.
    pub lines: Vec<LineRange>,
}

/// Lines that became stale: an agent wrote other bytes to memory, where the CPU's cache has clean lines of them. A CPU
/// load of such a line misses what was written, until the line is invalidated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MadeStale {
    /// As [`Incoherent::object`].
    pub object: u64,
    /// As [`Incoherent::handle`].
    pub handle: Option<Handle>,
    /// As [`Incoherent::size`].
    pub size: u64,
    /// The object's level.
    pub level: CacheLevel,
    /// The route of the write.
    pub route: Route,
    /// The lines.
    pub lines: Vec<LineRange>,
}

/// The log of a device that is watched, and the object that is accessed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Watch<'a> {
    log: &'a IncoherentLog,
    about: About,
    /// Offset in the object of the backing store's first byte; it wraps around below 0.
    first: u64,
}

/// The incoherent accesses of a device.
#[derive(Debug, Default)]
pub(crate) struct IncoherentLog {
    on: AtomicBool,
    found: Mutex<Found>,
    /// The history of the objects.
    pub(crate) history: History,
}

#[derive(Debug, Default)]
struct Found {
    accesses: List<Incoherent>,
    submissions: List<DirtyAtSubmission>,
    stale: List<MadeStale>,
}

/// Entries with lines.
#[derive(Debug)]
struct List<T> {
    entries: Vec<T>,
    /// Number of ranges in all entries.
    ranges: usize,
    /// Number of ranges for which there was no room.
    dropped: u64,
}

impl<T> Default for List<T> {
    fn default() -> Self {
        Self { entries: Vec::new(), ranges: 0, dropped: 0 }
    }
}

impl<T> List<T> {
    /// Adds the range `lines` to the last entry if `same` accepts it, and otherwise in the entry that `make` creates.
    fn add(
        &mut self,
        lines: LineRange,
        same: impl FnOnce(&T) -> bool,
        ranges: impl FnOnce(&mut T) -> &mut Vec<LineRange>,
        make: impl FnOnce(Vec<LineRange>) -> T,
    ) {
        let mut last = self.entries.last_mut().filter(|last| same(last)).map(ranges);
        if let Some(range) = last.as_mut().and_then(|ranges| ranges.last_mut())
            && (range.first()..=range.end()).contains(&lines.first())
        {
            *range = LineRange::new(range.first(), range.end().max(lines.end()));
            return;
        }
        if self.ranges == KEPT {
            self.dropped += 1;
            return;
        }
        self.ranges += 1;
        match last {
            Some(ranges) => ranges.push(lines),
            None => self.entries.push(make(vec![lines])),
        }
    }

    /// Returns and clears the entries.
    fn take(&mut self) -> Vec<T> {
        self.ranges = 0;
        std::mem::take(&mut self.entries)
    }
}

impl IncoherentLog {
    /// Switches the log on or off.
    pub(crate) fn switch(&self, on: bool) {
        // Relaxed: a setting; it publishes no other data.
        self.on.store(on, Ordering::Relaxed);
    }

    /// Returns whether the device is watched.
    pub(crate) fn is_on(&self) -> bool {
        // Relaxed: see `switch`.
        self.on.load(Ordering::Relaxed)
    }

    /// Returns the log for accesses to the object that `about` describes, if the device is watched.
    pub(crate) fn watch(&self, about: impl FnOnce() -> About) -> Option<Watch<'_>> {
        self.is_on().then(|| Watch { log: self, about: about(), first: 0 })
    }

    /// Returns and clears the accesses.
    pub(crate) fn take_accesses(&self) -> Vec<Incoherent> {
        self.found().accesses.take()
    }

    /// Returns and clears the dirty objects of submissions.
    pub(crate) fn take_submissions(&self) -> Vec<DirtyAtSubmission> {
        self.found().submissions.take()
    }

    /// Returns and clears the lines that became stale.
    pub(crate) fn take_stale(&self) -> Vec<MadeStale> {
        self.found().stale.take()
    }

    /// Returns and clears the number of ranges of lines for which there was no room.
    pub(crate) fn take_dropped(&self) -> u64 {
        let Found { accesses, submissions, stale } = &mut *self.found();
        [&mut accesses.dropped, &mut submissions.dropped, &mut stale.dropped]
            .into_iter()
            .map(std::mem::take)
            .sum()
    }

    fn found(&self) -> MutexGuard<'_, Found> {
        self.found.lock()
    }
}

impl<'a> Watch<'a> {
    fn new(log: &'a IncoherentLog, observed: &Observed<'_>) -> Self {
        Self { log, about: observed.about, first: observed.first }
    }

    /// Returns the log as the observer of accesses to a backing store.
    pub(crate) fn observed(self) -> Observed<'a> {
        Observed { observer: self.log, about: self.about, first: self.first, foreign: false }
    }

    fn access(self, level: CacheLevel, kind: Mistake, route: Route, lines: LineRange) {
        let About { object, handle, size } = self.about;
        tracing::debug!(?kind, ?route, object, first = lines.first(), end = lines.end(), "incoherent");
        self.log.found().accesses.add(
            lines,
            |last| (last.object, last.level, last.kind, last.route) == (object, level, kind, route),
            |last| &mut last.lines,
            |lines| Incoherent { object, handle, size, level, kind, route, lines },
        );
    }

    /// Logs dirty lines of a surface.
    pub(crate) fn surface(self, level: CacheLevel, route: Route, lines: LineRange) {
        self.access(level, Mistake::DirtySurface, route, lines);
    }

    /// Logs lines with writes of the GPU that were read before they were flushed.
    pub(crate) fn posted(self, level: CacheLevel, lines: LineRange) {
        self.access(level, Mistake::UnflushedGpuWrite, Route::Gpu(MocsClass::PageTable), lines);
    }

    /// Logs lines with stores of a program that were read before they were drained.
    pub(crate) fn undrained(self, level: CacheLevel, lines: LineRange) {
        self.access(level, Mistake::UndrainedStore, Route::Gpu(MocsClass::PageTable), lines);
    }

    /// Logs dirty lines that were shown.
    pub(crate) fn on_screen(self, level: CacheLevel, lines: LineRange) {
        self.access(level, Mistake::DirtyOnScreen, Route::Display, lines);
    }

    fn stale(self, level: CacheLevel, route: Route, lines: LineRange) {
        let About { object, handle, size } = self.about;
        self.log.found().stale.add(
            lines,
            |last| (last.object, last.level, last.route) == (object, level, route),
            |last| &mut last.lines,
            |lines| MadeStale { object, handle, size, level, route, lines },
        );
    }

    fn submission(self, submission: u64, level: CacheLevel, lines: LineRange) {
        let About { object, handle, size } = self.about;
        self.log.found().submissions.add(
            lines,
            |last| (last.submission, last.object) == (submission, object),
            |last| &mut last.lines,
            |lines| DirtyAtSubmission { submission, object, handle, size, level, lines },
        );
    }
}

impl Observer for IncoherentLog {
    fn access(
        &self,
        observed: Observed<'_>,
        backing: &BackingStore,
        level: CacheLevel,
        access: RunAccess<'_>,
    ) -> Result<()> {
        backing.watch(Watch::new(self, &observed), level, access)
    }
}

impl BackingStore {
    /// Logs an access to lines in one state, if the bytes in the cache and in memory differ.
    fn watch(&self, watch: Watch<'_>, level: CacheLevel, access: RunAccess<'_>) -> Result<()> {
        let RunAccess { route, effect, run, part, new } = access;
        let About { object, size, .. } = watch.about;
        watch.log.history.access(self, Accessed { object, size, first: watch.first, access })?;
        if let Some(new) = new
            && (effect.at, run.line, effect.next) == (Place::Memory, Line::Clean, Line::Clean)
        {
            return self.watch_stale(watch, level, route, run, part, new);
        }
        let kind = match (effect.at, run.line) {
            (Place::Memory, Line::Dirty) if new.is_some() => Mistake::LostWrite,
            (Place::Memory, Line::Dirty) => Mistake::StaleRead,
            (Place::Cache, Line::Clean) if new.is_none() => Mistake::StaleCpuRead,
            (Place::Memory, Line::Clean | Line::Absent) | (Place::Cache, _) => return Ok(()),
        };
        if effect.before != Transfer::Nothing {
            return Ok(());
        }
        let in_cache = self.peek(Place::Cache, run)?;
        let in_memory = self.peek(Place::Memory, run)?;
        for line in run.of_object().indices() {
            let whole = line * LINE_BYTES..(line + 1) * LINE_BYTES;
            let piece = whole.start.max(part.start)..whole.end.min(part.end);
            let differ = match new {
                None => slice(&in_cache, run.offset(), &piece) != slice(&in_memory, run.offset(), &piece),
                // The line is dirty, whatever bytes memory has: its write-back brings those of the cache.
                Some(new) => slice(&in_cache, run.offset(), &piece) != slice(new, part.start, &piece),
            };
            if differ {
                let line = whole.start.wrapping_add(watch.first) / LINE_BYTES;
                watch.access(level, kind, route, LineRange::new(line, line + 1));
            }
        }
        Ok(())
    }

    /// Logs the clean lines of a run that a mapping shows, if the bytes `part` of memory become others.
    fn watch_stale(
        &self,
        watch: Watch<'_>,
        level: CacheLevel,
        route: Route,
        run: Run,
        part: &Range<u64>,
        new: &[u8],
    ) -> Result<()> {
        if !self.shared.as_ref().is_some_and(|shared| shared.shows_cache) {
            return Ok(());
        }
        let in_cache = self.peek(Place::Cache, run)?;
        for line in run.of_object().indices() {
            let piece = (line * LINE_BYTES).max(part.start)..((line + 1) * LINE_BYTES).min(part.end);
            if slice(&in_cache, run.offset(), &piece) != slice(new, part.start, &piece) {
                let line = (line * LINE_BYTES).wrapping_add(watch.first) / LINE_BYTES;
                watch.stale(level, route, LineRange::new(line, line + 1));
            }
        }
        Ok(())
    }

    /// Logs the dirty lines whose bytes differ from memory's, for the submission with this number.
    pub(crate) fn watch_submission(
        &mut self,
        watch: Watch<'_>,
        level: CacheLevel,
        submission: u64,
    ) -> Result<()> {
        let all = ByteRange::within(0, self.size, self.size)?;
        self.each_newer_line(all, |lines| watch.submission(submission, level, lines))
    }
}

/// Returns the bytes of `range` of those that start at `first`.
pub(crate) fn slice<'a>(bytes: &'a [u8], first: u64, range: &Range<u64>) -> &'a [u8] {
    let at = |offset: u64| offset.saturating_sub(first) as usize;
    bytes.get(at(range.start)..at(range.end)).unwrap_or_default()
}

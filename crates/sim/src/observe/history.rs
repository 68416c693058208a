//! The history of objects' lines: what requests and agents did to them, and which lines were dirty or stale before that.
//!
//! It is recorded while [`SimDevice::record`](crate::SimDevice::record) is on, at the place where the effect of an access on a line is
//! known. Stores of programs in other processes are not seen when they happen: they show as dirty lines before the next event
//! of the object.

use std::sync::MutexGuard;
use std::sync::atomic::{AtomicBool, Ordering};

use super::incoherent::slice;
use crate::memory::backing_store::BackingStore;
use crate::memory::lines::{Lines, Run};
use crate::memory::observer::RunAccess;
use gem_coherency::error::Result;
use gem_coherency::policy::kernel::Event;
use gem_coherency::sync::Mutex;
use gem_coherency::units::{LINE_BYTES, LineRange};
use gem_coherency::vocabulary::Access;
use gem_coherency_memory_model::{Line, Place, Route, Transfer};

/// Largest object that has a history, in bytes: all of its lines are compared at each event.
const MOST_BYTES: u64 = 16 << 20;
/// Number of events that are kept until they are taken; later ones are dropped.
const MOST_EVENTS: usize = 1 << 14;
/// Number of ranges of lines in one list of an event; later ones are dropped.
const MOST_RANGES: usize = 1 << 12;

/// Something that happened to an object's lines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recorded {
    /// The object's number on the device.
    pub object: u64,
    /// What happened.
    pub event: RecordedEvent,
}

/// An event of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RecordedEvent {
    /// The states of the lines, as they were before the next event.
    Lines(LineStates),
    /// A request changed the object's state.
    Request {
        /// Its name in the uAPI header, or another cause.
        call: &'static str,
        /// The kernel's event.
        event: Event,
        /// The kernel flushed every line for it.
        flushes: bool,
    },
    /// The kernel flushed lines for a copy.
    Flush {
        /// The request's name in the uAPI header.
        call: &'static str,
        /// The lines.
        lines: LineRange,
    },
    /// Accesses on one route.
    Access {
        /// The route.
        route: Route,
        /// Whether they were reads or writes.
        access: Access,
        /// The lines, and what became of them.
        lines: AccessedLines,
    },
}

/// Lines that are not clean.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LineStates {
    /// The cache has newer bytes than memory.
    pub dirty: Vec<LineRange>,
    /// The lines are clean, and memory has newer bytes.
    pub stale: Vec<LineRange>,
}

/// Lines that were accessed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AccessedLines {
    /// All of them.
    pub all: Vec<LineRange>,
    /// Those that the access wrote back before.
    pub written_back: Vec<LineRange>,
    /// Those that are dirty after it.
    pub dirtied: Vec<LineRange>,
    /// Those for which memory has newer bytes than the cache after it.
    pub outdated: Vec<LineRange>,
}

/// The events of a device since they were taken.
#[derive(Debug, Default)]
pub(crate) struct History {
    on: AtomicBool,
    events: Mutex<Vec<Recorded>>,
}

/// An access to lines in one state.
#[derive(Clone, Copy)]
pub(super) struct Accessed<'a> {
    pub(crate) object: u64,
    /// Size of the object in bytes.
    pub(crate) size: u64,
    /// Offset in the object of the backing store's first byte.
    pub(crate) first: u64,
    pub(crate) access: RunAccess<'a>,
}

impl History {
    /// Switches the recording on or off.
    pub(crate) fn switch(&self, on: bool) {
        // Relaxed: a setting; it publishes no other data.
        self.on.store(on, Ordering::Relaxed);
    }

    /// Returns and clears the events.
    pub(crate) fn take(&self) -> Vec<Recorded> {
        std::mem::take(&mut self.events())
    }

    /// Records an access to a backing store, which has not happened yet.
    pub(super) fn access(&self, backing: &BackingStore, accessed: Accessed<'_>) -> Result<()> {
        let Accessed { object, access: RunAccess { route, effect, run, part, new }, .. } = accessed;
        if !self.records(accessed.size) {
            return Ok(());
        }
        let access = if new.is_some() { Access::Write } else { Access::Read };
        let line_of = |offset: u64| offset.wrapping_add(accessed.first) / LINE_BYTES;
        let lines = LineRange::new(line_of(part.start), line_of(part.end.saturating_sub(1)) + 1);
        let known = self.events().iter().any(|known| continues(known, object, route, access));
        // Only a whole object's backing store has all of its lines.
        if !known && accessed.first == 0 && backing.size() == accessed.size {
            let states = backing.states()?;
            self.push(object, RecordedEvent::Lines(states));
        }
        let writes_memory = effect.at == Place::Memory && effect.next == Line::Clean;
        let outdated = match new {
            Some(new) if writes_memory => {
                slice(&backing.peek(Place::Cache, run)?, run.offset(), part) != slice(new, part.start, part)
            }
            Some(_) | None => false,
        };
        let mut events = self.events();
        let at = events.iter().rposition(|known| continues(known, object, route, access));
        let at = match at {
            Some(at) => at,
            None if events.len() < MOST_EVENTS => {
                let lines = AccessedLines::default();
                events.push(Recorded { object, event: RecordedEvent::Access { route, access, lines } });
                events.len() - 1
            }
            None => return Ok(()),
        };
        if let Some(Recorded { event: RecordedEvent::Access { lines: known, .. }, .. }) = events.get_mut(at) {
            add(&mut known.all, lines);
            let written_back = effect.before == Transfer::WriteBack && run.line == Line::Dirty;
            written_back.then(|| add(&mut known.written_back, lines));
            (new.is_some() && effect.next == Line::Dirty).then(|| add(&mut known.dirtied, lines));
            outdated.then(|| add(&mut known.outdated, lines));
        }
        Ok(())
    }

    /// Returns whether objects of a size are recorded.
    pub(crate) fn records(&self, size: u64) -> bool {
        // Relaxed: see `switch`.
        self.on.load(Ordering::Relaxed) && size <= MOST_BYTES
    }

    /// Adds an event, if there is room.
    pub(crate) fn push(&self, object: u64, event: RecordedEvent) {
        let mut events = self.events();
        if events.len() < MOST_EVENTS {
            events.push(Recorded { object, event });
        }
    }

    fn events(&self) -> MutexGuard<'_, Vec<Recorded>> {
        self.events.lock()
    }
}

/// Returns whether an event is of accesses that one to an object on a route belongs to.
fn continues(known: &Recorded, object: u64, route: Route, access: Access) -> bool {
    let RecordedEvent::Access { route: other, access: kind, .. } = known.event else { return false };
    (known.object, other, kind) == (object, route, access)
}

/// Adds lines to the last range if they continue it.
fn add(ranges: &mut Vec<LineRange>, lines: LineRange) {
    if let Some(last) = ranges.last_mut()
        && (last.first()..=last.end()).contains(&lines.first())
    {
        *last = LineRange::new(last.first(), last.end().max(lines.end()));
    } else if ranges.len() < MOST_RANGES {
        ranges.push(lines);
    }
}

impl BackingStore {
    /// Returns the lines that are dirty, and the clean ones for which memory has newer bytes.
    pub(crate) fn states(&self) -> Result<LineStates> {
        let mut states = LineStates::default();
        let mut left = self.lines.all();
        while let Some(part) = self.next_written(left)? {
            let mut lines = part;
            while let Some(run) = self.lines.run(lines) {
                self.add_states(&mut states, run)?;
                lines = Lines::after(lines, run);
            }
            left = LineRange::new(part.end(), left.end());
        }
        Ok(states)
    }

    fn add_states(&self, states: &mut LineStates, run: Run) -> Result<()> {
        let in_cache = self.peek(Place::Cache, run)?;
        let in_memory = self.peek(Place::Memory, run)?;
        let filled = self.peek_filled(run)?;
        for line in run.of_object().indices() {
            let whole = line * LINE_BYTES..(line + 1) * LINE_BYTES;
            let of = |bytes| slice(bytes, run.offset(), &whole);
            let (state, before) = match &filled {
                Some(filled) => (self.shared_line(run.line, of(&in_cache) != of(filled)), filled),
                None => (run.line, &in_cache),
            };
            let list = match state {
                Line::Dirty if of(&in_cache) != of(&in_memory) => &mut states.dirty,
                Line::Clean if of(before) != of(&in_memory) => &mut states.stale,
                Line::Dirty | Line::Clean | Line::Absent => continue,
            };
            add(list, LineRange::new(line, line + 1));
        }
        Ok(())
    }

    /// Returns the bytes that a run's lines were filled with; `None` if the bytes are not shared.
    fn peek_filled(&self, run: Run) -> Result<Option<Vec<u8>>> {
        let Some(shared) = &self.shared else { return Ok(None) };
        let mut bytes = vec![0; run.bytes() as usize];
        shared.filled.copy_out(run.offset(), &mut bytes)?;
        Ok(Some(bytes))
    }

    /// Returns the state of a line of shared bytes, as [`Self::run`] finds it: `line` is what the device knows, and
    /// `changed` that the cached bytes are not those that the line was filled with.
    fn shared_line(&self, line: Line, changed: bool) -> Line {
        match &self.shared {
            Some(shared) if changed && (shared.write_back || line == Line::Dirty) => Line::Dirty,
            // A store around the cache, which the next access sends to memory.
            Some(shared) => shared.clean(line),
            None => line,
        }
    }
}

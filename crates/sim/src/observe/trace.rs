//! The trace of a device: what a program and the device did with objects, whatever the platform makes of it.
//!
//! A device that is traced for several platforms is coherent: every agent sees every byte at once, so that no mistake changes what
//! the program does next. A reader of the trace can tell which accesses are mistakes, on any platform. One that is traced for
//! its own platform does what that does.
//!
//! Stores of programs in other processes are found by their bytes ([`BackingStore::observe`]): before an access to the same lines, before
//! an event of the object, and at a flush, which tells the bytes that it found. On a coherent device they are compared with those
//! that were last seen, and on another one with those that the lines were filled with. Of a store of the bytes that are there the
//! program tells, as far as it sees it.

use std::sync::atomic::{AtomicBool, Ordering};

use super::asked::{AskedOfXe, AskedRequest};
use super::trace_event::{FlushKind, FoundLine, Instruction, TraceEvent, Traced};
use crate::memory::backing_store::{AccessContext, BackingStore};
use crate::memory::observer::{About, Observed, Observer};
use gem_coherency::backend::mapping::SharedBytes;
use gem_coherency::error::Result;
use gem_coherency::platform::Call;
use gem_coherency::sync::Mutex;
use gem_coherency::units::{ByteRange, LINE_BYTES, LineRange, PAGE_LINES};
use gem_coherency::vocabulary::{Access, Handle};
use gem_coherency::xe::Refusal;
use gem_coherency_memory_model::{Line, Place, Route, Transfer, effect};

/// Number of events that a trace keeps; later ones are dropped.
const KEPT: usize = 1 << 20;

/// Number of requests of xe that are kept.
const MOST_ASKED: usize = 1 << 12;

const LINE: usize = LINE_BYTES as usize;

/// The trace of a device.
#[derive(Debug, Default)]
pub(crate) struct Trace {
    on: AtomicBool,
    coherent: AtomicBool,
    kept: Mutex<Kept>,
    /// The calls that some platforms refuse, in the order of their first.
    calls: Mutex<Vec<Call>>,
    /// The requests of xe.
    asked: Mutex<Asked>,
}

#[derive(Debug, Default)]
struct Asked {
    count: u64,
    kept: Vec<AskedOfXe>,
}

#[derive(Debug, Default)]
struct Kept {
    traced: Vec<Traced>,
    dropped: u64,
}

impl Trace {
    /// Switches the trace on, with `coherent` for several platforms.
    pub(crate) fn start(&self, coherent: bool) {
        // Relaxed: settings, made before the device has objects.
        self.on.store(true, Ordering::Relaxed);
        self.coherent.store(coherent, Ordering::Relaxed);
    }

    /// Returns whether the device is traced for several platforms, and so coherent.
    pub(crate) fn is_coherent(&self) -> bool {
        // Relaxed: see `start`.
        self.coherent.load(Ordering::Relaxed)
    }

    /// Returns whether the device is traced.
    pub(crate) fn is_on(&self) -> bool {
        // Relaxed: see `start`.
        self.on.load(Ordering::Relaxed)
    }

    /// Returns the trace of an object; `None` if the device is not traced.
    pub(crate) fn of(&self, object: u64, handle: Option<Handle>) -> Option<Tracing<'_>> {
        self.is_on().then_some(Tracing { trace: self, object, handle, foreign: false })
    }

    /// Adds an event; lines that follow those of the last one extend it.
    pub(crate) fn add(&self, object: u64, event: TraceEvent) {
        if !self.is_on() {
            return;
        }
        let mut kept = self.kept.lock();
        if let Some(last) = kept.traced.last_mut().filter(|last| last.object == object)
            && let Some(longer) = extended(last.event, event)
        {
            last.event = longer;
        } else if kept.traced.len() == KEPT {
            kept.dropped += 1;
        } else {
            kept.traced.push(Traced { object, event });
        }
    }

    /// Adds a call that the device accepts and some platforms refuse.
    pub(crate) fn add_call(&self, call: Call) {
        if self.is_on() {
            let mut calls = self.calls.lock();
            if !calls.contains(&call) {
                calls.push(call);
            }
        }
    }

    /// Adds a request of xe, if other platforms are asked about it; the device `refused` it for this reason.
    pub(crate) fn ask(&self, refused: Option<Refusal>, request: impl FnOnce() -> AskedRequest) {
        if !self.is_coherent() {
            return;
        }
        let mut asked = self.asked.lock();
        if asked.kept.len() == MOST_ASKED {
            drop(asked);
            self.kept.lock().dropped += 1;
            return;
        }
        let number = asked.count;
        asked.count += 1;
        asked.kept.push(AskedOfXe { number, refused, request: request() });
        drop(asked);
        self.add(0, TraceEvent::Asked { number });
    }

    /// Returns and clears the requests of xe, oldest first.
    pub(crate) fn take_asked(&self) -> Vec<AskedOfXe> {
        std::mem::take(&mut self.asked.lock().kept)
    }

    /// Returns the calls so far.
    pub(crate) fn calls(&self) -> Vec<Call> {
        self.calls.lock().clone()
    }

    /// Returns and clears the events, oldest first, and the number of those for which there was no room.
    pub(crate) fn take(&self) -> (Vec<Traced>, u64) {
        let kept = std::mem::take(&mut *self.kept.lock());
        (kept.traced, kept.dropped)
    }
}

/// Returns the one event that two successive ones are; `None` if they stay two.
fn extended(last: TraceEvent, next: TraceEvent) -> Option<TraceEvent> {
    match (last, next) {
        (TraceEvent::Stored(before), TraceEvent::Stored(lines)) => {
            follow(before, lines).map(TraceEvent::Stored)
        }
        (
            TraceEvent::Accessed { route, access, lines: before, handle, pat_index },
            TraceEvent::Accessed {
                route: other_route, access: other_access, lines, pat_index: other, ..
            },
        ) if (route, access, pat_index) == (other_route, other_access, other) => {
            Some(TraceEvent::Accessed { route, access, lines: follow(before, lines)?, handle, pat_index })
        }
        (TraceEvent::Rewritten { route, lines: before }, TraceEvent::Rewritten { route: other, lines })
            if route == other =>
        {
            Some(TraceEvent::Rewritten { route, lines: follow(before, lines)? })
        }
        (
            TraceEvent::Bound { route, lines: before, handle },
            TraceEvent::Bound { route: other, lines, .. },
        ) if route == other => Some(TraceEvent::Bound { route, lines: follow(before, lines)?, handle }),
        _ => None,
    }
}

/// Returns the union of a range and one that begins in it or directly after it.
fn follow(before: LineRange, lines: LineRange) -> Option<LineRange> {
    let follows = (before.first()..=before.end()).contains(&lines.first());
    follows.then(|| LineRange::new(before.first(), before.end().max(lines.end())))
}

/// The trace, and the object that is accessed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tracing<'a> {
    trace: &'a Trace,
    object: u64,
    pub(crate) handle: Option<Handle>,
    /// The accesses are another device's.
    foreign: bool,
}

impl<'a> Tracing<'a> {
    fn new(trace: &'a Trace, observed: Observed<'_>) -> Self {
        let Observed { about: About { object, handle, .. }, foreign, .. } = observed;
        Self { trace, object, handle, foreign }
    }

    /// Returns the trace as the observer of accesses to a backing store of `size` bytes.
    pub(crate) fn observed(self, size: u64) -> Observed<'a> {
        let Self { trace, object, handle, foreign } = self;
        Observed { observer: trace, about: About { object, handle, size }, first: 0, foreign }
    }

    pub(crate) fn add(self, event: TraceEvent) {
        self.trace.add(self.object, event);
    }

    /// Returns the trace of another device's accesses.
    pub(crate) fn of_foreign(self) -> Self {
        Self { foreign: true, ..self }
    }

    /// Adds an access to lines, or what may be one.
    pub(super) fn add_access(
        self,
        ctx: AccessContext<'_>,
        route: Route,
        access: Option<Access>,
        lines: LineRange,
        own: TraceEvent,
    ) {
        if !self.foreign {
            return self.add(own);
        }
        let dirty = effect(ctx.hardware, ctx.level, route, access.unwrap_or(Access::Read), Line::Dirty);
        let Some(dirty) = dirty else { return };
        if dirty.at == Place::Memory && dirty.before == Transfer::Nothing {
            self.add(TraceEvent::Foreign { access, lines });
        } else if access == Some(Access::Write) && dirty.next == Line::Dirty {
            self.add(TraceEvent::Stored(lines));
        }
    }
}

impl Observer for Trace {
    fn read(
        &self,
        observed: Observed<'_>,
        backing: &mut BackingStore,
        ctx: AccessContext<'_>,
        route: Route,
        range: ByteRange,
    ) -> Result<()> {
        backing.trace_read(Tracing::new(self, observed), ctx, route, range)
    }

    fn write(
        &self,
        observed: Observed<'_>,
        backing: &mut BackingStore,
        ctx: AccessContext<'_>,
        route: Route,
        offset: u64,
        data: &[u8],
    ) -> Result<()> {
        backing.trace_write(Tracing::new(self, observed), ctx, route, offset, data)
    }

    fn map(&self, observed: Observed<'_>, backing: &mut BackingStore, route: Route) -> Result<()> {
        backing.trace_mapping(Tracing::new(self, observed), route)
    }
}

impl BackingStore {
    /// Traces a read of the bytes of `range`, after the stores that came before it.
    fn trace_read(
        &mut self,
        tracing: Tracing<'_>,
        ctx: AccessContext<'_>,
        route: Route,
        range: ByteRange,
    ) -> Result<()> {
        let lines = range.lines();
        if !lines.is_empty() {
            self.observe_lines(tracing, lines)?;
            let (access, handle, pat_index) = (Access::Read, tracing.handle, ctx.pat_index);
            let event = TraceEvent::Accessed { route, access, lines, handle, pat_index };
            tracing.add_access(ctx, route, Some(Access::Read), lines, event);
        }
        Ok(())
    }

    /// Traces a write of `data`, before it is made and after the stores that came before it.
    fn trace_write(
        &mut self,
        tracing: Tracing<'_>,
        ctx: AccessContext<'_>,
        route: Route,
        offset: u64,
        data: &[u8],
    ) -> Result<()> {
        let handle = tracing.handle;
        let mut done = 0;
        while let Some(rest) = data.get(done..).filter(|rest| !rest.is_empty()) {
            let at = offset + done as u64;
            let new = rest.get(..LINE - at as usize % LINE).unwrap_or(rest);
            let lines = ByteRange::within(at, new.len() as u64, self.size)?.lines();
            self.observe_lines(tracing, lines)?;
            let (access, pat_index) = (Access::Write, ctx.pat_index);
            let written = TraceEvent::Accessed { route, access, lines, handle, pat_index };
            let event = if self.rewrites(tracing, at, new)? {
                TraceEvent::Rewritten { route, lines }
            } else {
                written
            };
            tracing.add_access(ctx, route, Some(Access::Write), lines, event);
            done += new.len();
        }
        Ok(())
    }

    /// Returns whether a coherent device has the bytes `new` at an offset already.
    fn rewrites(&mut self, tracing: Tracing<'_>, at: u64, new: &[u8]) -> Result<bool> {
        let mut before = [0; LINE];
        let Some(before) = before.get_mut(..new.len()).filter(|_| tracing.trace.is_coherent()) else {
            return Ok(false);
        };
        self.cached()?.copy_out(at, before)?;
        Ok(before == new)
    }

    /// Traces a mapping, whose stores are not detected from now on.
    fn trace_mapping(&mut self, tracing: Tracing<'_>, route: Route) -> Result<()> {
        if !tracing.foreign {
            tracing.add(TraceEvent::Mapped(route));
        }
        if self.seen.is_some() || !tracing.trace.is_coherent() {
            return Ok(());
        }
        let seen = SharedBytes::zeroed(self.size)?;
        let mut left = self.lines.all();
        while let Some(part) = self.next_stored(left)? {
            if let Some(cached) = &self.cached {
                seen.copy_from(cached, part.first() * LINE_BYTES, part.bytes())?;
            }
            left = LineRange::new(part.end(), left.end());
        }
        self.seen = Some(seen);
        Ok(())
    }

    /// Traces the stores of programs since the bytes were last seen.
    pub(crate) fn observe(&mut self, tracing: Tracing<'_>) -> Result<()> {
        if self.shared.is_none() {
            return Ok(());
        }
        let mut left = self.lines.all();
        while let Some(part) = self.next_stored(left)? {
            self.observe_lines(tracing, part)?;
            left = LineRange::new(part.end(), left.end());
        }
        Ok(())
    }

    /// Traces the stores of programs to lines since those were last seen.
    pub(crate) fn observe_lines(&mut self, tracing: Tracing<'_>, lines: LineRange) -> Result<()> {
        let coherent = tracing.trace.is_coherent();
        // Without a mapping through the cache, a store goes to memory.
        let filled = self.shared.as_ref().filter(|shared| shared.write_back).map(|shared| &shared.filled);
        let seen = if coherent { self.seen.as_ref() } else { filled };
        let (Some(seen), Some(cached)) = (seen, &self.cached) else { return Ok(()) };
        let mut left = lines;
        while !left.is_empty() {
            let end = left.end().min((left.first() / PAGE_LINES + 1) * PAGE_LINES);
            for stored in cached.differing_lines(seen, LineRange::new(left.first(), end))?.runs() {
                tracing.add(TraceEvent::Stored(stored));
                if coherent {
                    seen.copy_from(cached, stored.first() * LINE_BYTES, stored.bytes())?;
                }
            }
            left = LineRange::new(end, left.end());
        }
        Ok(())
    }

    /// Traces an instruction.
    pub(crate) fn maintained(&mut self, tracing: Tracing<'_>, done: &Instruction) -> Result<()> {
        let &Instruction { line, kind, site, found, ref bytes, .. } = done;
        // The program can write any number into its log.
        let at = ByteRange::within(line.saturating_mul(LINE_BYTES), LINE_BYTES, self.size)?.offset();
        let mut is_new = found == FoundLine::Dirty;
        if let Some(seen) = &self.seen {
            let mut known = [0; LINE];
            seen.copy_out(at, &mut known)?;
            is_new = known != *bytes;
            if is_new {
                seen.copy_in(at, bytes)?;
            }
        }
        if is_new && kind != FlushKind::NonTemporal {
            tracing.add(TraceEvent::Stored(LineRange::new(line, line + 1)));
        }
        let stale = self.seen.is_none() && found == FoundLine::Stale;
        tracing.add(TraceEvent::Maintained { line, kind, site, stale });
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::backing_store::Zeroing;
    use gem_coherency::units::PAGE_BYTES;
    use gem_coherency::vocabulary::MocsClass;

    #[test]
    fn lines_that_follow_are_one_fact() {
        let trace = Trace::default();
        trace.add(1, TraceEvent::Freed);
        assert_eq!(trace.take(), (vec![], 0), "off");
        trace.start(true);
        let stored = |first, end| TraceEvent::Stored(LineRange::new(first, end));
        for (object, first) in [(1, 0), (1, 1), (1, 3), (2, 4)] {
            trace.add(object, stored(first, first + 1));
        }
        let read = |route, first| TraceEvent::Accessed {
            route,
            access: Access::Read,
            lines: LineRange::new(first, first + 1),
            handle: None,
            pat_index: None,
        };
        let gpu = Route::Gpu(MocsClass::PageTable);
        trace.add(2, read(gpu, 0));
        trace.add(2, read(gpu, 1));
        trace.add(2, read(Route::Display, 2));
        let (traced, dropped) = trace.take();
        let events: Vec<_> = traced.iter().map(|one| (one.object, one.event)).collect();
        let TraceEvent::Accessed { lines, .. } = events[3].1 else { panic!("{events:?}") };
        assert_eq!(
            (&events[..3], dropped),
            (&[(1, stored(0, 2)), (1, stored(3, 4)), (2, stored(4, 5))][..], 0)
        );
        assert_eq!((lines, events.len()), (LineRange::new(0, 2), 5));
    }

    #[test]
    fn a_line_after_the_end_is_refused() {
        let trace = Trace::default();
        trace.start(true);
        let tracing = trace.of(1, None).unwrap();
        let mut backing = BackingStore::new(PAGE_BYTES, Zeroing::Gpu, None);
        backing.seen = SharedBytes::zeroed(PAGE_BYTES).ok();
        let (kind, found) = (FlushKind::Flush, FoundLine::Clean);
        let flush = |line| Instruction { object: 1, line, kind, site: 0, found, bytes: [1; LINE] };
        for line in [PAGE_BYTES / LINE_BYTES, u64::MAX / LINE_BYTES, u64::MAX] {
            assert!(backing.maintained(tracing, &flush(line)).is_err(), "{line}");
        }
        assert_eq!(trace.take().0, []);
        backing.maintained(tracing, &flush(PAGE_BYTES / LINE_BYTES - 1)).unwrap();
        assert_eq!(trace.take().0.len(), 2, "the store, and the flush");
    }
}

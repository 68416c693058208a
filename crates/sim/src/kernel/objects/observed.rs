//! What a device's logs and its trace are told of an object.

use super::object::{Object, Origin};
use super::state::State;
use crate::memory::observer::About;
use crate::observe::asked::AskedObject;
use crate::observe::domain_calls::MadeCall;
use crate::observe::epochs::Polled;
use crate::observe::history::{LineStates, RecordedEvent};
use crate::observe::incoherent::Watch;
use crate::observe::trace::Tracing;
use crate::observe::trace_event::{Instruction, TraceEvent};
use gem_coherency::error::Result;
use gem_coherency::policy::kernel::{Action, Event, Step};
use gem_coherency::units::{ByteRange, LINE_BYTES, LineRange, PAGE_BYTES, PAGE_LINES};
use gem_coherency::vocabulary::{Handle, MocsClass};
use gem_coherency_memory_model::Route;

impl Object {
    /// Returns the log of the object's incoherent accesses, if its device is watched.
    pub(crate) fn watch(&self, state: &State) -> Option<Watch<'_>> {
        self.system().incoherent.watch(|| self.about(state.first_handle))
    }

    /// Returns the trace of the object, if its device is traced, or, of an imported object, the exporter's.
    pub(crate) fn tracing(&self, state: &State) -> Option<Tracing<'_>> {
        match &self.origin {
            // The memory is the exporter's.
            Origin::Attached(attachment) => attachment.trace(),
            Origin::Own | Origin::User(_) => self.system().trace.of(self.id(), state.first_handle),
        }
    }

    /// Describes the object for the log.
    pub(crate) fn about(&self, handle: Option<Handle>) -> About {
        About { object: self.id(), handle, size: self.size() }
    }

    /// Describes the object of a request of which other platforms are asked.
    pub(crate) fn as_asked(&self) -> AskedObject {
        AskedObject { number: self.id(), handle: self.state().first_handle, size: self.size() }
    }

    /// Logs the object's dirty lines if a batch of the submission with this number would not see them. A userptr object
    /// has none: the GPU snoops the cache.
    pub(crate) fn watch_submission(&self, submission: u64) {
        let state = self.state();
        let ctx = self.access_context(&state);
        self.system().trace.add(self.id(), TraceEvent::Submitted { handle: state.first_handle });
        let done = match (&self.origin, self.watch(&state)) {
            (Origin::Own | Origin::Attached(_), Some(watch)) if !ctx.gpu_reads_cache() => {
                self.backing().watch_submission(watch, ctx.level, submission)
            }
            (Origin::Own | Origin::Attached(_) | Origin::User(_), _) => Ok(()),
        };
        if let Err(error) = done {
            tracing::error!(%error, "watch");
        }
    }

    /// Logs the dirty lines of a surface's bytes in this object that the GPU would not see with these MOCS. A userptr
    /// object has none: the GPU snoops the cache.
    pub(crate) fn watch_surface(&self, mocs: MocsClass, range: ByteRange) {
        let state = self.state();
        let ctx = self.access_context(&state);
        let done = match &self.origin {
            Origin::Own | Origin::Attached(_) => {
                let logs = (self.tracing(&state), self.watch(&state));
                self.backing().watch_bound(ctx, logs, Route::Gpu(mocs), range)
            }
            Origin::User(_) => Ok(()),
        };
        if let Err(error) = done {
            tracing::error!(%error, "watch");
        }
    }

    /// Logs the lines of bytes that the command streamer reads before the GPU's own writes to them are flushed.
    pub(crate) fn watch_posted(&self, range: ByteRange) {
        let state = self.state();
        if let Some(watch) = self.watch(&state) {
            watch.posted(state.snapshot.level, range.lines());
        }
        if let Some(tracing) = self.tracing(&state) {
            tracing.add(TraceEvent::Posted { lines: range.lines(), handle: tracing.handle });
        }
    }

    /// Returns the poll of the dword at an offset, as one that has succeeded, if it is known when a program stored there; `None` on a device that is
    /// told of no stores.
    pub(crate) fn polled(&self, offset: u64) -> Option<Polled> {
        let epochs = self.system().epochs.get()?;
        let at = (self.id(), offset & !3);
        let mut now = [0; 4];
        let state = self.state();
        let ctx = self.access_context(&state).quiet();
        self.backing().read(ctx, Route::Gpu(MocsClass::PageTable), at.1, &mut now).ok()?;
        epochs.polls(at.0, at.1);
        let (epoch, _) = epochs.last(at.0, at.1, &[u32::from_le_bytes(now)])?;
        Some(Polled { at, epoch })
    }

    /// Logs the lines of bytes that a batch reads after a poll, with stores that may not be drained.
    pub(crate) fn watch_undrained(&self, polled: &Polled, range: ByteRange) {
        let Some(epochs) = self.system().epochs.get() else { return };
        let state = self.state();
        let ctx = self.access_context(&state).quiet();
        let (mut at, end) = (range.offset() & !3, range.end().next_multiple_of(4));
        while at < end {
            let part = at..end.min((at / PAGE_BYTES + 1) * PAGE_BYTES);
            at = part.end;
            let mut bytes = vec![0; (part.end - part.start) as usize];
            let read = self.backing().read(ctx, Route::Gpu(MocsClass::PageTable), part.start, &mut bytes);
            let now: Vec<u32> = bytes.as_chunks().0.iter().map(|word| u32::from_le_bytes(*word)).collect();
            let stored = read.ok().and_then(|()| epochs.last(self.id(), part.start, &now));
            let Some((_, offsets)) = stored.filter(|&(epoch, _)| epoch == polled.epoch) else { continue };
            let Some(watch) = self.watch(&state) else { continue };
            for offset in offsets.into_iter().filter(|&offset| (self.id(), offset) != polled.at) {
                let line = offset / LINE_BYTES;
                watch.undrained(state.snapshot.level, LineRange::new(line, line + 1));
            }
        }
    }

    /// Takes note that the GPU wrote bytes.
    pub(crate) fn note_gpu_write(&self, offset: u64, new: &[u8]) {
        let Some(epochs) = self.system().epochs.get() else { return };
        let (mut at, mut rest) = (offset, new);
        while !rest.is_empty() {
            let room = (PAGE_BYTES - at % PAGE_BYTES) as usize;
            let (part, after) = rest.split_at(room.min(rest.len()));
            epochs.overwrite(self.id(), at, part);
            (at, rest) = (at + part.len() as u64, after);
        }
    }

    /// Traces the stores of programs before `event`, and the event, after which is the call `made`.
    pub(crate) fn trace_event(
        &self,
        handle: Option<Handle>,
        event: Event,
        made: Option<MadeCall>,
    ) -> Result<()> {
        let trace = &self.system().trace;
        let Some(tracing) = trace.of(self.id(), handle) else { return Ok(()) };
        self.backing().observe(tracing)?;
        tracing.add(match made {
            None => TraceEvent::Event(event),
            Some(made) => TraceEvent::Called { event, made },
        });
        Ok(())
    }

    /// Traces the stores of programs to lines, as far as the object has them.
    pub(crate) fn trace_stores(&self, lines: LineRange) -> Result<()> {
        let trace = &self.system().trace;
        let Some(tracing) = trace.of(self.id(), None) else { return Ok(()) };
        let mut backing = self.backing();
        let end = lines.end().min(backing.lines.all().end());
        if lines.first() < end {
            backing.observe_lines(tracing, LineRange::new(lines.first(), end))
        } else {
            Ok(())
        }
    }

    /// Traces an instruction of a program; see [`BackingStore::maintained`](crate::memory::backing_store::BackingStore::maintained).
    pub(crate) fn trace_maintained(&self, done: &Instruction) -> Result<()> {
        let trace = &self.system().trace;
        let Some(tracing) = trace.of(self.id(), None) else { return Ok(()) };
        self.backing().maintained(tracing, done)
    }

    /// Traces that stores to a page are no longer seen, of which the first one goes to the lines `stored`, a bit each; or, without
    /// these, that they are seen again.
    pub(crate) fn trace_page(&self, line: u64, stored: Option<u64>) {
        let trace = &self.system().trace;
        // The program can write any number into its log.
        if line >= self.size() / LINE_BYTES {
            return;
        }
        let Some(stored) = stored else { return trace.add(self.id(), TraceEvent::Closed { line }) };
        trace.add(self.id(), TraceEvent::Opened { line });
        for bit in (0..PAGE_LINES).filter(|bit| stored >> bit & 1 != 0) {
            trace.add(self.id(), TraceEvent::Stored(LineRange::new(line + bit, line + bit + 1)));
        }
    }

    /// Returns the states of the lines; `None` if the object has no history.
    pub(crate) fn recorded_states(&self) -> Option<LineStates> {
        if !self.system().incoherent.history.records(self.size()) {
            return None;
        }
        self.backing().states().inspect_err(|error| tracing::error!(%error, "record")).ok()
    }

    /// Records an event that a request causes, before its flushes, with the states of the lines.
    pub(crate) fn record_event(&self, call: &'static str, event: Event, step: &Step) {
        let history = &self.system().incoherent.history;
        if !history.records(self.size()) {
            return;
        }
        let flushes =
            step.effects.actions().any(|action| matches!(action, Action::FlushSync | Action::FlushAsync));
        let is_shown = flushes
            || matches!(
                event,
                Event::SetDomainCpu(_)
                    | Event::SetDomainGtt(_)
                    | Event::SetDomainWc(_)
                    | Event::SetCaching(_)
                    | Event::Exec(_)
                    | Event::DmaBufBegin(_)
                    | Event::DmaBufEnd
            );
        let is_here = match &self.origin {
            Origin::Own | Origin::Attached(_) => true,
            Origin::User(_) => false,
        };
        if !is_shown || !is_here {
            return;
        }
        match self.backing().states() {
            Ok(states) => history.push(self.id(), RecordedEvent::Lines(states)),
            Err(error) => tracing::error!(%error, "record"),
        }
        history.push(self.id(), RecordedEvent::Request { call, event, flushes });
    }

    /// Records a flush of lines by the kernel.
    pub(crate) fn record_flush(&self, call: &'static str, lines: LineRange) {
        let history = &self.system().incoherent.history;
        if history.records(self.size()) {
            history.push(self.id(), RecordedEvent::Flush { call, lines });
        }
    }

    /// Traces that a batch that names the object may access it unseen.
    pub(crate) fn unfollowed(&self) {
        let handle = self.state().first_handle;
        self.system().trace.add(self.id(), TraceEvent::Unfollowed { handle });
    }

    /// Returns the call of a program after an event, if the device is traced.
    pub(crate) fn made_call(&self, state: &mut State, call: &'static str, event: Event) -> Option<MadeCall> {
        let attached = state.attached > 0;
        if self.system().trace.is_on() {
            MadeCall::new(call, event, &mut state.unwaited, attached)
        } else {
            None
        }
    }
}

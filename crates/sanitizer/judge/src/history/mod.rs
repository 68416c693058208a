//! The histories of objects: what the device records, the flushes of programs, and the places in programs.

mod line_set;
mod object;
mod step;

use std::collections::BTreeMap;
use std::fs::File;
use std::sync::{Arc, MutexGuard};

use gem_coherency::sync::Mutex;
use gem_coherency::units::LineRange;
use gem_coherency_protocol::{Flushed, Found, Frame, LogEntryKind};
use gem_coherency_server::RecordWriters;
use gem_coherency_sim::{LineStates, SimDevice};

use crate::records::flush_logs::FlushLogs;
pub(crate) use object::Stored;
use object::{Flush, Tracked, unknown};
pub use step::{History, Step, What};

/// Objects that have histories; those without an event for the longest time are dropped.
const MOST_OBJECTS: usize = 1024;

/// The histories of a server's objects.
#[derive(Debug, Default)]
pub(crate) struct Histories {
    state: Mutex<State>,
    logs: FlushLogs,
}

#[derive(Debug, Default)]
struct State {
    objects: BTreeMap<u64, Tracked>,
    /// Number of events so far.
    time: u64,
}

/// Consecutive lines of an object that an instruction flushed one after the other, and found alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Run {
    site: u64,
    object: u64,
    lines: LineRange,
    found: Found,
}

/// Adds a flush to the last run if it continues it.
fn add_flush(runs: &mut Vec<Run>, site: u64, flushed: &Flushed) {
    let Flushed { object, line, found, effect, .. } = *flushed;
    let is_flush = matches!(effect, LogEntryKind::Flush | LogEntryKind::WriteBack);
    // A program can write any number into its log. A store past the cache shows in the states of the lines.
    let Some(end) = line.checked_add(1).filter(|_| is_flush) else { return };
    let continued =
        |run: &&mut Run| (run.site, run.object, run.lines.end(), run.found) == (site, object, line, found);
    match runs.last_mut().filter(continued) {
        Some(last) => last.lines = LineRange::new(last.lines.first(), end),
        None => runs.push(Run { site, object, lines: LineRange::new(line, end), found }),
    }
}

impl Histories {
    /// Adds the log of flushes of a program's processes, which is after its records in `file`.
    pub(crate) fn add_log(&self, file: Arc<File>, writers: &Arc<RecordWriters>) {
        self.logs.add(file, writers);
    }

    /// Adds the flushes of programs since the last time; `first_stores` finds the first stores to the pages of an object's lines.
    pub(crate) fn hear_flushes(&self, first_stores: impl Fn(u64, &[LineRange]) -> Vec<Stored>) {
        let mut state = self.state();
        let mut runs: Vec<Run> = Vec::new();
        self.logs.read(|site, flushed| add_flush(&mut runs, site, flushed));
        for run in runs {
            if let Some(flush) = self.flush(run, |lines| first_stores(run.object, lines)) {
                state.object(run.object).flushed(flush);
            }
        }
    }

    /// Returns a run as a flush; `None` if its instruction is not known.
    fn flush(&self, run: Run, first_stores: impl FnOnce(&[LineRange]) -> Vec<Stored>) -> Option<Flush> {
        let Run { site, lines, found, .. } = run;
        let stack = self.logs.stack(site)?;
        let stored = match found {
            Found::Dirty => first_stores(&[lines]),
            Found::Stale | Found::Clean => Vec::new(),
        };
        Some(Flush { stack, lines, found, stored })
    }

    /// Adds what a device recorded since the last time; `stack` finds the call stack of the request.
    pub(crate) fn collect(
        &self,
        device: &SimDevice,
        stack: impl FnOnce() -> Vec<Frame>,
        first_stores: impl Fn(u64, &[LineRange]) -> Vec<Stored>,
    ) {
        let mut state = self.state();
        let recorded = device.recorded();
        if recorded.is_empty() {
            return;
        }
        let stack = stack();
        for record in recorded {
            let object = record.object;
            state.object(object).add(record.event, &stack, |lines| first_stores(object, lines));
        }
    }

    /// Returns the history of an object up to a load of old bytes of `lines`, when the lines have these states; `stack` is the
    /// load's. What is recorded stays as it is.
    ///
    /// The first stores since the last request are not known: a program cannot be asked while it loads.
    pub(crate) fn up_to_load(
        &self,
        object: u64,
        states: &LineStates,
        lines: &[LineRange],
        stack: &[Frame],
    ) -> Option<History> {
        let state = self.state();
        let mut tracked = state.objects.get(&object)?.clone();
        let mut runs: Vec<Run> = Vec::new();
        self.logs.peek(|site, flushed| {
            if flushed.object == object {
                add_flush(&mut runs, site, flushed);
            }
        });
        runs.into_iter().filter_map(|run| self.flush(run, unknown)).for_each(|flush| tracked.flushed(flush));
        tracked.load(states, lines, stack);
        Some(tracked.history())
    }

    /// Returns the history of an object.
    pub(crate) fn of(&self, object: u64) -> Option<History> {
        self.state().objects.get(&object).map(Tracked::history)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }
}

impl State {
    /// Returns an object, which is the last one to be dropped.
    fn object(&mut self, number: u64) -> &mut Tracked {
        self.time += 1;
        if self.objects.len() == MOST_OBJECTS && !self.objects.contains_key(&number) {
            let oldest = self.objects.iter().min_by_key(|(_, object)| object.used).map(|(&oldest, _)| oldest);
            oldest.map(|oldest| self.objects.remove(&oldest));
        }
        let object = self.objects.entry(number).or_default();
        object.used = self.time;
        object
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_history_up_to_a_load_changes_nothing_that_is_recorded() {
        let histories = Histories::default();
        let load = |object| {
            let lines = [LineRange::new(2, 3)];
            histories.up_to_load(object, &LineStates::default(), &lines, &[])
        };
        assert_eq!(load(7), None, "nothing is recorded");
        histories.state().object(7);
        for _ in 0..2 {
            let kinds: Vec<_> = load(7).unwrap().steps.iter().map(|step| step.what).collect();
            assert_eq!(kinds, [What::Loaded]);
        }
        assert_eq!(histories.of(7), Some(History::default()));
    }

    #[test]
    fn neighbours_that_were_found_alike_are_one_run_and_repetitions_are_not() {
        use Found::{Clean, Dirty};
        let mut runs = Vec::new();
        let mut add = |site, object, line, found, effect| {
            add_flush(&mut runs, site, &Flushed { object, line, site: 0, effect, found, bytes: [0; 8] });
        };
        for (line, found) in [(4, Dirty), (5, Dirty), (6, Clean), (6, Clean)] {
            add(1, 2, line, found, LogEntryKind::Flush);
        }
        add(1, 3, 7, Clean, LogEntryKind::WriteBack);
        add(9, 3, 8, Clean, LogEntryKind::Flush);
        add(9, 3, 9, Clean, LogEntryKind::NonTemporal);
        add(9, 3, u64::MAX, Clean, LogEntryKind::Flush);
        let told: Vec<_> =
            runs.iter().map(|run| (run.site, run.object, run.lines.first(), run.lines.end())).collect();
        assert_eq!(told, [(1, 2, 4, 6), (1, 2, 6, 7), (1, 2, 6, 7), (1, 3, 7, 8), (9, 3, 8, 9)]);
    }
}

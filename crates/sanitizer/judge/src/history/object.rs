//! The history of one object: its events in order, with the states of the lines after each.

use std::collections::VecDeque;

use gem_coherency::units::LineRange;
use gem_coherency_protocol::{Found, Frame};
use gem_coherency_sim::{LineStates, RecordedEvent};

use super::line_set::LineSet;
use super::step::{History, Step, What};

/// Steps that the history of an object keeps; the oldest ones are dropped.
const MOST_STEPS: usize = 96;
/// Flushes of an object that are kept until its next event; the oldest ones are dropped.
const MOST_FLUSHES: usize = 4096;

/// Lines, and the first store to their page.
pub(crate) type Stored = (Vec<Frame>, Vec<LineRange>);

/// Returns lines whose first stores are not known.
pub(super) fn unknown(lines: &[LineRange]) -> Vec<Stored> {
    vec![(Vec::new(), lines.to_vec())]
}

/// A flush by an instruction, before the next event of the object.
#[derive(Clone, Debug)]
pub(super) struct Flush {
    pub(super) stack: Vec<Frame>,
    pub(super) lines: LineRange,
    pub(super) found: Found,
    /// The stores that the lines were dirty by.
    pub(super) stored: Vec<Stored>,
}

/// An object that is tracked.
#[derive(Clone, Debug, Default)]
pub(super) struct Tracked {
    before: LineStates,
    dropped: u64,
    steps: VecDeque<Step>,
    dirty: LineSet,
    stale: LineSet,
    flushes: VecDeque<Flush>,
    /// The states of the lines were seen at least once.
    is_known: bool,
    /// The time of the last event, for dropping old objects.
    pub(super) used: u64,
}

impl Tracked {
    /// Adds a flush.
    pub(super) fn flushed(&mut self, flush: Flush) {
        if self.flushes.len() == MOST_FLUSHES {
            self.flushes.pop_front();
        }
        self.flushes.push_back(flush);
    }

    /// Adds an event; `stack` is the request's, and `first_stores` finds the first stores to the pages of lines.
    pub(super) fn add(
        &mut self,
        event: RecordedEvent,
        stack: &[Frame],
        first_stores: impl FnOnce(&[LineRange]) -> Vec<Stored>,
    ) {
        match event {
            RecordedEvent::Lines(states) => self.seen(&states, first_stores),
            RecordedEvent::Request { call, event, flushes } => {
                let written_back = if flushes { std::mem::take(&mut self.dirty) } else { LineSet::default() };
                if flushes {
                    self.stale = LineSet::default();
                }
                self.push(What::Request { call, event, flushes }, stack, &LineSet::default(), &written_back);
            }
            RecordedEvent::Flush { call, lines } => {
                self.flush(What::FlushedForCopy { call }, stack, &LineSet::of(&[lines]));
            }
            RecordedEvent::Access { route, access, lines } => {
                let [all, written_back, dirtied, outdated] =
                    [&lines.all, &lines.written_back, &lines.dirtied, &lines.outdated]
                        .map(|list| LineSet::of(list));
                self.dirty = self.dirty.minus(&written_back).union(&dirtied);
                self.stale = self.stale.minus(&dirtied).union(&outdated.minus(&self.dirty));
                self.push(What::Access { route, access }, stack, &all, &written_back);
            }
        }
    }

    /// Adds a load of old bytes of `lines`, when the lines have these states; `stack` is the load's.
    pub(super) fn load(&mut self, states: &LineStates, lines: &[LineRange], stack: &[Frame]) {
        self.seen(states, unknown);
        self.push(What::Loaded, stack, &LineSet::of(lines), &LineSet::default());
    }

    /// Adds the stores and the flushes since the last event, which led to these states of the lines.
    ///
    /// A line that a flush finds dirty, or that is dirty now, was stored to after the last flush of it.
    fn seen(&mut self, states: &LineStates, first_stores: impl FnOnce(&[LineRange]) -> Vec<Stored>) {
        let now = LineSet::of(&states.dirty);
        let flushes: Vec<Flush> = self.flushes.drain(..).collect();
        // Lines that were stored to, with the first store, by the number of flushes before.
        let mut stores: Vec<(usize, Vec<Frame>, LineSet)> = Vec::new();
        let mut note = |before: usize, stored: &[Stored], lines: &LineSet| {
            let mut rest = lines.clone();
            for number in (0..=before).rev() {
                let covered = match number.checked_sub(1).and_then(|last| flushes.get(last)) {
                    Some(flush) => rest.intersection(&LineSet::of(&[flush.lines])),
                    None => rest.clone(),
                };
                rest = rest.minus(&covered);
                for (stack, lines) in stored {
                    let lines = LineSet::of(lines).intersection(&covered);
                    match stores.iter_mut().find(|(at, known, _)| *at == number && known == stack) {
                        Some((_, _, known)) => *known = known.union(&lines),
                        None if lines.is_empty() => {}
                        None => stores.push((number, stack.clone(), lines)),
                    }
                }
                if rest.is_empty() {
                    break;
                }
            }
        };
        let mut dirty = self.dirty.clone();
        for (number, flush) in flushes.iter().enumerate() {
            let lines = LineSet::of(&[flush.lines]);
            if flush.found == Found::Dirty {
                note(number, &flush.stored, &lines.minus(&dirty));
            }
            dirty = dirty.minus(&lines);
        }
        let new = now.minus(&dirty);
        if !new.is_empty() {
            let stored = first_stores(new.ranges());
            note(flushes.len(), &stored, &new);
        }
        if !self.is_known {
            self.is_known = true;
            // Zeroes of new pages, and older stores.
            let (known, unknown): (Vec<_>, Vec<_>) =
                stores.into_iter().partition(|(number, stack, _)| *number > 0 || !stack.is_empty());
            stores = known;
            self.dirty = unknown.iter().fold(self.dirty.clone(), |dirty, (_, _, lines)| dirty.union(lines));
            self.before = self.states();
        }
        for number in 0..=flushes.len() {
            for (_, stack, lines) in stores.iter().filter(|(at, _, _)| *at == number) {
                self.dirty = self.dirty.union(lines);
                self.stale = self.stale.minus(lines);
                self.push(What::Stored, stack, lines, &LineSet::default());
            }
            if let Some(flush) = flushes.get(number) {
                self.flush(What::Flushed, &flush.stack, &LineSet::of(&[flush.lines]));
            }
        }
        let gone = self.dirty.minus(&now);
        (self.dirty, self.stale) = (now, LineSet::of(&states.stale));
        if !gone.is_empty() {
            self.push(What::LeftCache, &[], &gone, &gone);
        }
    }

    /// Adds a flush of lines. Flushes by one instruction that follow each other are one step.
    fn flush(&mut self, what: What, stack: &[Frame], lines: &LineSet) {
        let written_back = self.dirty.intersection(lines);
        self.dirty = self.dirty.minus(lines);
        self.stale = self.stale.minus(lines);
        let after = self.states();
        if let Some(last) = self.steps.back_mut().filter(|last| last.what == what && last.stack == stack) {
            last.lines = LineSet::of(&last.lines).union(lines).ranges().to_vec();
            last.written_back = LineSet::of(&last.written_back).union(&written_back).ranges().to_vec();
            last.after = after;
        } else {
            self.push(what, stack, lines, &written_back);
        }
    }

    fn push(&mut self, what: What, stack: &[Frame], lines: &LineSet, written_back: &LineSet) {
        if self.steps.len() == MOST_STEPS
            && let Some(oldest) = self.steps.pop_front()
        {
            self.before = oldest.after;
            self.dropped += 1;
        }
        self.steps.push_back(Step {
            what,
            stack: stack.to_vec(),
            lines: lines.ranges().to_vec(),
            written_back: written_back.ranges().to_vec(),
            after: self.states(),
        });
    }

    fn states(&self) -> LineStates {
        LineStates { dirty: self.dirty.ranges().to_vec(), stale: self.stale.ranges().to_vec() }
    }

    /// Returns the history so far.
    pub(super) fn history(&self) -> History {
        History {
            before: self.before.clone(),
            dropped: self.dropped,
            steps: self.steps.iter().cloned().collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use gem_coherency::policy::kernel::Event;
    use gem_coherency::vocabulary::Access;
    use gem_coherency_memory_model::Route;

    use super::*;
    use gem_coherency::vocabulary::MocsClass;
    use gem_coherency_sim::AccessedLines;

    fn lines(first: u64, end: u64) -> LineRange {
        LineRange::new(first, end)
    }

    fn at(address: u64) -> Frame {
        Frame { module: "/bin/c".to_owned(), address }
    }

    fn flush(site: u64, range: LineRange, found: Found) -> Flush {
        let stored = if found == Found::Dirty { stores(&[range]) } else { Vec::new() };
        Flush { stack: vec![at(site)], lines: range, found, stored }
    }

    /// The first store to all pages is at address 1.
    fn stores(ranges: &[LineRange]) -> Vec<Stored> {
        vec![(vec![at(1)], ranges.to_vec())]
    }

    /// Adds the states of the lines: these are dirty.
    fn see(tracked: &mut Tracked, dirty: &[LineRange]) {
        let states = LineStates { dirty: dirty.to_vec(), stale: Vec::new() };
        tracked.add(RecordedEvent::Lines(states), &[], stores);
    }

    fn gpu_reads(tracked: &mut Tracked, range: LineRange) {
        let route = Route::Gpu(MocsClass::PageTable);
        let lines = AccessedLines { all: vec![range], ..AccessedLines::default() };
        tracked.add(RecordedEvent::Access { route, access: Access::Read, lines }, &[at(9)], stores);
    }

    /// Returns the kinds of the steps, the lines, and those that were dirty afterwards.
    fn told(tracked: &Tracked) -> Vec<(What, Vec<LineRange>, Vec<LineRange>)> {
        tracked.history().steps.into_iter().map(|step| (step.what, step.lines, step.after.dirty)).collect()
    }

    /// An object whose lines were seen clean.
    fn clean() -> Tracked {
        let mut tracked = Tracked::default();
        see(&mut tracked, &[]);
        tracked
    }

    #[test]
    fn a_line_that_no_flush_names_was_stored_before_the_flushes() {
        let mut tracked = clean();
        tracked.flushed(flush(2, lines(0, 37), Found::Dirty));
        tracked.flushed(flush(3, lines(38, 256), Found::Dirty));
        see(&mut tracked, &[lines(37, 38)]);
        gpu_reads(&mut tracked, lines(0, 256));
        let read = What::Access { route: Route::Gpu(MocsClass::PageTable), access: Access::Read };
        let expected = [
            (What::Stored, vec![lines(0, 256)], vec![lines(0, 256)]),
            (What::Flushed, vec![lines(0, 37)], vec![lines(37, 256)]),
            (What::Flushed, vec![lines(38, 256)], vec![lines(37, 38)]),
            (read, vec![lines(0, 256)], vec![lines(37, 38)]),
        ];
        assert_eq!(told(&tracked), expected);
        let places: Vec<_> = tracked.history().steps.iter().map(|step| step.stack.clone()).collect();
        assert_eq!(places, [vec![at(1)], vec![at(2)], vec![at(3)], vec![at(9)]]);
    }

    #[test]
    fn a_load_is_after_the_flushes_and_stores_before_it() {
        let mut tracked = clean();
        let outdated = vec![lines(0, 256)];
        let written = AccessedLines { all: outdated.clone(), outdated, ..AccessedLines::default() };
        let route = Route::Gpu(MocsClass::PageTable);
        tracked.add(RecordedEvent::Access { route, access: Access::Write, lines: written }, &[at(9)], stores);
        tracked.flushed(flush(2, lines(0, 20), Found::Stale));
        let states = LineStates { dirty: vec![lines(64, 65)], stale: vec![lines(20, 64), lines(65, 256)] };
        tracked.load(&states, &[lines(20, 23)], &[at(5)]);
        let steps = tracked.history().steps;
        let last: Vec<_> =
            steps.iter().skip(1).map(|step| (step.what, &step.lines[..], &step.stack[..])).collect();
        let expected = [
            // Drawn at the first moment that is possible.
            (What::Stored, &[lines(64, 65)][..], &[][..]),
            (What::Flushed, &[lines(0, 20)], &[at(2)]),
            (What::Loaded, &[lines(20, 23)], &[at(5)]),
        ];
        assert_eq!(last, expected);
        assert_eq!(steps.last().map(|step| &step.after), Some(&states));
    }

    #[test]
    fn a_line_that_is_dirty_after_its_flush_was_stored_after_it() {
        let mut tracked = clean();
        tracked.flushed(flush(2, lines(4, 6), Found::Clean));
        see(&mut tracked, &[lines(4, 6)]);
        let expected = [
            (What::Flushed, vec![lines(4, 6)], vec![]),
            (What::Stored, vec![lines(4, 6)], vec![lines(4, 6)]),
        ];
        assert_eq!(told(&tracked), expected);
        // And again, between two flushes.
        let mut tracked = clean();
        tracked.flushed(flush(2, lines(4, 5), Found::Dirty));
        tracked.flushed(flush(3, lines(4, 5), Found::Dirty));
        see(&mut tracked, &[]);
        let kinds: Vec<_> = told(&tracked).into_iter().map(|(what, _, _)| what).collect();
        assert_eq!(kinds, [What::Stored, What::Flushed, What::Stored, What::Flushed]);
    }

    #[test]
    fn dirty_lines_that_nothing_flushed_left_the_cache() {
        let mut tracked = clean();
        see(&mut tracked, &[lines(1, 3)]);
        see(&mut tracked, &[lines(2, 3)]);
        let expected = [
            (What::Stored, vec![lines(1, 3)], vec![lines(1, 3)]),
            (What::LeftCache, vec![lines(1, 2)], vec![lines(2, 3)]),
        ];
        assert_eq!(told(&tracked), expected);
    }

    #[test]
    fn zeroes_of_new_pages_are_no_stores() {
        let mut tracked = Tracked::default();
        let states = LineStates { dirty: vec![lines(0, 64)], stale: Vec::new() };
        tracked.add(RecordedEvent::Lines(states.clone()), &[], unknown);
        let request = RecordedEvent::Request { call: "test", event: Event::Acquire, flushes: true };
        tracked.add(request, &[], stores);
        let history = tracked.history();
        assert_eq!(history.before, states);
        let [step] = &history.steps[..] else { panic!("one step") };
        assert_eq!((&step.written_back, &step.after), (&states.dirty, &LineStates::default()));
    }

    #[test]
    fn the_oldest_steps_become_the_state_before() {
        let mut tracked = clean();
        see(&mut tracked, &[lines(7, 8)]);
        for _ in 0..MOST_STEPS {
            gpu_reads(&mut tracked, lines(0, 1));
        }
        let history = tracked.history();
        assert_eq!((history.dropped, history.steps.len()), (1, MOST_STEPS));
        assert_eq!(history.before.dirty, [lines(7, 8)]);
    }
}

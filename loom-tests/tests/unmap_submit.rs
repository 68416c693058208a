//! An unmap against a submission, which flushes through the mapping.
//!
//! Invariant: neither refuses the other; no page is released while a flush uses it, and what was dirty before is in memory
//! after both.
//! Preemption bound: 3. Time: 1 s.
#![cfg(loom)]

use std::convert::Infallible;

use gem_coherency::tracking::{Completion, Mappings, Marks, Past, Remap, State, complete};
use gem_coherency::vocabulary::MmapMode;
use loom::cell::UnsafeCell;
use loom::sync::atomic::{AtomicU64, Ordering};
use loom_tests::{Object, race};

/// A mapping: the number of its pages plus one, or 0 for none.
struct Table(AtomicU64);

impl Remap for Table {
    fn remap(&self, new: Self) {
        self.0.store(new.0.load(Ordering::Relaxed), Ordering::Relaxed);
    }
}

/// An object with a dirty line, its mapping, and the pages that were mapped one after the other.
struct Bo {
    object: Object,
    maps: Mappings<Table>,
    made: AtomicU64,
    pages: [UnsafeCell<()>; 2],
}

fn is_cached(mode: MmapMode) -> bool {
    mode == MmapMode::Wb
}

impl Bo {
    fn new() -> Self {
        let (object, maps, made) = (Object::new(1), Mappings::new(Past::Known), AtomicU64::new(0));
        let bo = Self { object, maps, made, pages: Default::default() };
        bo.object.write(0, 1);
        bo.find();
        bo
    }

    /// Returns the number of the pages of the mapping, which is made if there is none.
    fn find(&self) -> usize {
        let make =
            || Ok::<_, Infallible>(Table(AtomicU64::new(1 + self.made.fetch_add(1, Ordering::Relaxed))));
        loop {
            let stale = self.object.tracked.stale();
            let Ok(table) = self.maps.get_or_make(MmapMode::Wb, stale, is_cached, make);
            if let Some(pages) = table.0.load(Ordering::Relaxed).checked_sub(1) {
                return pages as usize;
            }
            loom::thread::yield_now();
        }
    }

    /// Flushes through the mapping, which `find` found earlier or finds now.
    fn flush(&self, marks: Marks, find: impl Fn() -> usize) {
        loop {
            let mut in_flight = self.object.begin_flush();
            let pages = find();
            in_flight.take_dirty(marks, |lines| {
                self.pages[pages].with(|_| self.object.memory.flush(lines));
            });
            // A flush that finds nothing uses the pages, too: so does a drain.
            self.pages[pages].with(|_| ());
            if complete([in_flight]) == Completion::InMemory {
                return;
            }
        }
    }

    fn submit(&self, flush: impl Fn(&Self, Marks)) {
        let word = self.object.tracked.word();
        let marks =
            word.try_update(State::begin_submit).expect("an unmap refuses no submission").after.marks();
        flush(self, marks);
        assert_eq!(self.object.memory.gpu_load(0), 1, "the submission reads old memory");
        word.end(State::end_submit);
    }

    fn unmap(&self, wait: impl Fn(&Self)) {
        let word = self.object.tracked.word();
        let marks = word.try_update(State::begin_unmap).expect("a submission refuses no unmap").after.marks();
        self.flush(marks, || self.find());
        let stale = self.object.tracked.stale();
        let pages = self.maps.forget(None, stale, is_cached, |table| table.0.swap(0, Ordering::Relaxed));
        wait(self);
        for pages in pages.into_iter().flatten() {
            self.pages[pages as usize - 1].with_mut(|_| ());
        }
        word.update(State::end_unmap);
    }
}

fn wait(bo: &Bo) {
    bo.object.tracked.wait_for_flushes();
}

fn model(submit: fn(&Bo), unmap: fn(&Bo)) {
    race(Some(3), Bo::new, submit, unmap, |bo| {
        assert_eq!(bo.object.memory.gpu_load(0), 1, "a dirty line was lost");
        assert_eq!(bo.object.tracked.dirty().count(), 0);
    });
}

#[test]
fn a_submission_flushes_while_the_mapping_ends() {
    model(|bo| bo.submit(|bo, marks| bo.flush(marks, || bo.find())), |bo| bo.unmap(wait));
}

#[test]
#[should_panic(expected = "Causality violation")]
fn pages_that_are_released_without_a_wait_are_in_use() {
    model(|bo| bo.submit(|bo, marks| bo.flush(marks, || bo.find())), |bo| bo.unmap(|_| ()));
}

#[test]
#[should_panic(expected = "Causality violation")]
fn pages_that_are_found_before_the_flush_is_announced_are_not_waited_for() {
    let submit = |bo: &Bo| {
        bo.submit(|bo, marks| {
            let found = bo.find();
            bo.flush(marks, || found);
        });
    };
    model(submit, |bo| bo.unmap(wait));
}

//! A writer against a submitter that sweeps the summary of a large map.
//!
//! Invariant: a mark is found by every in-flight flush that begins after it, and no map is clean that has one,
//! although the sweep forgets pages while others mark them.
//! Preemption bound: 3. Time: 6 s.
#![cfg(loom)]

use gem_coherency::tracking::{Completion, Marks, Tracked, complete, set_peeks};
use gem_coherency::units::{LineRange, PageLines};
use gem_coherency::vocabulary::CacheLevel;
use loom_tests::{Memory, race};

/// Pages of a map that is large enough for a summary. Under loom they are two groups of one run; the last page is the second.
const PAGES: u64 = 9;
const PREEMPTIONS: Option<usize> = Some(3);

/// An object with data in the first line of two of its pages.
struct Large {
    tracked: Tracked,
    memory: Memory,
}

/// The first line of a page.
fn line(page: u64) -> LineRange {
    LineRange::new(page * 64, page * 64 + 1)
}

impl Large {
    /// A map whose summary remembers marks of lines, `noted`, that are not there any more.
    fn new(noted: LineRange) -> Self {
        let tracked = Tracked::new(PAGES * 4096, CacheLevel::None).expect("a small map");
        let object = Self { tracked, memory: Memory::new(2) };
        object.mark(noted);
        // Part of the object only: this does not sweep.
        let mut in_flight = object.tracked.begin_flush(noted).expect("lines of the object");
        in_flight.take_dirty_pages(Marks::Shared, |_| {});
        assert_eq!(complete([in_flight]), Completion::InMemory);
        object
    }

    fn mark(&self, lines: LineRange) {
        self.tracked.dirty().mark(lines).expect("lines of the object");
    }

    fn write(&self, page: u64, value: u64) {
        self.memory.store(page, value);
        self.mark(line(page));
    }

    fn flush(&self, page: PageLines) {
        self.memory.flush(LineRange::new(page.page(), page.page() + 1));
    }

    /// Flushes what is dirty of the whole object, and sweeps.
    fn make_current(&self) {
        let mut in_flight = self.tracked.begin_flush(self.tracked.dirty().all()).expect("all lines");
        in_flight.take_dirty_pages(Marks::Shared, |page| self.flush(page));
        assert_eq!(complete([in_flight]), Completion::InMemory);
    }

    /// Waits for what others flush.
    fn wait(&self) {
        let in_flight = self.tracked.begin_flush(line(0)).expect("a line of the object");
        assert_eq!(complete([in_flight]), Completion::InMemory);
    }
}

fn model(write: fn(&Large)) {
    noted(line(0), write);
}

/// The model of a map whose summary remembers marks.
fn noted(lines: LineRange, write: fn(&Large)) {
    for peeks in [true, false] {
        let setup = move || {
            set_peeks(peeks);
            Large::new(lines)
        };
        race(PREEMPTIONS, setup, write, Large::make_current, |object| {
            object.make_current();
            assert_eq!(object.memory.gpu_load(0), 1, "submitted at last");
            assert!(object.tracked.dirty().is_clean());
        });
    }
}

#[test]
fn a_mark_that_meets_a_sweep_is_found_by_the_next_flush() {
    model(|object| {
        object.write(0, 1);
        object.make_current();
        assert_eq!(object.memory.gpu_load(0), 1, "submitted after the write");
    });
}

#[test]
fn a_mark_of_another_page_that_meets_a_sweep_is_found_by_the_next_flush() {
    model(|object| {
        object.write(0, 1);
        object.write(1, 2);
        object.make_current();
        assert_eq!(object.memory.gpu_load(1), 2, "submitted after the write");
    });
}

#[test]
fn a_mark_of_another_group_that_meets_a_sweep_is_found_by_the_next_flush() {
    noted(line(PAGES - 1), |object| {
        object.write(0, 1);
        object.make_current();
        assert_eq!(object.memory.gpu_load(0), 1, "submitted after the write");
    });
}

#[test]
fn marks_of_several_pages_that_meet_a_sweep_are_found_by_the_next_flush() {
    for lines in [LineRange::new(0, 65), line(PAGES - 1)] {
        noted(lines, |object| {
            object.memory.store(0, 1);
            object.mark(LineRange::new(0, 65));
            object.make_current();
            assert_eq!(object.memory.gpu_load(0), 1, "submitted after the write");
        });
    }
}

#[test]
fn a_map_that_is_swept_is_clean_only_if_the_mark_was_taken() {
    model(|object| {
        object.write(0, 1);
        if object.tracked.dirty().is_clean() {
            object.wait();
            assert_eq!(object.memory.gpu_load(0), 1, "clean after the write");
        }
    });
}

#[test]
fn what_is_settled_is_in_memory() {
    model(|object| {
        object.write(0, 1);
        if object.tracked.is_current(|_| !object.tracked.dirty().is_clean()) {
            assert_eq!(object.memory.gpu_load(0), 1, "settled after the write");
        }
    });
}

#[test]
#[should_panic(expected = "submitted")]
fn a_mark_before_the_store_loses_the_line_of_a_large_map() {
    model(|object| {
        object.mark(line(0));
        object.memory.store(0, 1);
        object.make_current();
    });
}

#[test]
#[should_panic(expected = "clean after the write")]
fn a_clean_map_alone_does_not_say_that_the_line_is_in_memory() {
    model(|object| {
        object.write(0, 1);
        if object.tracked.dirty().is_clean() {
            assert_eq!(object.memory.gpu_load(0), 1, "clean after the write");
        }
    });
}

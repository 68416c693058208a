//! The only writer's marks, which it makes by plain stores, against submissions and other writers.
//!
//! Invariant: a submission that began after a writer's guard was closed shows the GPU what that writer stored; no mark is
//! lost, although a flush that is not alone takes marks while the writer makes more; a thread that finds marks taken finds
//! the flush that took them.
//! Preemption bound: 3. Time: 0.3 s.
#![cfg(loom)]

use gem_coherency::tracking::{Completion, Marks, State, complete};
use gem_coherency::units::{LineRange, PageLines};
use loom_tests::{Object, race};

const PREEMPTIONS: Option<usize> = Some(3);

/// The place of the marks of an access whose begin gave a state.
type Place = fn(State) -> Marks;

/// An object of two lines, in one page.
fn object() -> Object {
    Object::new(2)
}

/// Stores 1 to `lines` in a guard that is open, then closes it.
fn write(object: &Object, marks: Marks, lines: &[u64]) {
    for &line in lines {
        object.memory.store(line, 1);
        object.tracked.dirty().mark_in(marks, LineRange::new(line, line + 1));
    }
    object.tracked.word().end(State::end_write);
}

fn begin_write(object: &Object, place: Place) -> Marks {
    place(object.tracked.word().try_update(State::begin_write).expect("nothing blocks it").after)
}

/// Submits the object, and checks `closed` lines if no writer was open.
fn submit(object: &Object, place: Place, closed: &[u64]) {
    let state = object.tracked.word().try_update(State::begin_submit).expect("nothing blocks it").after;
    loop {
        let mut in_flight = object.begin_flush();
        let flush = |page: PageLines| page.runs().for_each(|run| object.memory.flush(run));
        match in_flight.take_own_pages(place(state)) {
            Some(pages) => pages.for_each(flush),
            None => {
                in_flight.take_dirty_pages(place(state), flush);
            }
        }
        if complete([in_flight]) == Completion::InMemory {
            break;
        }
    }
    if state.writers() == 0 {
        for &line in closed {
            assert_eq!(object.memory.gpu_load(line), 1, "submitted after the end of the write");
        }
    }
    object.tracked.word().end(State::end_submit);
}

/// Submits the object at last, when nothing else is open.
fn submit_at_last(object: &Object) {
    submit(object, State::marks, &[]);
    assert_eq!([0, 1].map(|line| object.memory.gpu_load(line)), [1, 1], "submitted at last");
    assert!(object.tracked.dirty().is_clean());
}

/// A writer of both lines, whose guard is open from the start, against a submission.
fn against_a_submission(place: Place, submits: Place) {
    let setup = || {
        let object = object();
        let marks = begin_write(&object, State::marks);
        assert_eq!(marks, Marks::Own);
        object
    };
    race(
        PREEMPTIONS,
        setup,
        move |object| write(object, place(object.tracked.word().state()), &[0, 1]),
        move |object| submit(object, submits, &[0, 1]),
        submit_at_last,
    );
}

/// Two writers of a line each.
fn against_a_writer(place: Place) {
    let writer = move |line| {
        move |object: &Object| {
            let marks = begin_write(object, place);
            write(object, marks, &[line]);
        }
    };
    race(PREEMPTIONS, object, writer(0), writer(1), submit_at_last);
}

#[test]
fn a_submission_after_the_end_of_the_only_write_sees_its_data() {
    against_a_submission(|_| Marks::Own, State::marks);
}

#[test]
fn two_writers_lose_no_mark() {
    against_a_writer(State::marks);
}

#[test]
fn a_writer_after_another_and_a_submission_between_lose_no_mark() {
    let both = |object: &Object| {
        for line in [0, 1] {
            let marks = begin_write(object, State::marks);
            write(object, marks, &[line]);
        }
    };
    race(PREEMPTIONS, object, both, |object| submit(object, State::marks, &[]), submit_at_last);
}

#[test]
fn a_reader_that_flushes_finds_the_marks() {
    let setup = || {
        let object = object();
        let marks = begin_write(&object, State::marks);
        write(&object, marks, &[0]);
        object
    };
    let read = |object: &Object| {
        object.tracked.word().try_update(State::begin_read).expect("nothing blocks it");
        object.make_current();
        assert_eq!(object.memory.gpu_load(0), 1, "flushed by a reader");
        object.tracked.word().end(State::end_read);
    };
    let writer = |object: &Object| {
        let marks = begin_write(object, State::marks);
        write(object, marks, &[1]);
    };
    race(PREEMPTIONS, setup, read, writer, submit_at_last);
}

/// A submission of the only writer's line, while another thread goes on if `is_current`.
fn taken_beside(is_current: fn(&Object) -> bool) {
    let setup = || {
        let object = object();
        let marks = begin_write(&object, State::marks);
        write(&object, marks, &[0]);
        object
    };
    let look = move |object: &Object| {
        if is_current(object) {
            assert_eq!(object.memory.gpu_load(0), 1, "found current");
        }
    };
    race(PREEMPTIONS, setup, |object| submit(object, State::marks, &[0]), look, |_| {});
}

#[test]
fn a_thread_that_finds_the_marks_taken_finds_the_flush() {
    taken_beside(|object| object.tracked.is_current(|_| !object.tracked.dirty().is_clean()));
}

#[test]
#[should_panic(expected = "found current")]
fn a_thread_that_finds_the_marks_taken_and_looks_for_no_flush_goes_on_too_early() {
    taken_beside(|object| object.tracked.dirty().is_clean());
}

/// A writer that stores twice to one line, and marks it by `mark_again` after the second store, against a submission.
fn stored_twice(mark_again: fn(&Object, LineRange)) {
    let setup = || {
        let object = object();
        assert_eq!(begin_write(&object, State::marks), Marks::Own);
        object
    };
    let writer = move |object: &Object| {
        let line = LineRange::new(0, 1);
        object.memory.store(0, 1);
        object.tracked.dirty().mark_in(Marks::Own, line);
        object.memory.store(0, 2);
        mark_again(object, line);
        object.tracked.word().end(State::end_write);
    };
    let submit = |object: &Object| submit(object, State::marks, &[]);
    race(PREEMPTIONS, setup, writer, submit, move |object| {
        submit(object);
        assert_eq!(object.memory.gpu_load(0), 2, "the second store, submitted at last");
    });
}

#[test]
fn a_second_store_to_a_marked_line_is_not_lost() {
    stored_twice(|object, line| object.tracked.dirty().mark_in(Marks::Own, line));
}

#[test]
#[should_panic(expected = "the second store, submitted at last")]
fn a_mark_that_is_left_out_because_the_line_has_one_loses_the_second_store() {
    stored_twice(|object, line| {
        if !object.tracked.dirty().any(line) {
            object.tracked.dirty().mark_in(Marks::Own, line);
        }
    });
}

#[test]
#[should_panic(expected = "submitted")]
fn two_writers_that_both_think_they_are_alone_lose_a_mark() {
    against_a_writer(|_| Marks::Own);
}

#[test]
#[should_panic(expected = "submitted")]
fn a_submission_that_takes_the_marks_of_an_open_writer_loses_one() {
    against_a_submission(|_| Marks::Own, |_| Marks::Own);
}

#[test]
#[should_panic(expected = "submitted")]
fn a_mark_before_the_store_loses_the_line() {
    let setup = || {
        let object = object();
        begin_write(&object, State::marks);
        object
    };
    let early = |object: &Object| {
        object.tracked.dirty().mark_in(Marks::Own, LineRange::new(0, 2));
        object.tracked.word().end(State::end_write);
        object.memory.store(0, 1);
        object.memory.store(1, 1);
    };
    race(PREEMPTIONS, setup, early, |object| submit(object, State::marks, &[0]), submit_at_last);
}

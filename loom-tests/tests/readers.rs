//! Two readers of the same stale line.
//!
//! Invariant: a reader that finds no stale line, because the other one took it, does not load before
//! the line was invalidated. A line whose invalidate fails is found stale at any time.
//! Preemption bound: 5 (without one it takes half a minute). Time: 1 s.
#![cfg(loom)]

use gem_coherency::tracking::{Completion, State, complete};
use loom::sync::Arc;
use loom::thread;
use loom_tests::{Object, check, race};

fn two_readers(invalidate: fn(&Object)) {
    check(Some(5), move || {
        let object = Arc::new(Object::new(1));
        object.memory.gpu_store(0, 1);
        object.tracked.stale().mark_all();
        let read = move |object: &Object| {
            object.tracked.word().try_update(State::begin_read).expect("nothing blocks it");
            invalidate(object);
            assert_eq!(object.memory.load(0), 1, "the CPU loads a stale line");
            object.tracked.word().end(State::end_read);
        };
        let other = thread::spawn({
            let object = Arc::clone(&object);
            move || read(&object)
        });
        read(&object);
        other.join().unwrap();
    });
}

#[test]
fn no_reader_loads_before_the_line_was_invalidated() {
    two_readers(|object| {
        let mut in_flight = object.begin_flush();
        in_flight.take_stale(|run| object.memory.invalidate(run));
        assert_eq!(complete([in_flight]), Completion::InMemory);
    });
}

#[test]
#[should_panic(expected = "the CPU loads a stale line")]
fn taking_without_a_flush_lets_the_second_reader_load_a_stale_line() {
    two_readers(|object| {
        let stale = object.tracked.stale();
        stale.take(stale.all(), |run| object.memory.invalidate(run));
    });
}

/// One reader takes the stale line, and its invalidate fails; meanwhile the other one asks whether the line is stale.
fn failed_invalidate(is_stale: fn(&Object) -> bool) {
    let setup = || {
        let object = Object::new(1);
        object.tracked.stale().mark_all();
        object
    };
    let fail = |object: &Object| {
        let mut in_flight = object.begin_flush();
        in_flight.take_stale(|_| {});
    };
    race(None, setup, fail, move |object| assert!(is_stale(object), "a stale line is not found"), |_| {});
}

#[test]
fn a_line_whose_invalidate_fails_may_be_stale_at_any_time() {
    failed_invalidate(|object| object.tracked.may_be_stale(object.tracked.stale().all()));
}

#[test]
#[should_panic(expected = "a stale line is not found")]
fn the_map_alone_does_not_say_that_a_line_may_be_stale() {
    failed_invalidate(|object| object.tracked.stale().any(object.tracked.stale().all()));
}

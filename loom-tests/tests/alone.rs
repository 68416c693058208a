//! Flushes of one object by three threads, of which one begins alone and the others go on the board.
//!
//! Invariant: a flush that ends has in memory what was dirty before it began, also what another one took, whether that one
//! began alone or not; every thread that waits is woken, also by one that began alone; and once all have ended, the next one
//! begins alone, so that nothing is left on the board.
//! Preemption bound: 3. Time: 2 s.
#![cfg(loom)]

use gem_coherency::tracking::{Completion, Marks, complete};
use gem_coherency::units::LineRange;
use loom::sync::Arc;
use loom::thread;
use loom_tests::{Object, check};

const PREEMPTIONS: Option<usize> = Some(3);

/// A step of a thread.
type Step = fn(&Object);

/// Runs three steps at once on an object with a dirty line; `after` runs when all are done.
fn three(steps: [Step; 3], after: Step) {
    check(PREEMPTIONS, move || {
        let object = Arc::new(Object::new(1));
        object.write(0, 1);
        let [first, others @ ..] = steps;
        let threads = others.map(|step| {
            let object = Arc::clone(&object);
            thread::spawn(move || step(&object))
        });
        first(&object);
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        after(&object);
    });
}

fn is_in_memory(object: &Object) {
    assert_eq!(object.memory.gpu_load(0), 1, "flushed, and old");
}

/// Flushes, and waits for the others.
fn flush(object: &Object) {
    object.make_current();
    is_in_memory(object);
}

/// Takes the line, and fails.
fn fail(object: &Object) {
    let mut in_flight = object.begin_flush();
    in_flight.take_dirty(Marks::Shared, |_| {});
}

/// Goes on if it finds nothing pending and no flush open.
fn look(object: &Object) {
    if object.tracked.is_current(|_| !object.tracked.dirty().is_clean()) {
        is_in_memory(object);
    }
}

/// Finds no flush open.
fn nothing_is_left(object: &Object) {
    is_in_memory(object);
    assert!(object.tracked.is_current(|_| false), "left on the board");
}

#[test]
fn three_flushes_wait_for_each_other_and_leave_nothing() {
    three([flush, flush, flush], nothing_is_left);
}

#[test]
fn a_flush_that_fails_wakes_those_that_wait_for_it() {
    three([flush, fail, flush], nothing_is_left);
}

#[test]
fn what_is_settled_is_in_memory_whoever_flushed_it() {
    three([flush, look, flush], nothing_is_left);
}

#[test]
#[should_panic = "flushed, and old"]
fn one_that_does_not_wait_reads_old_data() {
    let hurry: Step = |object| {
        // The line is taken; a flush is open that may not have written it.
        if object.tracked.dirty().is_clean() {
            is_in_memory(object);
        }
    };
    three([flush, hurry, flush], nothing_is_left);
}

#[test]
#[should_panic = "flushed, and old"]
fn one_that_ignores_a_failure_reads_old_data() {
    let once: Step = |object| {
        let mut in_flight = object.begin_flush();
        in_flight.take_dirty(Marks::Shared, |run: LineRange| object.memory.flush(run));
        let (Completion::InMemory | Completion::Again) = complete([in_flight]);
        is_in_memory(object);
    };
    three([once, fail, fail], nothing_is_left);
}

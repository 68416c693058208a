//! Two readers of the same stale line.
//!
//! Invariant: a reader that finds no stale line, because the other one took it, does not load before
//! the line was invalidated.
//! Preemption bound: 5 (without one it takes half a minute). Time: 1 s.
#![cfg(loom)]

use gem_coherency::tracking::{Completion, complete};
use loom::sync::Arc;
use loom::thread;
use loom_tests::{Object, check};

fn two_readers(invalidate: fn(&Object)) {
    check(Some(5), move || {
        let object = Arc::new(Object::new(1));
        object.memory.gpu_store(0, 1);
        object.tracked.stale().mark_all();
        let read = move |object: &Object| {
            object.tracked.word().begin_read().expect("nothing blocks it");
            invalidate(object);
            assert_eq!(object.memory.load(0), 1, "the CPU loads a stale line");
            object.tracked.word().end_read();
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

//! A submitter against a scanout pin: both want the same dirty lines in memory.
//!
//! Invariant: whoever goes on finds in memory what was dirty before it began, also where the other
//! one took the line and is still flushing it, and also where the other one fails. No order of
//! objects makes the two wait for each other.
//! Preemption bound: none. Time: 7.4 s.
#![cfg(loom)]

use std::process::Command;

use gem_coherency::tracking::{Completion, Marks, State, WasPending, complete};
use gem_coherency::vocabulary::CacheLevel;
use loom::sync::Arc;
use loom::thread;
use loom_tests::{Object, check, race};

/// One line is dirty; two threads run `agent`, and then the line must be in memory for both.
fn two_agents(agent: fn(&Object)) {
    check(None, move || {
        let object = Arc::new(Object::new(1));
        object.write(0, 1);
        let pin = thread::spawn({
            let object = Arc::clone(&object);
            move || {
                object
                    .tracked
                    .word()
                    .try_update(|state| state.pin_screen(CacheLevel::None))
                    .expect("nothing blocks it");
                agent(&object);
                assert_eq!(object.memory.gpu_load(0), 1, "the display reads old data");
                object.tracked.word().update(State::unpin_screen);
            }
        });
        object.tracked.word().try_update(State::begin_submit).expect("nothing blocks it");
        agent(&object);
        assert_eq!(object.memory.gpu_load(0), 1, "the GPU reads old data");
        object.tracked.word().end(State::end_submit);
        pin.join().unwrap();
    });
}

#[test]
fn whoever_finds_no_line_waits_for_the_one_who_took_it() {
    two_agents(Object::make_current);
}

#[test]
#[should_panic(expected = "reads old data")]
fn taking_without_a_flush_lets_the_second_agent_read_old_data() {
    two_agents(|object| {
        let dirty = object.tracked.dirty().shared();
        dirty.take(dirty.all(), |run| object.memory.flush(run));
    });
}

#[test]
#[should_panic(expected = "reads old data")]
fn a_flush_announced_after_taking_is_announced_too_late() {
    two_agents(|object| {
        let dirty = object.tracked.dirty().shared();
        let mut runs = Vec::new();
        dirty.take(dirty.all(), |run| runs.push(run));
        let in_flight = object.begin_flush();
        runs.into_iter().for_each(|run| object.memory.flush(run));
        let _ = complete([in_flight]);
    });
}

/// One line is dirty; a in-flight flush fails while `agent` makes memory current.
fn one_fails(agent: fn(&Object)) {
    let setup = || {
        let object = Object::new(1);
        object.write(0, 1);
        object
    };
    let fails = |object: &Object| {
        let mut in_flight = object.begin_flush();
        in_flight.take_dirty(Marks::Shared, |_| {});
        drop(in_flight);
    };
    let agent = move |object: &Object| {
        agent(object);
        assert_eq!(object.memory.gpu_load(0), 1, "the GPU reads old data");
    };
    race(None, setup, fails, agent, |_| ());
}

#[test]
fn a_line_of_a_flush_that_failed_is_flushed_by_who_waited_for_it() {
    one_fails(Object::make_current);
}

#[test]
#[should_panic(expected = "reads old data")]
fn going_on_although_another_flush_failed_shows_old_data() {
    one_fails(|object| match complete([object.flush()]) {
        Completion::InMemory | Completion::Again => {}
    });
}

#[test]
fn a_store_buffer_that_another_agent_drains_is_waited_for() {
    check(None, || {
        let object = Arc::new(Object::new(1));
        object.memory.store(0, 1);
        object.tracked.word().update(State::note_wc_store);
        let drain = |object: &Object| {
            let mut in_flight = object.begin_flush();
            match in_flight.take_wc_stores() {
                WasPending::Yes => object.memory.flush(in_flight.range()),
                WasPending::No => {}
            }
            assert_eq!(complete([in_flight]), Completion::InMemory);
            assert_eq!(object.memory.gpu_load(0), 1);
        };
        let other = thread::spawn({
            let object = Arc::clone(&object);
            move || drain(&object)
        });
        drain(&object);
        other.join().unwrap();
    });
}

/// Two objects, flushed by two threads in opposite order; `agent` gets them in its order.
fn opposite_orders(agent: fn([&Object; 2])) {
    check(None, move || {
        let objects = Arc::new([Object::new(1), Object::new(1)]);
        objects.iter().for_each(|object| object.write(0, 1));
        let other = thread::spawn({
            let objects = Arc::clone(&objects);
            move || agent([&objects[1], &objects[0]])
        });
        agent([&objects[0], &objects[1]]);
        for object in objects.iter() {
            assert_eq!(object.memory.gpu_load(0), 1);
        }
        other.join().unwrap();
    });
}

#[test]
fn flushes_over_two_objects_in_opposite_orders_do_not_wait_in_a_circle() {
    opposite_orders(|objects| assert_eq!(complete(objects.map(Object::flush)), Completion::InMemory));
}

/// Tells the child process of the next test that it is the child.
const DEADLOCK: &str = "LOOM_TESTS_DEADLOCK";

#[test]
fn waiting_with_a_flush_open_is_a_deadlock() {
    if std::env::var_os(DEADLOCK).is_some() {
        return opposite_orders(|[first, second]| {
            let open = first.flush();
            let _ = complete([second.flush()]);
            let _ = complete([open]);
        });
    }
    // Loom reports a deadlock by a panic in the middle of `complete`, where unwinding takes further steps of
    // the model and aborts the process; so it happens in another one.
    let child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "--nocapture", "waiting_with_a_flush_open_is_a_deadlock"])
        .env(DEADLOCK, "1")
        .output()
        .unwrap();
    let stderr = String::from_utf8_lossy(&child.stderr);
    assert!(!child.status.success() && stderr.contains("deadlock; threads"), "{stderr}");
}

//! Two flush queues over the same objects, in opposite order; one that fails; one against a writer.
//!
//! Invariant: a queue that ends has everything in memory that was dirty or noted before it began, also
//! what another queue took and has not fenced yet, and also where that one fails; a line that is
//! marked while the queue runs is fenced or stays marked. No two queues wait for each other.
//! In the model a flush happens at the fence after it, not earlier.
//! Preemption bound: 3 (with 4 it takes a minute). Time: 5 s.
#![cfg(loom)]

use gem_coherency::policy::Path;
use gem_coherency::tracking::{Completion, InFlightFlush, Marks, State, complete};
use loom_tests::{Agent, Object, Unfenced, make_current, race};

const BOUND: Option<usize> = Some(3);

/// Makes everything of `objects` current for the display; the one at place `fails` fails if it has work. Returns whether
/// it did.
fn queue(objects: &[&Object], fails: Option<usize>) -> bool {
    let unfenced = Unfenced::default();
    let agents: Vec<_> = (0..)
        .zip(objects)
        .map(|(place, &object)| Agent { fails: fails == Some(place), ..Agent::new(object, &unfenced) })
        .collect();
    let failed = make_current(&agents, Path::Display).is_err();
    assert!(failed || unfenced.is_empty(), "a flush without a fence");
    failed
}

/// Two threads flush two dirty objects in opposite order, this one by `here`, the other one by `there`.
fn opposite_orders(there: fn(&[&Object]), here: fn(&[&Object])) {
    let setup = || {
        let objects = [Object::new(1), Object::new(1)];
        objects.iter().for_each(|object| object.write(0, 1));
        objects
    };
    let here = move |[first, second]: &[Object; 2]| {
        here(&[first, second]);
        for object in [first, second] {
            assert_eq!(object.memory.gpu_load(0), 1, "the GPU reads old data");
        }
    };
    race(BOUND, setup, move |[first, second]| there(&[second, first]), here, |_| ());
}

fn succeeds(objects: &[&Object]) {
    assert!(!queue(objects, None), "nothing fails");
}

#[test]
fn queues_in_opposite_order_leave_both_objects_in_memory() {
    opposite_orders(succeeds, succeeds);
}

#[test]
fn what_a_failing_queue_took_is_flushed_by_the_one_that_waits_for_it() {
    opposite_orders(|objects| _ = queue(objects, Some(1)), succeeds);
}

/// Flushes as the engine's `make_current` does, but only lines and once, with `steps` between the takes and the end.
fn queue_with(objects: &[&Object], steps: fn(Vec<InFlightFlush<'_>>, &Unfenced<'_>)) {
    let unfenced = Unfenced::default();
    let mut in_flight: Vec<_> = objects.iter().map(|object| object.begin_flush()).collect();
    for (object, in_flight) in objects.iter().zip(&mut in_flight) {
        in_flight.take_dirty(Marks::Shared, |run| unfenced.flush(object, run));
    }
    steps(in_flight, &unfenced);
}

#[test]
fn the_twins_loop_is_right_with_the_steps_in_order() {
    opposite_orders(succeeds, |objects| {
        queue_with(objects, |in_flight, unfenced| {
            unfenced.fence();
            assert_eq!(complete(in_flight), Completion::InMemory);
        });
    });
}

#[test]
#[should_panic(expected = "the GPU reads old data")]
fn completing_before_the_fence_lets_the_other_queue_read_old_data() {
    let there = |objects: &[&Object]| {
        queue_with(objects, |in_flight, unfenced| {
            assert_eq!(complete(in_flight), Completion::InMemory);
            unfenced.fence();
        });
    };
    opposite_orders(there, succeeds);
}

#[test]
#[should_panic(expected = "the GPU reads old data")]
fn a_queue_that_fails_and_completes_lets_the_other_one_read_old_data() {
    opposite_orders(
        |objects| queue_with(objects, |in_flight, _| assert_eq!(complete(in_flight), Completion::InMemory)),
        succeeds,
    );
}

/// Two threads want stores through the aperture drained: one that has no work if it `skips`, and one that
/// does `there`.
fn one_note(skips: fn(&Object) -> bool, there: fn(&Object)) {
    let setup = || {
        let object = Object::new(1);
        object.memory.store(0, 1);
        object.tracked.word().update(State::note_gtt_store);
        object
    };
    let here = move |object: &Object| {
        if !skips(object) {
            succeeds(&[object]);
        }
        assert_eq!(object.memory.gpu_load(0), 1, "the GPU reads old data");
    };
    race(BOUND, setup, there, here, |_| ());
}

/// Drains, and reads.
fn drains(object: &Object) {
    succeeds(&[object]);
    assert_eq!(object.memory.gpu_load(0), 1, "the GPU reads old data");
}

#[test]
fn a_note_that_another_queue_took_is_waited_for() {
    one_note(|_| false, drains);
    one_note(|object| object.tracked.is_current(State::has_gtt_stores), drains);
}

#[test]
#[should_panic(expected = "the GPU reads old data")]
fn a_queue_without_work_because_the_note_is_gone_does_not_wait_for_who_took_it() {
    one_note(|object| !object.tracked.word().state().has_gtt_stores(), drains);
}

#[test]
fn a_note_that_a_failing_queue_took_is_there_for_the_one_that_waits_for_it() {
    let fails = |object: &Object| _ = queue(&[object], Some(0));
    one_note(|_| false, fails);
    one_note(|object| object.tracked.is_current(State::has_gtt_stores), fails);
}

/// A writer marks a line while `flush` runs; then everything is flushed.
fn against_a_writer(flush: fn(&Object)) {
    race(BOUND, || Object::new(1), |object| object.write(0, 1), flush, drains);
}

#[test]
fn a_line_that_is_marked_while_a_queue_runs_is_fenced_or_stays_marked() {
    against_a_writer(|object| succeeds(&[object]));
}

#[test]
#[should_panic(expected = "the GPU reads old data")]
fn deciding_about_fences_before_the_take_loses_a_line_that_is_marked_between() {
    against_a_writer(|object| {
        let unfenced = Unfenced::default();
        let mut in_flight = object.begin_flush();
        let fenced = object.tracked.dirty().any(in_flight.range());
        in_flight.take_dirty(Marks::Shared, |run| unfenced.flush(object, run));
        if fenced {
            unfenced.fence();
        }
        assert_eq!(complete([in_flight]), Completion::InMemory);
    });
}

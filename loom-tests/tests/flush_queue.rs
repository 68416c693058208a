//! Two flush queues over the same objects, in opposite order; one that fails; one against a writer.
//!
//! Invariant: a queue that ends has everything in memory that was dirty or noted before it began, also
//! what another queue took and has not fenced yet, and also where that one fails; a line that is
//! marked while the queue runs is fenced or stays marked. No two queues wait for each other.
//! In the model a flush happens at the fence after it, not earlier.
//! Preemption bound: 5. Time: 16 s.
#![cfg(loom)]

use std::cell::RefCell;

use gem_coherency::error::{Error, Result};
use gem_coherency::tracking::{Batch, Flight, Landing, State, Taken, Tracked, Work, land, run_queue};
use gem_coherency::units::LineRange;
use loom_tests::{Object, race};

const BOUND: Option<usize> = Some(5);

/// What one thread has flushed and not fenced.
#[derive(Default)]
struct Unfenced<'a>(RefCell<Vec<(&'a Object, LineRange)>>);

impl<'a> Unfenced<'a> {
    fn flush(&self, object: &'a Object, lines: LineRange) {
        self.0.borrow_mut().push((object, lines));
    }

    fn fence(&self) {
        let flushed = std::mem::take(&mut *self.0.borrow_mut());
        flushed.into_iter().for_each(|(object, lines)| object.memory.flush(lines));
    }
}

/// A reader of memory wants everything of one object there.
struct Task<'a> {
    object: &'a Object,
    unfenced: &'a Unfenced<'a>,
    /// Whether it fails, with what it took in its hands.
    fails: bool,
}

fn failure() -> Error {
    Error::BadSize { size: 0, why: "the model says so" }
}

impl<'a> Work<'a> for Task<'a> {
    type Lines = (&'a Unfenced<'a>, &'a Object, LineRange);

    fn perform(&(unfenced, object, run): &Self::Lines) -> Result<()> {
        unfenced.flush(object, run);
        Ok(())
    }

    fn object(&self) -> &'a Tracked {
        &self.object.tracked
    }

    fn prepare(&mut self) -> Result<Option<LineRange>> {
        Ok(Some(self.object.tracked.dirty().all()))
    }

    fn carry_out(&mut self, flight: &mut Flight<'a>, batch: &mut Batch<'_, Self::Lines>) -> Result<()> {
        match flight.take_gtt_stores() {
            Taken::Pending if self.fails => return Err(failure()),
            // A drain waits by itself.
            Taken::Pending => self.object.memory.flush(flight.range()),
            Taken::Nothing => {}
        }
        let mut pushed = Ok(());
        flight.take_dirty(|run| {
            if pushed.is_ok() {
                pushed = batch.push((self.unfenced, self.object, run));
            }
        });
        if self.fails { Err(failure()) } else { pushed }
    }
}

/// Runs a queue over `objects`, of which the one at place `fails` fails.
fn queue(objects: &[&Object], fails: Option<usize>) -> Result<()> {
    let unfenced = Unfenced::default();
    let mut tasks: Vec<_> = (0..)
        .zip(objects)
        .map(|(place, object)| Task { object, unfenced: &unfenced, fails: fails == Some(place) })
        .collect();
    let result = run_queue(&mut tasks, &|| unfenced.fence());
    assert!(result.is_err() || unfenced.0.borrow().is_empty(), "a flush without a fence");
    result
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
    queue(objects, None).expect("nothing fails");
}

#[test]
fn queues_in_opposite_order_leave_both_objects_in_memory() {
    opposite_orders(succeeds, succeeds);
}

#[test]
fn what_a_failing_queue_took_is_flushed_by_the_one_that_waits_for_it() {
    opposite_orders(|objects| assert!(queue(objects, Some(1)).is_err()), succeeds);
}

/// The loop of [`run_queue`] over lines alone, once, with `steps` between the takes and the end.
fn queue_with(objects: &[&Object], steps: fn(Vec<Flight<'_>>, &Unfenced<'_>)) {
    let unfenced = Unfenced::default();
    let mut flights: Vec<_> = objects.iter().map(|object| object.begin_flight()).collect();
    for (object, flight) in objects.iter().zip(&mut flights) {
        flight.take_dirty(|run| unfenced.flush(object, run));
    }
    steps(flights, &unfenced);
}

#[test]
fn the_twins_loop_is_right_with_the_steps_in_order() {
    opposite_orders(succeeds, |objects| {
        queue_with(objects, |flights, unfenced| {
            unfenced.fence();
            assert_eq!(land(flights), Landing::InMemory);
        });
    });
}

#[test]
#[should_panic(expected = "the GPU reads old data")]
fn landing_before_the_fence_lets_the_other_queue_read_old_data() {
    let there = |objects: &[&Object]| {
        queue_with(objects, |flights, unfenced| {
            assert_eq!(land(flights), Landing::InMemory);
            unfenced.fence();
        });
    };
    opposite_orders(there, succeeds);
}

#[test]
#[should_panic(expected = "the GPU reads old data")]
fn a_queue_that_fails_and_lands_lets_the_other_one_read_old_data() {
    opposite_orders(
        |objects| queue_with(objects, |flights, _| assert_eq!(land(flights), Landing::InMemory)),
        succeeds,
    );
}

/// Two threads want stores through the aperture drained: one that has no work if it `skips`, and one that
/// does `there`.
fn one_note(skips: fn(&Object) -> bool, there: fn(&Object)) {
    let setup = || {
        let object = Object::new(1);
        object.memory.store(0, 1);
        object.tracked.word().note_gtt_store();
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

/// What the library asks.
fn is_settled(object: &Object) -> bool {
    object.tracked.is_settled(State::has_gtt_stores)
}

/// Drains, and reads.
fn drains(object: &Object) {
    succeeds(&[object]);
    assert_eq!(object.memory.gpu_load(0), 1, "the GPU reads old data");
}

#[test]
fn a_note_that_another_queue_took_is_waited_for() {
    one_note(|_| false, drains);
    one_note(is_settled, drains);
}

#[test]
#[should_panic(expected = "the GPU reads old data")]
fn a_queue_without_work_because_the_note_is_gone_does_not_wait_for_who_took_it() {
    one_note(|object| !object.tracked.word().state().has_gtt_stores(), drains);
}

#[test]
fn a_note_that_a_failing_queue_took_is_there_for_the_one_that_waits_for_it() {
    let fails = |object: &Object| assert!(queue(&[object], Some(0)).is_err());
    one_note(|_| false, fails);
    one_note(is_settled, fails);
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
        let mut flight = object.begin_flight();
        let fenced = object.tracked.dirty().any(flight.range());
        flight.take_dirty(|run| unfenced.flush(object, run));
        if fenced {
            unfenced.fence();
        }
        assert_eq!(land([flight]), Landing::InMemory);
    });
}

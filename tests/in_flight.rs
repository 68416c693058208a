//! In-flight flushes, on one thread.
#![cfg(not(loom))]

use std::sync::mpsc;
use std::time::Duration;

use gem_coherency::Error;
use gem_coherency::tracking::{Completion, Marks, State, Tracked, WasPending, complete};
use gem_coherency::units::LineRange;
use gem_coherency::vocabulary::CacheLevel;

fn tracked() -> Tracked {
    Tracked::new(4 * 4096, CacheLevel::None).unwrap()
}

#[test]
fn a_flush_that_completes_leaves_nothing_after() {
    let object = tracked();
    object.dirty().mark(LineRange::new(10, 20)).unwrap();
    object.word().update(State::note_wc_store);
    let mut in_flight = object.begin_flush(object.dirty().all()).unwrap();
    assert_eq!(in_flight.take_dirty(Marks::Shared, |_| {}), 10);
    assert_eq!(in_flight.take_wc_stores(), WasPending::Yes);
    assert_eq!(in_flight.take_wc_stores(), WasPending::No);
    assert_eq!(in_flight.take_gtt_stores(), WasPending::No);
    assert_eq!(in_flight.take_gpu_write(), WasPending::No);
    assert_eq!(complete([in_flight]), Completion::InMemory);
    assert!(object.dirty().is_clean() && !object.word().state().has_wc_stores());
}

#[test]
fn a_dropped_flush_restores_exactly_its_marks() {
    let object = tracked();
    object.dirty().mark_all();
    object.stale().mark_all();
    object.word().update(State::note_gtt_store);
    object.word().update(State::note_gpu_write);
    let range = LineRange::new(64, 128);
    let mut in_flight = object.begin_flush(range).unwrap();
    assert_eq!(in_flight.take_dirty(Marks::Shared, |_| {}), 64);
    assert_eq!(in_flight.take_stale(|_| {}), 64);
    assert_eq!(in_flight.take_gtt_stores(), WasPending::Yes);
    assert_eq!(in_flight.take_gpu_write(), WasPending::Yes);
    drop(in_flight);
    assert_eq!(object.dirty().count(), object.dirty().all().count());
    assert_eq!(object.stale().count(), object.stale().all().count());
    let state = object.word().state();
    assert!(state.has_gtt_stores() && state.has_gpu_write() && !state.has_wc_stores());

    let clean = tracked();
    let mut in_flight = clean.begin_flush(range).unwrap();
    assert_eq!(in_flight.take_wc_stores(), WasPending::No);
    drop(in_flight);
    assert!(clean.dirty().is_clean() && clean.stale().is_clean() && !clean.word().state().has_notes());
}

#[test]
fn a_panicking_flush_restores_its_marks() {
    let object = tracked();
    object.dirty().mark(LineRange::new(3, 4)).unwrap();
    let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        let mut in_flight = object.begin_flush(LineRange::new(3, 4)).unwrap();
        in_flight.take_dirty(Marks::Shared, |_| panic!("in the middle of a flush"));
    }));
    assert!(panicked.is_err());
    assert_eq!(object.dirty().count(), 1);
    let in_flight = object.begin_flush(object.dirty().all()).unwrap();
    assert_eq!(complete([in_flight]), Completion::InMemory, "the failed flight is not waited for");
}

#[test]
fn a_flush_that_fails_during_another_returns_again() {
    let object = tracked();
    let all = object.dirty().all();
    let other = object.begin_flush(all).unwrap();
    let in_flight = object.begin_flush(all).unwrap();
    drop(other);
    assert_eq!(complete([in_flight]), Completion::Again);
    assert_eq!(complete([object.begin_flush(all).unwrap()]), Completion::InMemory);
}

#[test]
fn a_flush_is_found_open_although_another_one_has_failed() {
    let object = tracked();
    let all = object.dirty().all();
    let other = object.begin_flush(all).unwrap();
    let in_flight = object.begin_flush(all).unwrap();
    drop(other);
    assert!(!object.is_current(|_| false));
    assert_eq!(complete([in_flight]), Completion::Again);
    assert!(object.is_current(|_| false));
}

#[test]
fn a_flush_that_leaves_lines_dirty_makes_others_start_over() {
    let object = tracked();
    let all = object.dirty().all();
    let flush = |keeps: bool| {
        let (other, mut in_flight) = (object.begin_flush(all).unwrap(), object.begin_flush(all).unwrap());
        if keeps {
            in_flight.keep_all_dirty();
        }
        complete([in_flight, other])
    };
    assert_eq!([flush(true), flush(false)], [Completion::Again, Completion::InMemory]);
    assert_eq!(object.dirty().count(), all.count());
}

#[test]
fn two_flushes_of_one_thread_over_one_object_do_not_wait_for_each_other() {
    let object = tracked();
    let all = object.dirty().all();
    let in_flight = [object.begin_flush(all).unwrap(), object.begin_flush(all).unwrap()];
    assert_eq!(complete(in_flight), Completion::InMemory);
}

#[test]
fn a_flush_over_other_lines_is_waited_for_because_it_may_have_taken_the_notes() {
    let object = tracked();
    object.word().update(State::note_wc_store);
    let mut first = object.begin_flush(LineRange::new(0, 64)).unwrap();
    assert_eq!(first.take_wc_stores(), WasPending::Yes);
    let (completed, told) = mpsc::channel();
    std::thread::scope(|scope| {
        let object = &object;
        scope.spawn(move || {
            let mut second = object.begin_flush(LineRange::new(64, 128)).unwrap();
            assert_eq!(second.take_wc_stores(), WasPending::No);
            completed.send(complete([second])).unwrap();
        });
        assert!(told.recv_timeout(Duration::from_millis(200)).is_err(), "it did not wait");
        assert_eq!(complete([first]), Completion::InMemory);
    });
    assert_eq!(told.recv(), Ok(Completion::InMemory));
}

#[test]
fn a_flush_that_leaves_the_object_is_an_error() {
    let object = tracked();
    let error = object.begin_flush(LineRange::new(0, 257)).unwrap_err();
    assert!(matches!(error, Error::RangeOutOfBounds { size: 16384, .. }), "{error}");
}

#[test]
fn gpu_writes_stay_noted_until_a_wait() {
    let object = tracked();
    let take = || {
        let mut in_flight = object.begin_flush(object.stale().all()).unwrap();
        let taken = (in_flight.take_stale(|_| {}), in_flight.take_gpu_write());
        assert_eq!(complete([in_flight]), Completion::InMemory);
        taken
    };
    let lines = LineRange::new(60, 70);
    object.gpu_writes().tell();
    object.stale().mark(lines).unwrap();
    object.word().update(State::note_gpu_write);
    for _ in 0..2 {
        assert!(!object.gpu_writes().are_over());
        assert_eq!(take(), (10, WasPending::Yes));
    }
    assert_eq!(object.gpu_writes().wait(|| Err("timeout")), Err("timeout"));
    assert_eq!(take(), (10, WasPending::Yes), "the wait failed");
    object.gpu_writes().wait_if_told(|| Ok::<_, Error>(())).unwrap();
    assert_eq!(take(), (10, WasPending::Yes));
    assert_eq!(take(), (0, WasPending::No));
    object.gpu_writes().wait_if_told(|| Err("asked to wait for nothing")).unwrap();
}

//! A stream that marks its lines late, against a submission and against a thread that finds nothing to do.
//!
//! Invariant: a submission by a thread that has learned of a stream's store shows it to the GPU, announced or not; what was stored
//! before the end is submitted at last.
//! Preemption bound: 3. Time: 10 s.
#![cfg(loom)]

use gem_coherency::tracking::{Completion, DirtyLines, Marks, State, complete};
use gem_coherency::units::{LineRange, PageLines};
use loom::sync::atomic::{AtomicU64, Ordering};
use loom_tests::{Object, race};

const PREEMPTIONS: Option<usize> = Some(3);

/// An object of two lines, to which a stream is open, and how many of its stores other threads may have learned of.
struct Scene {
    object: Object,
    stored: AtomicU64,
}

fn scene() -> Scene {
    let object = Object::new(2);
    let state = object.tracked.word().try_update(State::begin_write).expect("nothing blocks it").after;
    assert_eq!(state.marks(), Marks::Own);
    assert!(object.tracked.dirty().open_stream(LineRange::new(0, 2)));
    Scene { object, stored: AtomicU64::new(0) }
}

/// A step of a stream: marks a line, and takes it out of the open ones.
type Step = fn(&DirtyLines, LineRange);

fn announce(dirty: &DirtyLines, line: LineRange) {
    dirty.mark_in(Marks::Own, line);
    dirty.advance_stream(line.end());
}

fn announce_early(dirty: &DirtyLines, line: LineRange) {
    dirty.advance_stream(line.end());
    dirty.mark_in(Marks::Own, line);
}

fn end(dirty: &DirtyLines, line: LineRange) {
    dirty.mark_in(Marks::Own, line);
    dirty.close_stream();
}

fn end_early(dirty: &DirtyLines, line: LineRange) {
    dirty.close_stream();
    dirty.mark_in(Marks::Own, line);
}

/// Stores 1 to both lines, one by one, each with its step after another thread can learn of the store.
fn stream(scene: &Scene, steps: [Step; 2]) {
    let Scene { object, stored } = scene;
    for (line, step) in (0..).zip(steps) {
        object.memory.store(line, 1);
        stored.store(line + 1, Ordering::Release);
        step(object.tracked.dirty(), LineRange::new(line, line + 1));
    }
    object.tracked.word().end(State::end_write);
}

/// Submits the object, by `look` before: whether there is something to do.
fn submit(scene: &Scene, look: impl Fn(&Object) -> bool) {
    let Scene { object, stored } = scene;
    let known = stored.load(Ordering::Acquire);
    let state = object.tracked.word().try_update(State::begin_submit).expect("nothing blocks it").after;
    while look(object) {
        let mut in_flight = object.begin_flush();
        let flush = |page: PageLines| page.runs().for_each(|run| object.memory.flush(run));
        match in_flight.take_own_pages(state.marks()) {
            Some(pages) => pages.for_each(flush),
            None => {
                in_flight.take_dirty_pages(state.marks(), flush);
            }
        }
        if complete([in_flight]) == Completion::InMemory {
            break;
        }
    }
    for line in 0..known {
        assert_eq!(object.memory.gpu_load(line), 1, "known when submitted");
    }
    object.tracked.word().end(State::end_submit);
}

fn is_dirty(object: &Object) -> bool {
    let dirty = object.tracked.dirty();
    !object.tracked.is_current(|_| !dirty.is_quickly_clean(dirty.all()))
}

fn against_a_submission(steps: [Step; 2], look: fn(&Object) -> bool) {
    race(
        PREEMPTIONS,
        scene,
        move |scene| stream(scene, steps),
        move |scene| submit(scene, look),
        |scene| {
            submit(scene, |_| true);
            assert_eq!([0, 1].map(|line| scene.object.memory.gpu_load(line)), [1, 1], "submitted at last");
            assert!(scene.object.tracked.dirty().is_clean());
        },
    );
}

#[test]
fn a_submission_shows_what_the_stream_is_known_to_have_stored() {
    against_a_submission([announce, end], |_| true);
}

#[test]
fn a_thread_that_finds_nothing_to_do_misses_no_store() {
    against_a_submission([announce, end], is_dirty);
}

#[test]
fn a_second_stream_hides_no_mark_of_the_first() {
    let again = |dirty: &DirtyLines, line: LineRange| {
        end(dirty, line);
        assert!(dirty.open_stream(LineRange::new(1, 2)));
    };
    against_a_submission([again, end], |_| true);
    against_a_submission([again, end], is_dirty);
}

#[test]
#[should_panic(expected = "known when submitted")]
fn a_line_that_is_taken_out_before_it_is_marked_is_missed() {
    against_a_submission([announce_early, end], |_| true);
}

#[test]
#[should_panic(expected = "known when submitted")]
fn a_stream_that_closes_before_it_marks_is_missed() {
    against_a_submission([announce, end_early], is_dirty);
}

#[test]
#[should_panic(expected = "known when submitted")]
fn a_stream_that_is_not_open_is_missed_until_it_marks() {
    let unopened = |dirty: &DirtyLines, line: LineRange| {
        dirty.close_stream();
        announce(dirty, line);
    };
    let setup = || {
        let scene = scene();
        scene.object.tracked.dirty().close_stream();
        scene
    };
    race(
        PREEMPTIONS,
        setup,
        move |scene| stream(scene, [unopened, unopened]),
        |scene| submit(scene, |_| true),
        |_| {},
    );
}

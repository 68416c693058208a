//! A writer against a submitter.
//!
//! Invariant: a submission that began after the writer's guard was closed shows the GPU what the
//! writer stored; one that began before shows the old or the new data, and loses nothing.
//! Preemption bound: none. Time: 0.1 s.
#![cfg(loom)]

use gem_coherency::tracking::{ObjectWord, State};
use loom_tests::{Object, race};

/// The writer's part, after `begin_write`.
type Writer = fn(&Object, &ObjectWord);

fn model(writer: Writer) {
    let setup = || {
        let object = Object::new(1);
        object.tracked.word().try_update(State::begin_write).expect("nothing blocks it");
        object
    };
    let submit = |object: &Object| {
        let state = object.tracked.word().try_update(State::begin_submit).expect("nothing blocks it").after;
        object.make_current();
        if state.writers() == 0 {
            assert_eq!(object.memory.gpu_load(0), 1, "submitted after the end of the write");
        }
        object.tracked.word().end(State::end_submit);
    };
    let write = move |object: &Object| writer(object, object.tracked.word());
    race(None, setup, write, submit, |object| {
        object.make_current();
        assert_eq!(object.memory.gpu_load(0), 1, "submitted at last");
    });
}

#[test]
fn a_submission_after_the_end_of_a_write_sees_the_data() {
    model(|object, word| {
        object.write(0, 1);
        word.end(State::end_write);
    });
}

#[test]
#[should_panic(expected = "submitted")]
fn a_mark_before_the_store_loses_the_line() {
    model(|object, word| {
        object.mark(0);
        object.memory.store(0, 1);
        word.end(State::end_write);
    });
}

#[test]
#[should_panic(expected = "submitted after the end of the write")]
fn a_mark_after_the_end_of_the_write_comes_too_late() {
    model(|object, word| {
        object.memory.store(0, 1);
        word.end(State::end_write);
        object.mark(0);
    });
}

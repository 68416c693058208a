//! A submission that lists its objects, against a close and a change of the level.
//!
//! Invariant: a submission that is listed and has found its object ready keeps its handle and its level until it ends, and one that
//! is not listed is counted by the word.
//! Preemption bound: none. Time: 0.1 s.
#![cfg(loom)]

use gem_coherency::tracking::{Blocked, ObjectWord, State, Submissions};
use gem_coherency::vocabulary::CacheLevel;
use loom_tests::{Kernel, race};

/// The number by which submissions list the object.
const OBJECT: usize = 7;

/// The list, the word, and what the kernel knows: the handle (1 is open, 0 is closed), or the level (1 is LLC, 0 is NONE).
struct Object {
    submissions: Submissions<1>,
    word: ObjectWord,
    kernel: Kernel,
}

fn setup() -> Object {
    let word = ObjectWord::new(CacheLevel::Llc);
    let object = Object { submissions: Submissions::default(), word, kernel: Kernel::default() };
    object.kernel.change(1);
    object
}

/// Submits the object, whose place in the list is free.
fn submit(object: &Object) {
    match object.submissions.begin([OBJECT].into_iter()).unwrap() {
        Some(listed) => {
            if object.word.state().can_submit() {
                execbuf(object);
            }
            object.submissions.end(listed);
        }
        None => {
            if object.word.try_update(State::begin_submit).is_ok() {
                execbuf(object);
                object.word.end(State::end_submit);
            }
        }
    }
}

/// The ioctl: the kernel has what the submission found.
fn execbuf(object: &Object) {
    let expected = u64::from(object.word.state().level() == CacheLevel::Llc);
    assert_eq!(object.kernel.get(), expected, "another level, or a closed handle");
}

/// Makes a transition that submissions block; returns whether it happened.
fn update(object: &Object, transition: impl Fn(State) -> Result<State, Blocked>) -> bool {
    let changed = object
        .submissions
        .exclude(OBJECT, |listed| object.word.try_update(|state| state.with_listed(listed, &transition)));
    if let Err(blocked) = changed {
        assert_eq!(blocked, Blocked::InUse { writers: 0, readers: 0, submits: 1 });
    }
    changed.is_ok()
}

fn close(object: &Object) {
    if update(object, State::close) {
        object.kernel.change(0);
    }
}

fn change_level(object: &Object) {
    if update(object, |state| state.begin_level_change(CacheLevel::None)) {
        object.kernel.change(0);
        object.word.update(|state| state.end_level_change(CacheLevel::None));
    }
}

#[test]
fn a_listed_submission_keeps_its_handle() {
    race(None, setup, submit, close, |_| ());
}

#[test]
fn a_listed_submission_keeps_its_level() {
    race(None, setup, submit, change_level, |_| ());
}

#[test]
#[should_panic(expected = "Causality violation")]
fn looking_at_the_list_before_the_word_changes_is_not_enough() {
    race(
        None,
        setup,
        submit,
        |object| {
            let listed = object.submissions.exclude(OBJECT, |listed| listed);
            if object.word.try_update(|state| state.with_listed(listed, State::close)).is_ok() {
                object.kernel.change(0);
            }
        },
        |_| (),
    );
}

#[test]
#[should_panic(expected = "Causality violation")]
fn looking_at_the_word_before_the_object_is_listed_is_not_enough() {
    race(
        None,
        setup,
        |object| {
            let is_ready = object.word.state().can_submit();
            let listed = object.submissions.begin([OBJECT].into_iter()).unwrap();
            if is_ready && listed.is_some() {
                execbuf(object);
            }
            listed.into_iter().for_each(|listed| object.submissions.end(listed));
        },
        close,
        |_| (),
    );
}

#[test]
#[should_panic(expected = "Causality violation")]
fn a_submission_that_ends_before_the_ioctl_loses_its_handle() {
    race(
        None,
        setup,
        |object| {
            if let Some(listed) = object.submissions.begin([OBJECT].into_iter()).unwrap() {
                let is_ready = object.word.state().can_submit();
                object.submissions.end(listed);
                if is_ready {
                    execbuf(object);
                }
            }
        },
        close,
        |_| (),
    );
}

/// As [`setup`], with another submission in the only place.
fn without_a_place() -> Object {
    let object = setup();
    let _ = object.submissions.begin([0].into_iter()).unwrap();
    object
}

#[test]
fn a_submission_without_a_place_is_counted() {
    race(None, without_a_place, submit, close, |_| ());
}

#[test]
#[should_panic(expected = "Causality violation")]
fn a_submission_without_a_place_that_is_not_counted_loses_its_handle() {
    let uncounted = |object: &Object| {
        if object.word.state().can_submit() {
            execbuf(object);
        }
    };
    race(None, without_a_place, uncounted, close, |_| ());
}

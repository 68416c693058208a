//! A close against a submission or another request about the handle, and against another close.
//!
//! Invariant: a submission that has begun keeps its handle until it ends (the kernel may give a
//! closed handle to a new object, and the submission would be about that one), and of two closes one
//! gives the handle back.
//! Preemption bound: none. Time: 0.1 s.
#![cfg(loom)]

use gem_coherency::tracking::{Blocked, ObjectWord, State};
use gem_coherency::vocabulary::CacheLevel;
use loom::sync::atomic::{AtomicU64, Ordering};
use loom_tests::{Kernel, race};

/// The word, the kernel's handle (1 is open, 0 is closed), and how often it was closed.
struct Object {
    word: ObjectWord,
    handle: Kernel,
    closed: AtomicU64,
}

/// Both threads close; the second one submits first, with what it gets from `submit`.
fn model(submit: fn(&Object)) {
    let setup = || {
        let word = ObjectWord::new(CacheLevel::Llc);
        let object = Object { word, handle: Kernel::default(), closed: AtomicU64::new(0) };
        object.handle.change(1);
        object
    };
    let submitter = move |object: &Object| {
        submit(object);
        close(object);
    };
    race(None, setup, close, submitter, |object| {
        assert_eq!(object.closed.load(Ordering::Relaxed), 1, "one close gives the handle back");
    });
}

/// Closes the handle if the word allows it.
fn close(object: &Object) {
    match object.word.try_update(State::close) {
        Ok(_) => {
            assert_eq!(object.handle.get(), 1, "closed twice");
            object.handle.change(0);
            object.closed.fetch_add(1, Ordering::Relaxed);
        }
        Err(blocked) => {
            let in_use = Blocked::InUse { writers: 0, readers: 0, submits: 1 };
            assert!(blocked == in_use || blocked == Blocked::Closed, "{blocked:?}");
        }
    }
}

#[test]
fn a_submission_keeps_its_handle_until_it_ends() {
    model(|object| match object.word.try_update(State::begin_submit) {
        Ok(_) => {
            assert_eq!(object.handle.get(), 1, "submitted a closed handle");
            object.word.end(State::end_submit);
        }
        Err(blocked) => assert_eq!(blocked, Blocked::Closed),
    });
}

#[test]
fn a_request_keeps_its_handle_until_it_ends() {
    model(|object| match object.word.try_update(State::begin_request) {
        Ok(_) => {
            assert_eq!(object.handle.get(), 1, "a request about a closed handle");
            object.word.end(State::end_request);
        }
        Err(blocked) => assert_eq!(blocked, Blocked::Closed),
    });
}

#[test]
#[should_panic(expected = "Causality violation")]
fn looking_whether_it_is_closed_is_not_enough() {
    model(|object| {
        if !object.word.state().is_closed() {
            assert_eq!(object.handle.get(), 1, "submitted a closed handle");
        }
    });
}

#[test]
#[should_panic(expected = "Causality violation")]
fn a_submission_that_ends_before_the_ioctl_loses_its_handle() {
    model(|object| {
        if object.word.try_update(State::begin_submit).is_ok() {
            object.word.end(State::end_submit);
            assert_eq!(object.handle.get(), 1, "submitted a closed handle");
        }
    });
}

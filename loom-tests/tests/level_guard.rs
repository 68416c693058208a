//! A change of the level against a guard.
//!
//! Invariant: while a guard is open the kernel has the level that the guard saw when it began, and
//! while the level is being changed no guard begins.
//! Preemption bound: none. Time: 0.1 s.
#![cfg(loom)]

use gem_coherency::tracking::{Blocked, ObjectWord, State};
use gem_coherency::vocabulary::CacheLevel;
use loom_tests::{Kernel, race};

/// The word, and the kernel's level; the model begins with `Llc` (1) and changes to `None` (0).
struct Object {
    word: ObjectWord,
    kernel: Kernel,
}

fn model(change: fn(&Object)) {
    let setup = || {
        let object = Object { word: ObjectWord::new(CacheLevel::Llc), kernel: Kernel::default() };
        object.kernel.change(1);
        object
    };
    let guard = |object: &Object| match object.word.try_update(State::begin_write) {
        Ok(state) => {
            let cached = u64::from(state.after.level() == CacheLevel::Llc);
            assert_eq!(object.kernel.get(), cached, "the guard saw another level");
            assert_eq!(object.kernel.get(), cached, "the level changed under the guard");
            object.word.end(State::end_write);
        }
        Err(blocked) => assert_eq!(blocked, Blocked::Changing),
    };
    race(None, setup, change, guard, |_| ());
}

#[test]
fn the_level_does_not_change_under_a_guard() {
    model(|object| match object.word.try_update(|state| state.begin_level_change(CacheLevel::None)) {
        Ok(_) => {
            object.kernel.change(0);
            object.word.update(|state| state.end_level_change(CacheLevel::None));
        }
        Err(blocked) => assert_eq!(blocked, Blocked::InUse { writers: 1, readers: 0, submits: 0 }),
    });
}

#[test]
#[should_panic(expected = "Causality violation")]
fn looking_for_guards_before_the_change_is_not_enough() {
    model(|object| {
        if object.word.state().writers() == 0 {
            object.kernel.change(0);
            object.word.update(|state| state.end_level_change(CacheLevel::None));
        }
    });
}

#[test]
#[should_panic(expected = "Causality violation")]
fn a_change_in_the_word_alone_lets_a_guard_in_before_the_ioctl() {
    model(|object| {
        if object.word.try_update(|state| state.begin_level_change(CacheLevel::None)).is_ok() {
            object.word.update(|state| state.end_level_change(CacheLevel::None));
            object.kernel.change(0);
        }
    });
}

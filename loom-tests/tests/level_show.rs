//! A show that may fail against an access that asks the kernel for the level.
//!
//! Invariant: a level that counts as confirmed is the kernel's, whatever order the show, its end and the answers of
//! the kernel come in.
//! Preemption bound: none, and 2 where both threads ask. Time: 1 s.
#![cfg(loom)]

use gem_coherency::tracking::{ObjectWord, State};
use gem_coherency::vocabulary::CacheLevel;
use loom::sync::atomic::{AtomicU64, Ordering};
use loom_tests::race;

/// The word, and the kernel's level, which the show changes from `Llc` (1) to `None` (0).
struct Object {
    word: ObjectWord,
    kernel: AtomicU64,
}

impl Object {
    fn new() -> Self {
        Self { word: ObjectWord::new(CacheLevel::Llc), kernel: AtomicU64::new(1) }
    }

    /// GET_CACHING; orders nothing by itself.
    fn ask(&self) -> CacheLevel {
        match self.kernel.load(Ordering::Relaxed) {
            0 => CacheLevel::None,
            _ => CacheLevel::Llc,
        }
    }

    /// A flip between `prepare_scanout` and the end of its guard.
    fn show(&self) {
        self.word.try_update(|state| state.pin_screen(CacheLevel::None)).expect("nothing blocks it");
        self.kernel.store(0, Ordering::Relaxed);
        self.word.update(State::unpin_screen);
    }

    /// An access as the library begins it.
    fn access(&self) {
        self.word.try_update(State::begin_submit).expect("nothing blocks it");
        if self.word.state().is_unconfirmed() {
            let level = self.ask();
            self.word.update(|state| state.confirm_level(level, CacheLevel::None));
        }
        self.word.end(State::end_submit);
    }

    /// Checks that a confirmed level is the kernel's.
    fn check(&self) {
        let state: State = self.word.state();
        assert!(state.is_unconfirmed() || state.level() == self.ask(), "confirmed and wrong: {state:?}");
    }
}

fn model(bound: Option<usize>, show: fn(&Object), access: fn(&Object)) {
    race(bound, Object::new, show, access, Object::check);
}

#[test]
fn an_answer_from_before_the_show_confirms_nothing() {
    model(None, Object::show, Object::access);
}

#[test]
fn two_accesses_that_ask_around_a_show_agree_with_the_kernel() {
    let show_and_access = |object: &Object| {
        object.show();
        object.access();
    };
    model(Some(2), show_and_access, Object::access);
}

#[test]
#[should_panic(expected = "confirmed and wrong")]
fn an_answer_is_not_final_because_nothing_is_on_screen() {
    model(None, Object::show, |object| {
        object.word.try_update(State::begin_submit).expect("nothing blocks it");
        if object.word.state().is_unconfirmed() {
            let level = object.ask();
            if object.word.state().screen_pins() == 0 {
                // Whatever was asked before is taken for the level.
                object.word.update(|state| state.confirm_level(level, level));
            }
        }
        object.word.end(State::end_submit);
    });
}

#[test]
#[should_panic(expected = "confirmed and wrong")]
fn the_forced_level_is_not_believed_before_the_flip() {
    model(
        None,
        |object| {
            object.word.try_update(|state| state.pin_screen(CacheLevel::None)).expect("nothing blocks it");
            object.word.update(|state| state.confirm_level(CacheLevel::None, CacheLevel::None));
            object.word.update(State::unpin_screen);
        },
        |_| (),
    );
}

//! Contents that one thread marks as not needed, and another one as needed again.
//!
//! Invariant: where the word says that the contents are usable, the kernel does not purge them.
//! Preemption bound: none. Time: 0.1 s.
#![cfg(loom)]

use gem_coherency::tracking::{Blocked, ObjectWord, State};
use gem_coherency::vocabulary::CacheLevel;
use loom::sync::atomic::{AtomicU64, Ordering};
use loom_tests::race;

const WILL_NEED: u64 = 0;
const DONT_NEED: u64 = 1;

/// The word, and the advice that the kernel had last.
struct Object {
    word: ObjectWord,
    advice: AtomicU64,
}

impl Object {
    /// MADVISE.
    fn advise(&self, advice: u64) {
        self.advice.swap(advice, Ordering::Relaxed);
    }

    fn dont_need(&self) {
        match self.word.try_update(State::begin_dont_need) {
            Ok(_) => {
                self.advise(DONT_NEED);
                self.word.update(|state| state.end_advice(false));
            }
            Err(blocked) => assert_eq!(blocked, Blocked::Changing),
        }
    }
}

fn model(will_need: fn(&Object)) {
    let setup = || {
        let word = ObjectWord::new(CacheLevel::Llc);
        word.try_update(State::begin_dont_need).unwrap();
        word.update(|state| state.end_advice(false));
        Object { word, advice: AtomicU64::new(DONT_NEED) }
    };
    race(None, setup, will_need, Object::dont_need, |object| {
        let is_usable = object.word.try_update(State::begin_read).is_ok();
        let may_purge = object.advice.load(Ordering::Relaxed) == DONT_NEED;
        assert!(!is_usable || !may_purge, "the kernel may purge usable contents");
    });
}

#[test]
fn usable_contents_are_not_purged() {
    model(|object| match object.word.try_update(State::begin_will_need) {
        Ok(_) => {
            object.advise(WILL_NEED);
            object.word.update(|state| state.end_advice(true));
        }
        Err(blocked) => assert_eq!(blocked, Blocked::Changing),
    });
}

#[test]
#[should_panic(expected = "the kernel may purge usable contents")]
fn changing_the_word_after_the_request_alone_lets_other_advice_in() {
    model(|object| {
        object.advise(WILL_NEED);
        if object.word.try_update(State::begin_will_need).is_ok() {
            object.word.update(|state| state.end_advice(true));
        }
    });
}

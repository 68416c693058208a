//! An example to begin with: a change that looks right, model-checked on the public types.
//!
//! The change: a submission that finds no dirty line skips the in-flight flush. The race: another submission has
//! taken the line, so that the map is clean, and has not flushed it yet.
//! Invariant: what a writer stored before both submissions, the GPU reads after each of them.
//! Preemption bound: none. Time: 0.1 s.
//!
//! If you change a rule or the tracking, model the race that the change may lose, on the public types of `gem_coherency::tracking`, with the
//! change as a parameter. Put the model beside this file, and run it by its name:
//!
//! ```sh
//! RUSTFLAGS="--cfg loom" cargo test -p loom-tests --release --test example
//! ```
//!
//! `ci/loom` requires a failing twin in each file. A crate elsewhere depends on `loom` where `cfg(loom)` is set, as
//! `loom-tests/Cargo.toml` does.
//!
//! * Three threads, or over a dozen calls in each, need a bound: `LOOM_MAX_PREEMPTIONS=3`, or `loom_tests::check(Some(3), ..)`.
//! * Put data that must become visible into relaxed atomics or a `loom::cell::UnsafeCell`: a model's lock would order it.
//! * `LOOM_LOG=trace LOOM_LOCATION=1` prints the steps of every interleaving; the last one failed.
//! * loom's SeqCst is too weak: where two sides must see each other, both change one word by read-modify-writes.
#![cfg(loom)]

use gem_coherency::tracking::{Completion, Marks, Tracked, complete};
use gem_coherency::vocabulary::CacheLevel;
use loom::sync::Arc;
use loom::sync::atomic::{AtomicU64, Ordering};
use loom::thread;

/// One cache line. What it holds is data of the model, as the CPU and as the GPU see it, so that a flush
/// that is missing is a wrong read. `Relaxed` everywhere: only the tracking may order accesses.
struct Bo {
    tracked: Tracked,
    cache: AtomicU64,
    memory: AtomicU64,
}

/// The submission as the library does it.
fn submit(bo: &Bo) {
    let mut in_flight = bo.tracked.begin_flush(bo.tracked.dirty().all()).unwrap();
    in_flight
        .take_dirty(Marks::Shared, |_| bo.memory.store(bo.cache.load(Ordering::Relaxed), Ordering::Relaxed));
    assert_eq!(complete([in_flight]), Completion::InMemory);
}

/// The change.
fn submit_with_shortcut(bo: &Bo) {
    if !bo.tracked.dirty().is_clean() {
        submit(bo);
    }
}

/// Two threads submit what was written before; loom runs this once for every interleaving of them.
fn two_submissions(submit: fn(&Bo)) {
    loom::model(move || {
        let tracked = Tracked::new(64, CacheLevel::None).unwrap();
        let bo = Arc::new(Bo { tracked, cache: AtomicU64::new(0), memory: AtomicU64::new(0) });
        bo.cache.store(1, Ordering::Relaxed);
        bo.tracked.dirty().mark_all();

        let submit_and_read = move |bo: &Bo| {
            submit(bo);
            assert_eq!(bo.memory.load(Ordering::Relaxed), 1, "the GPU reads old data");
        };
        let other = thread::spawn({
            let bo = Arc::clone(&bo);
            move || submit_and_read(&bo)
        });
        submit_and_read(&bo);
        other.join().unwrap();
    });
}

#[test]
fn both_submissions_show_the_data() {
    two_submissions(submit);
}

// Without the `should_panic`: the failure that says that the change is wrong. With it, the proof that the
// model sees such a fault at all; keep one for every model.
#[test]
#[should_panic(expected = "the GPU reads old data")]
fn a_submission_that_skips_the_flush_shows_old_data() {
    two_submissions(submit_with_shortcut);
}

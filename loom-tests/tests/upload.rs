//! An upload against a submission, and against a writer of the same line.
//!
//! Invariant: a submission that finds a line unmarked because an upload took the mark waits until the
//! line is in memory; bytes that another thread stores beside the upload are in memory when the
//! upload is, or stay marked.
//! In the model a line has two halves, which only its flush brings to memory; the upload stores one.
//! Preemption bound: none. Time: below 1 s.
#![cfg(loom)]

use gem_coherency::engine;
use gem_coherency::tracking::Marks;
use gem_coherency::units::LineRange;
use loom_tests::{Agent, Object, Unfenced, race};

/// The line's halves, as places of the model's memory.
const HALVES: LineRange = LineRange::new(0, 2);
const UPLOADED: u64 = 0;
const OTHER: u64 = 1;

/// An object of which only line 0 is marked.
fn object() -> Object {
    Object::new(2)
}

/// Another thread's store to the other half.
fn write(object: &Object) {
    object.memory.store(OTHER, 1);
    object.mark(0);
}

/// Flushes the line if it is marked, and waits for those who took the mark.
fn submit(object: &Object) {
    object.make_current_by(|_| object.memory.flush(HALVES));
}

/// Stores to a half, and writes the line back.
fn store(object: &Object) {
    object.memory.store(UPLOADED, 1);
    object.memory.flush(HALVES);
}

fn upload(object: &Object) {
    let unfenced = Unfenced::default();
    let stored = || {
        store(object);
        Ok(())
    };
    engine::upload_to(&Agent::new(object, &unfenced), LineRange::new(0, 1), Marks::Shared, stored)
        .expect("nothing fails");
    assert_eq!(object.memory.gpu_load(UPLOADED), 1, "the GPU reads old data");
}

/// A dirty line is submitted while `uploads` takes its mark.
fn against_a_submission(uploads: fn(&Object)) {
    let setup = || {
        let object = object();
        write(&object);
        object
    };
    let submits = |object: &Object| {
        submit(object);
        assert_eq!(object.memory.gpu_load(OTHER), 1, "the GPU reads old data");
    };
    race(None, setup, uploads, submits, |_| ());
}

#[test]
fn a_submission_waits_for_the_upload_that_took_the_mark() {
    against_a_submission(upload);
}

#[test]
#[should_panic(expected = "the GPU reads old data")]
fn an_upload_without_a_flush_hides_the_line_from_a_submission() {
    against_a_submission(|object| {
        object.tracked.dirty().shared().take_pages(LineRange::new(0, 1), |_| {});
        store(object);
    });
}

/// Another thread stores to the other half of the line while `uploads` runs; then all is submitted.
fn against_a_writer(uploads: fn(&Object)) {
    race(None, object, write, uploads, |object| {
        submit(object);
        let seen = [UPLOADED, OTHER].map(|half| object.memory.gpu_load(half));
        assert_eq!(seen, [1, 1], "the GPU reads old data");
    });
}

#[test]
fn bytes_beside_an_upload_are_in_memory_or_marked() {
    against_a_writer(upload);
}

#[test]
#[should_panic(expected = "the GPU reads old data")]
fn taking_the_marks_after_the_stores_loses_what_was_stored_beside_them() {
    against_a_writer(|object| {
        let mut in_flight = object.begin_flush();
        store(object);
        in_flight.take_dirty_pages(Marks::Shared, |_| {});
        let _ = gem_coherency::tracking::complete([in_flight]);
    });
}

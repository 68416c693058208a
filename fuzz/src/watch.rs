//! The watch over the heap: an end to what can be allocated, and nothing left afterwards.

use std::alloc::System;

use cap::Cap;

/// Bytes of Rust's heap that a target may have; the library needs a fraction of it for any input.
const MOST_BYTES: usize = 256 << 20;

/// Every allocation of a target; one that exceeds the limit fails, which ends the process.
#[global_allocator]
static HEAP: Cap<System> = Cap::new(System, MOST_BYTES);

/// The number of runs of an input before the bytes that it leaves on the heap count as lost. The first run
/// may make something that stays, like a table of all platforms.
const TRIES: usize = 4;

/// Runs `test` and fails if it leaves anything on the heap, each time that it runs.
///
/// # Panics
/// If it does.
pub fn nothing_lost(mut test: impl FnMut()) {
    let mut lost = [0; TRIES];
    for lost in &mut lost {
        let before = HEAP.allocated();
        test();
        *lost = HEAP.allocated().saturating_sub(before);
        if *lost == 0 {
            return;
        }
    }
    panic!("bytes left on the heap: {lost:?} in {TRIES} runs");
}

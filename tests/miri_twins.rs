//! Undefined behaviour that Miri must reject.
//!
//! `ci/miri` runs each test by itself, and fails if one passes.
//!
//! Each test makes a forbidden copy into or out of a mapping. The memory is coherent in the CPU's caches, so
//! without Miri the tests would pass. They are for Miri only.
//!
//! # Safety
//! None of it is sound, on purpose.
#![cfg(miri)]
#![allow(clippy::undocumented_unsafe_blocks)]

use std::ptr::copy_nonoverlapping;

const BYTES: usize = 64;

/// Memory of the process, through raw pointers.
#[derive(Clone, Copy)]
struct Bytes(*mut u8);

unsafe impl Send for Bytes {}

impl Bytes {
    fn new() -> Self {
        Self(Box::into_raw(Box::new([0_u8; BYTES])).cast())
    }

    fn copy_in(self, data: &[u8]) {
        unsafe { copy_nonoverlapping(data.as_ptr(), self.0, data.len()) }
    }

    fn copy_out(self, data: &mut [u8]) {
        unsafe { copy_nonoverlapping(self.0, data.as_mut_ptr(), data.len()) }
    }

    fn free(self) {
        drop(unsafe { Box::from_raw(self.0.cast::<[u8; BYTES]>()) });
    }
}

#[test]
fn two_threads_copy_into_the_same_bytes() {
    let bytes = Bytes::new();
    std::thread::scope(|scope| {
        for value in [1, 2] {
            scope.spawn(move || {
                let bytes = bytes;
                bytes.copy_in(&[value; BYTES]);
            });
        }
    });
    bytes.free();
}

#[test]
fn a_copy_goes_beyond_the_end() {
    let bytes = Bytes::new();
    bytes.copy_in(&[1; BYTES + 1]);
    bytes.free();
}

#[test]
fn bytes_are_read_after_their_end() {
    let bytes = Bytes::new();
    bytes.free();
    bytes.copy_out(&mut [0; BYTES]);
}

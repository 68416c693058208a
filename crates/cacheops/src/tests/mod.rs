//! Tests the instructions on real memory, with faulting pages on either side.
//!
//! # Safety
//! Every address is in the pages that [`Fenced`] made accessible, except in the tests that expect a fault,
//! which run in a process of their own.
#![allow(unsafe_code)]

mod lines;
mod loads;
mod stores;

use std::ffi::c_void;
use std::fmt;
use std::num::NonZeroUsize;
use std::os::unix::process::ExitStatusExt;
use std::ptr::NonNull;

use nix::sys::mman::{MapFlags, ProtFlags, mmap_anonymous, mprotect, munmap};

use super::chosen::Chosen;
use super::cpu::Cpu;
use super::instruction::recorded;
use super::*;

const PAGE: usize = 4096;
const PAGES: usize = 2;
const BYTES: usize = PAGES * PAGE;

/// Memory between two faulting pages.
struct Fenced {
    base: NonNull<c_void>,
    pages: usize,
}

impl Fenced {
    fn new() -> Self {
        Self::of_pages(PAGES)
    }

    fn of_pages(pages: usize) -> Self {
        let len = NonZeroUsize::new((pages + 2) * PAGE).unwrap();
        let access = ProtFlags::PROT_READ | ProtFlags::PROT_WRITE;
        // SAFETY: an anonymous mapping at an address of the kernel's choice replaces nothing.
        let base = unsafe { mmap_anonymous(None, len, access, MapFlags::MAP_PRIVATE) }.unwrap();
        for page in [0, pages + 1] {
            // SAFETY: the page lies in the mapping above, and nothing uses it.
            unsafe { mprotect(base.byte_add(page * PAGE), PAGE, ProtFlags::PROT_NONE) }.unwrap();
        }
        let fenced = Self { base, pages };
        fenced.put(0, &pattern(0, fenced.bytes()));
        fenced
    }

    /// Returns the number of accessible bytes.
    fn bytes(&self) -> usize {
        self.pages * PAGE
    }

    /// Returns the address of byte `at` of the accessible pages.
    fn byte(&self, at: usize) -> *mut u8 {
        self.base.as_ptr().cast::<u8>().wrapping_add(PAGE + at)
    }

    /// Returns a copy of the bytes from `at` on.
    #[track_caller]
    fn get(&self, at: usize, len: usize) -> Vec<u8> {
        assert!(at + len <= self.bytes());
        let mut bytes = vec![0; len];
        // SAFETY:
        // - source: within the accessible pages, as asserted;
        // - destination: as many bytes of the heap.
        unsafe { std::ptr::copy_nonoverlapping(self.byte(at), bytes.as_mut_ptr(), len) };
        bytes
    }

    /// Stores `bytes` from `at` on.
    #[track_caller]
    fn put(&self, at: usize, bytes: &[u8]) {
        assert!(at + bytes.len() <= self.bytes());
        // SAFETY: as in `get`, the other way.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), self.byte(at), bytes.len()) };
    }

    #[track_caller]
    fn assert_untouched(&self) {
        assert!(self.get(0, self.bytes()) == pattern(0, self.bytes()), "bytes changed");
    }
}

impl Drop for Fenced {
    fn drop(&mut self) {
        // SAFETY: the mapping was made by `new`, and no pointer into it is left.
        unsafe { munmap(self.base, (self.pages + 2) * PAGE) }.unwrap();
    }
}

/// Returns the initial contents of the accessible pages from byte `at` on.
fn pattern(at: usize, len: usize) -> Vec<u8> {
    (at..at + len).map(|at| (at as u8).wrapping_mul(31) ^ (at >> 8) as u8).collect()
}

/// Returns a choice for each instruction that this CPU has; prints those that it lacks.
fn ways<T: Copy + fmt::Display>(
    all: &[T],
    has: impl Fn(&Cpu, T) -> bool,
    set: impl Fn(&mut Chosen, T),
) -> Vec<Chosen> {
    let cpu = Cpu::detect();
    let mut ways = Vec::new();
    for &one in all {
        if has(&cpu, one) {
            let mut chosen = support().unwrap().chosen();
            set(&mut chosen, one);
            ways.push(chosen);
        } else {
            eprintln!("skipped: this CPU has no {one}");
        }
    }
    ways
}

/// Set in a child process of [`dies`].
const FAULTS: &str = "GEM_COHERENCY_TEST_FAULTS";

/// Runs `fault` in a child process, as test `name`, and checks that it is killed by SIGSEGV.
#[track_caller]
fn dies(name: &str, fault: impl FnOnce()) {
    if std::env::var_os(FAULTS).is_some() {
        return fault();
    }
    let child = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", name])
        .env(FAULTS, "1")
        .output()
        .unwrap();
    assert_eq!(child.status.signal(), Some(nix::libc::SIGSEGV), "{child:?}");
}

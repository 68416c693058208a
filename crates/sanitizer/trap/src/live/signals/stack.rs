//! Stacks for work inside handlers that needs more than an alternate stack may have: programs often have 8 KiB, of which
//! the kernel's frame takes 3 with AVX-512.
//!
//! # Safety
//! While a function runs on such a stack, signals are blocked, and it must not fault: the kernel would take the alternate
//! stack for free, and begin a handler at its top.
#![allow(unsafe_code)]

use std::arch::global_asm;
use std::ffi::c_void;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering::SeqCst};

use super::mask::Blocked;
use crate::Error;
use crate::live::system;

/// Number of stacks, one bit of [`TAKEN`] each: as many threads can be in such work at a time.
const STACKS: usize = u32::BITS as usize;
/// Bytes of a stack. Only what is used takes memory.
const STACK_BYTES: usize = 64 << 10;

static FIRST: AtomicUsize = AtomicUsize::new(0);
static TAKEN: AtomicU32 = AtomicU32::new(0);

global_asm!(
    ".pushsection .text.gem_coherency_trap_on_stack,\"ax\",@progbits",
    ".hidden gem_coherency_trap_on_stack",
    ".globl gem_coherency_trap_on_stack",
    ".type gem_coherency_trap_on_stack,@function",
    // (top, function, argument)
    "gem_coherency_trap_on_stack:",
    ".cfi_startproc",
    "push rbp",
    ".cfi_def_cfa_offset 16",
    ".cfi_offset rbp, -16",
    "mov rbp, rsp",
    ".cfi_def_cfa_register rbp",
    "mov rsp, rdi",
    "mov rdi, rdx",
    "call rsi",
    "mov rsp, rbp",
    "pop rbp",
    ".cfi_def_cfa rsp, 8",
    "ret",
    ".cfi_endproc",
    ".size gem_coherency_trap_on_stack, . - gem_coherency_trap_on_stack",
    ".popsection",
);

unsafe extern "C" {
    fn gem_coherency_trap_on_stack(
        top: usize,
        function: unsafe extern "C" fn(*mut c_void),
        argument: *mut c_void,
    );
}

/// Maps the stacks. Not in handlers.
pub(super) fn prepare() -> Result<(), Error> {
    if FIRST.load(SeqCst) == 0 {
        let length = STACKS * STACK_BYTES;
        let mapped = system::map_zeroes(length)?;
        if FIRST.compare_exchange(0, mapped, SeqCst, SeqCst).is_err() {
            // SAFETY: another thread was first, and this memory was never used.
            unsafe { system::unmap(mapped, length) };
        }
    }
    Ok(())
}

/// Calls `work` on a stack of the pool. Returns false, without a call, if none is free. Async-signal-safe.
///
/// The work must not fault, and must not panic.
pub(in crate::live) fn try_on_own_stack<F: FnMut()>(mut work: F) -> bool {
    unsafe extern "C" fn run<F: FnMut()>(work: *mut c_void) {
        // SAFETY: the pointer that was passed below.
        unsafe { (*work.cast::<F>())() }
    }
    let first = FIRST.load(SeqCst);
    let _blocked = Blocked::all();
    let taken =
        TAKEN.fetch_update(SeqCst, SeqCst, |taken| (taken != u32::MAX).then_some(taken | (taken + 1)));
    let (Ok(before), 1..) = (taken, first) else { return false };
    let index = before.trailing_ones() as usize;
    // SAFETY: no other work uses this stack until its bit is cleared. Its top is a multiple of 16.
    unsafe {
        gem_coherency_trap_on_stack(first + (index + 1) * STACK_BYTES, run::<F>, (&raw mut work).cast());
    }
    TAKEN.fetch_and(!(1 << index), SeqCst);
    true
}

/// Calls `work` on a stack of 64 KiB with signals blocked; waits while more threads than there are stacks do so. For work in a handler that
/// needs more than the handler's own stack has. Does nothing before [`install`](crate::install). Async-signal-safe.
///
/// # Safety
/// The work causes no signal by a fault or a trap, and does not panic.
pub unsafe fn on_own_stack<F: FnMut()>(mut work: F) {
    while FIRST.load(SeqCst) != 0 && !try_on_own_stack(&mut work) {
        std::thread::yield_now();
    }
}

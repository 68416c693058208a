//! The signals that a thread has blocked.
//!
//! # Safety
//! The kernel gets complete sets.
#![allow(unsafe_code)]

use crate::live::system;

/// Bytes of the kernel's signal sets.
pub(super) const SET_BYTES: usize = 8;

/// Blocks all signals of this thread, except those of faulty or trapped instructions, until it is dropped.
#[derive(Debug)]
pub(in crate::live) struct Blocked(u64);

impl Blocked {
    /// Blocks them.
    pub(in crate::live) fn all() -> Self {
        Blocked(change_mask(libc::SIG_BLOCK, !unblocked()))
    }
}

impl Drop for Blocked {
    fn drop(&mut self) {
        change_mask(libc::SIG_SETMASK, self.0);
    }
}

/// Returns the signals of faulty or trapped instructions, which the kernel does not let wait.
pub(super) fn unblocked() -> u64 {
    let signals = [libc::SIGTRAP, libc::SIGSEGV, libc::SIGBUS, libc::SIGILL, libc::SIGFPE];
    signals.into_iter().map(bit).fold(0, |set, one| set | one)
}

/// Returns the bit of a signal in the kernel's sets.
pub(super) fn bit(signal: i32) -> u64 {
    1 << (signal - 1)
}

/// Changes this thread's mask, and returns the former one.
pub(super) fn change_mask(how: i32, set: u64) -> u64 {
    let mut former = 0_u64;
    let (new, old) = ((&raw const set).expose_provenance(), (&raw mut former).expose_provenance());
    // SAFETY: the call reads and writes one set each. It fails only for bad arguments.
    let _ = unsafe { system::call(libc::SYS_rt_sigprocmask, [how as usize, new, old, SET_BYTES, 0, 0]) };
    former
}

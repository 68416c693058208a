//! Children of fork(2), for tests.
//!
//! # Safety
//! A child calls only the tested function, and ends by _exit: it takes no lock of the test harness, and runs
//! none of its destructors.
#![allow(unsafe_code)]

use nix::libc;

/// Seconds after which a child that hangs is killed.
const TIMEOUT: libc::c_uint = 60;

/// Returns whether `body` returns true in a child, which must not hang.
pub fn in_child(body: impl FnOnce() -> bool) -> bool {
    // SAFETY: the child keeps to the module's rules.
    match unsafe { libc::fork() } {
        0 => {
            // SAFETY: sets a timer of the child.
            unsafe { libc::alarm(TIMEOUT) };
            let is_so = body();
            // SAFETY: ends the child.
            unsafe { libc::_exit(i32::from(!is_so)) }
        }
        child => {
            let mut status = -1;
            // SAFETY: waits for the child; the status is valid for writes.
            assert_eq!(unsafe { libc::waitpid(child, &mut status, 0) }, child);
            status == 0
        }
    }
}

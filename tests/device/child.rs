//! Children of fork(2), for tests.
//!
//! # Safety
//! A child calls what is tested, and ends by _exit: it takes no lock of the test harness, and runs no destructor of it.
#![allow(unsafe_code)]

use nix::libc;

/// Seconds after which a child that hangs is killed.
const PATIENCE: libc::c_uint = 60;

/// Whether a child says that it is so, and does not hang.
pub fn in_child(body: impl FnOnce() -> bool) -> bool {
    // SAFETY: the child does as the module says.
    match unsafe { libc::fork() } {
        0 => {
            // SAFETY: a timer of the child's.
            unsafe { libc::alarm(PATIENCE) };
            let is_so = body();
            // SAFETY: ends the child.
            unsafe { libc::_exit(i32::from(!is_so)) }
        }
        child => {
            let mut status = -1;
            // SAFETY: waits for the child, whose status has a place.
            assert_eq!(unsafe { libc::waitpid(child, &mut status, 0) }, child);
            status == 0
        }
    }
}

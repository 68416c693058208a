//! Signals: SIGTRAP stays this library's, and unblocked. The kernel kills a process that has it blocked at a trap.

use std::ffi::{c_int, c_void};

use gem_coherency_trap::{keep_trap_unblocked, owns_signal, program_action, set_program_action};

use super::replace;
use crate::real::real;
use crate::system::sys;

/// Returns the set without SIGTRAP, unless signals are unblocked; `None` without a set.
///
/// # Safety
/// `set` is null or a set.
unsafe fn without_trap(how: c_int, set: *const libc::sigset_t) -> Option<libc::sigset_t> {
    // SAFETY: the caller's obligation.
    let mut own = unsafe { set.as_ref() }.copied()?;
    if how != libc::SIG_UNBLOCK && owns_signal(libc::SIGTRAP) {
        keep_trap_unblocked(&mut own);
    }
    Some(own)
}

/// Returns the address of a set, or null.
fn address(set: &Option<libc::sigset_t>) -> *const libc::sigset_t {
    set.as_ref().map_or(std::ptr::null(), std::ptr::from_ref)
}

replace! {
    /// Changes the signals that a thread has blocked.
    fn pthread_sigmask(how: c_int, set: *const libc::sigset_t, before: *mut libc::sigset_t) -> c_int {
        let set = without_trap(how, set);
        real!(pthread_sigmask: fn(
            how => c_int, address(&set) => *const libc::sigset_t, before => *mut libc::sigset_t
        ) -> c_int)
    }

    /// Changes the signals that the process has blocked.
    fn sigprocmask(how: c_int, set: *const libc::sigset_t, before: *mut libc::sigset_t) -> c_int {
        let set = without_trap(how, set);
        real!(sigprocmask: fn(
            how => c_int, address(&set) => *const libc::sigset_t, before => *mut libc::sigset_t
        ) -> c_int)
    }

    /// Sets the action of a signal.
    fn sigaction | __sigaction (
        signal: c_int, action: *const libc::sigaction, before: *mut libc::sigaction
    ) -> c_int {
        if owns_signal(signal) {
            let former = match action.as_ref() {
                Some(action) => set_program_action(signal, action),
                None => program_action(signal),
            };
            if let (Some(former), Some(before)) = (former, before.as_mut()) {
                *before = former;
            }
            return 0;
        }
        let mut own = action.as_ref().copied();
        if let Some(own) = &mut own
            && owns_signal(libc::SIGTRAP)
        {
            keep_trap_unblocked(&mut own.sa_mask);
        }
        let action = own.as_ref().map_or(std::ptr::null(), std::ptr::from_ref);
        real!(sigaction: fn(
            signal => c_int, action => *const libc::sigaction, before => *mut libc::sigaction
        ) -> c_int)
    }

    /// Sets the handler of a signal.
    fn signal | bsd_signal | ssignal (number: c_int, handler: *mut c_void) -> *mut c_void {
        if !owns_signal(number) {
            return real!(signal: fn(number => c_int, handler => *mut c_void) -> *mut c_void);
        }
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = handler.expose_provenance();
        action.sa_flags = libc::SA_RESTART;
        match set_program_action(number, &action) {
            Some(former) => std::ptr::with_exposed_provenance_mut(former.sa_sigaction),
            None => {
                sys::fail(libc::EINVAL);
                std::ptr::with_exposed_provenance_mut(libc::SIG_ERR)
            }
        }
    }
}

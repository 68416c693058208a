//! rt_sigaction(2) and rt_sigprocmask(2): as the functions of [`crate::hooks::signals`], with the kernel's structures.

use std::ffi::c_int;

use gem_coherency_protocol::call;
use gem_coherency_trap::{keep_trap_unblocked, owns_signal, program_action, set_program_action};

use super::Call;
use crate::system::sys;

/// An action as the kernel has it: handler, flags, restorer, mask.
type Action = [u64; 4];

/// Bytes of the kernel's set of signals.
const SET_BYTES: usize = 8;

/// Removes the signals that must not be blocked from the kernel's set.
fn without_own(set: u64) -> u64 {
    // SAFETY: all zeroes is the empty set.
    let mut all: libc::sigset_t = unsafe { sys::zeroed() };
    // SAFETY: glibc's set is an array of such words.
    let word = unsafe { &mut *(&raw mut all).cast::<u64>() };
    *word = set;
    if owns_signal(libc::SIGTRAP) {
        keep_trap_unblocked(&mut all);
    }
    // SAFETY: as above.
    unsafe { *(&raw const all).cast::<u64>() }
}

/// Returns an errno as the kernel does.
fn failed(errno: c_int) -> Option<isize> {
    Some(-(errno as isize))
}

/// Sets the action of a signal.
pub(super) fn action(call: &Call<'_>) -> Option<isize> {
    let (signal, new, old): (_, *const Action, *mut Action) =
        (call.number(0), call.address(1), call.address(2));
    if call.word(3) != SET_BYTES || !owns_signal(libc::SIGTRAP) {
        return None;
    }
    // SAFETY: an action is made of numbers.
    let given = if new.is_null() { None } else { unsafe { sys::read_own(new) } };
    if given.is_none() && !new.is_null() {
        return failed(libc::EFAULT);
    }
    if !owns_signal(signal) {
        let [handler, flags, restorer, mask] = given?;
        let own = [handler, flags, restorer, without_own(mask)];
        // SAFETY: the action is the program's.
        let done = unsafe { call!(libc::SYS_rt_sigaction, signal, &raw const own, old, SET_BYTES) };
        return done.map_or_else(failed, |done| Some(done as isize));
    }
    let former = match given {
        Some([handler, flags, _, mask]) => {
            // SAFETY: all zeroes is the default action.
            let mut action: libc::sigaction = unsafe { sys::zeroed() };
            (action.sa_sigaction, action.sa_flags) = (handler as usize, flags as u32 as c_int);
            // SAFETY: glibc's set is an array of such words.
            unsafe { *(&raw mut action.sa_mask).cast::<u64>() = mask };
            set_program_action(signal, &action)
        }
        None => program_action(signal),
    }?;
    if !old.is_null() {
        // SAFETY: as above.
        let mask = unsafe { *(&raw const former.sa_mask).cast::<u64>() };
        let former: Action = [former.sa_sigaction as u64, former.sa_flags as u32 as u64, 0, mask];
        // SAFETY: the program asked for it there.
        if !unsafe { sys::write_own(old, &former) } {
            return failed(libc::EFAULT);
        }
    }
    Some(0)
}

/// Changes the signals that the thread has blocked. In a trap, that is the mask of the interrupted thread.
pub(super) fn mask(call: &mut Call<'_>) -> Option<isize> {
    let (how, new, old): (_, *const u64, *mut u64) = (call.number(0), call.address(1), call.address(2));
    if call.word(3) != SET_BYTES || new.is_null() {
        return None;
    }
    // SAFETY: a set is a number.
    let Some(set) = (unsafe { sys::read_own(new) }) else { return failed(libc::EFAULT) };
    let Some(state) = &mut call.state else {
        let own = if how == libc::SIG_UNBLOCK { set } else { without_own(set) };
        // SAFETY: the kernel checks `old`.
        let done = unsafe { call!(libc::SYS_rt_sigprocmask, how, &raw const own, old, SET_BYTES) };
        return done.map_or_else(failed, |done| Some(done as isize));
    };
    let current = state.mask();
    let former = *current;
    *current = match how {
        libc::SIG_BLOCK => former | without_own(set),
        libc::SIG_UNBLOCK => former & !set,
        libc::SIG_SETMASK => without_own(set),
        _ => return failed(libc::EINVAL),
    };
    // SAFETY: the program asked for it there.
    let is_told = old.is_null() || unsafe { sys::write_own(old, &former) };
    if is_told { Some(0) } else { failed(libc::EFAULT) }
}

//! The process that makes a request: the first one, or a child that no function of libc announced.

use std::ffi::c_int;
use std::sync::atomic::{AtomicI32, AtomicPtr, AtomicU32, Ordering};

use gem_coherency_protocol::call;

use super::{sandbox, sys};

/// The caller of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Caller {
    /// The process.
    Process,
    /// A child that shares the process's memory: of vfork(2), or of clone(2) with CLONE_VM.
    Sharer,
    /// A child with a copy of the memory.
    Copy,
}

/// The process's id.
static PID: AtomicI32 = AtomicI32::new(0);

/// A page that the kernel fills with zeroes in a child that gets a copy of it (MADV_WIPEONFORK); null if it does not.
static MARK: AtomicPtr<AtomicU32> = AtomicPtr::new(std::ptr::null_mut());

/// The process's id, which a child that shares its memory sees, too.
pub(crate) fn pid() -> c_int {
    // Relaxed: a number, set before threads and children exist.
    PID.load(Ordering::Relaxed)
}

/// Begins as a process.
pub(crate) fn adopt() {
    PID.store(sys::getpid(), Ordering::Relaxed);
    if MARK.load(Ordering::Relaxed).is_null()
        && let Ok(page) = sys::page_that_is_wiped()
    {
        MARK.store(page.cast(), Ordering::Relaxed);
    }
    if let Some(mark) = mark() {
        mark.store(1, Ordering::Relaxed);
    }
}

fn mark() -> Option<&'static AtomicU32> {
    // SAFETY: null, or a page that stays mapped.
    unsafe { MARK.load(Ordering::Relaxed).as_ref() }
}

/// Returns the caller.
pub(crate) fn of_caller() -> Caller {
    // SAFETY: getpid(2) has no operands.
    let own = sandbox::needs(libc::SYS_getpid, || unsafe { call!(libc::SYS_getpid) });
    if own.is_ok_and(|own| own as c_int == pid()) {
        Caller::Process
    } else if mark().is_some_and(|mark| mark.load(Ordering::Relaxed) != 0) {
        Caller::Sharer
    } else {
        Caller::Copy
    }
}

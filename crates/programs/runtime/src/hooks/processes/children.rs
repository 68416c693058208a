//! clone(2) and _Fork(3): children that libc's fork(3) does not tell this library about.

use std::ffi::{c_int, c_void};

use crate::hooks::replace;
use crate::real::real;
use crate::start;
use crate::system::sys;

/// Returns whether a child of clone(2) has a copy of the memory.
pub(crate) fn is_copied(flags: u64) -> bool {
    flags & libc::CLONE_VM as u64 == 0
}

/// Creates a child with a copy of the memory by `create`, which returns 0 in the child.
pub(crate) fn forked(create: impl FnOnce() -> Result<usize, c_int>) -> Result<usize, c_int> {
    start::before_fork();
    let done = create();
    if done == Ok(0) {
        start::in_child()
    } else {
        start::after_fork()
    }
    done
}

/// The function of a child.
type Body = unsafe extern "C" fn(*mut c_void) -> c_int;

/// What a child with a copy of the memory runs.
struct Child {
    body: Body,
    argument: *mut c_void,
}

/// Registers the child, and runs its function.
unsafe extern "C" fn run(child: *mut c_void) -> c_int {
    start::in_child();
    // SAFETY: the parent passed it, in memory of which the child has a copy; the rest is the program's obligation.
    unsafe {
        let child = &*child.cast::<Child>();
        (child.body)(child.argument)
    }
}

replace! {
    /// Creates a child that runs a function.
    fn clone(
        body: Body, stack: *mut c_void, flags: c_int, argument: *mut c_void, parent: *mut c_int,
        storage: *mut c_void, child: *mut c_int
    ) -> c_int {
        if !is_copied(flags as u64) || start::server().is_none() {
            return real!(clone: fn(
                body => Body, stack => *mut c_void, flags => c_int, argument => *mut c_void,
                parent => *mut c_int, storage => *mut c_void, child => *mut c_int
            ) -> c_int);
        }
        if flags & libc::CLONE_SETTLS != 0 {
            sys::give_up(&[b"cannot intercept clone(2) with CLONE_SETTLS and without CLONE_VM"]);
        }
        start::before_fork();
        let mut this = Child { body, argument };
        let done = real!(clone: fn(
            run => Body, stack => *mut c_void, flags => c_int, (&raw mut this).cast() => *mut c_void,
            parent => *mut c_int, storage => *mut c_void, child => *mut c_int
        ) -> c_int);
        let _errno = sys::KeepErrno::new();
        start::after_fork();
        done
    }

    /// Forks without the functions of pthread_atfork(3).
    fn _Fork() -> c_int {
        let done = forked(|| {
            let done = real!(_Fork: fn() -> c_int);
            usize::try_from(done).map_err(|_| sys::errno())
        });
        sys::done(done)
    }
}

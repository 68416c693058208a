//! clone(2) and _Fork(3): children that libc's fork(3) does not tell this library about.

use std::ffi::{c_int, c_void};

use super::calls::{forked, is_copied};
use super::replace;
use crate::real::real;
use crate::{start, sys};

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

//! The ends of a process that run no function of atexit(3).

use std::ffi::c_int;

use crate::start;
use crate::system::sys;

/// Ends the process.
#[unsafe(no_mangle)]
pub extern "C" fn _exit(status: c_int) -> ! {
    start::before_exit(status);
    sys::exit(status)
}

/// Ends the process.
#[unsafe(no_mangle)]
pub extern "C" fn _Exit(status: c_int) -> ! {
    _exit(status)
}

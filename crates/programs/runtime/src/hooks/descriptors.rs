//! close(2) and dup2(2): the connections of this library are not the program's to close.

use std::ffi::{c_int, c_uint};

use super::replace;
use crate::mapped::sites;
use crate::real::real;
use crate::server::pool;
use crate::start;
use crate::system::sys;

/// Closes the descriptors from `first` to `last` but for the connections, with `close_range`.
fn close_others(first: c_uint, last: c_uint, mut close_range: impl FnMut(c_uint, c_uint) -> c_int) -> c_int {
    let mut from = first;
    while let Some(kept) = c_int::try_from(from).ok().and_then(pool::next) {
        let kept = kept as c_uint;
        if kept > last {
            break;
        }
        if kept > from && close_range(from, kept - 1) < 0 {
            return -1;
        }
        from = kept + 1;
    }
    if from > last { 0 } else { close_range(from, last) }
}

replace! {
    /// Closes a descriptor.
    fn close(fd: c_int) -> c_int {
        if pool::has(fd) {
            return sys::fail(libc::EBADF);
        }
        if sites::is_collecting()
            && let Ok(cookie) = sys::cookie_of_file(fd)
        {
            start::before_exit_or_close(cookie);
        }
        real!(close: fn(fd => c_int) -> c_int)
    }

    /// Closes the descriptors of a range.
    fn close_range(first: c_uint, last: c_uint, flags: c_int) -> c_int {
        if first > last {
            return sys::fail(libc::EINVAL);
        }
        close_others(first, last, |first, last| {
            real!(close_range: fn(first => c_uint, last => c_uint, flags => c_int) -> c_int)
        })
    }

    /// Closes all descriptors from one on.
    fn closefrom(first: c_int) -> () {
        let first = c_uint::try_from(first).unwrap_or(0);
        close_others(first, c_uint::MAX, |first, last| {
            real!(close_range: fn(first => c_uint, last => c_uint, 0 => c_int) -> c_int)
        });
    }

    /// Copies a descriptor to a number.
    fn dup2(fd: c_int, number: c_int) -> c_int {
        give_way(fd, number);
        real!(dup2: fn(fd => c_int, number => c_int) -> c_int)
    }

    /// Copies a descriptor to a number.
    fn dup3(fd: c_int, number: c_int, flags: c_int) -> c_int {
        give_way(fd, number);
        real!(dup3: fn(fd => c_int, number => c_int, flags => c_int) -> c_int)
    }
}

/// Closes the connection that has a number that the program wants.
fn give_way(fd: c_int, number: c_int) {
    if fd != number && pool::has(number) {
        pool::drop(number);
    }
}

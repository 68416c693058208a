//! read(2), recv(2) and their relatives: the kernel cannot store to watched pages, which are write-protected.

use std::ffi::{c_int, c_void};

use super::replace;
use crate::real::real;
use crate::{sites, sys};

/// Returns whether a call that returned `done` is to be repeated, because `release` made watched pages writable.
fn again(done: libc::ssize_t, release: impl FnOnce() -> bool) -> bool {
    if done >= 0 || sys::errno() != libc::EFAULT {
        return false;
    }
    let released = release();
    sys::fail(libc::EFAULT);
    released
}

/// Makes the buffers of a vector writable; returns whether any was watched.
///
/// # Safety
/// `count` vectors are at `buffers`: the kernel has read them, or failed with EFAULT for one of them.
unsafe fn release_all(buffers: *const libc::iovec, count: usize) -> bool {
    if buffers.is_null() {
        return false;
    }
    // SAFETY: the caller's obligation.
    let buffers = unsafe { std::slice::from_raw_parts(buffers, count) };
    let released = |buffer: &libc::iovec| sites::release(buffer.iov_base.addr(), buffer.iov_len);
    buffers.iter().filter(|buffer| released(buffer)).count() > 0
}

replace! {
    /// Reads from a file.
    fn read(fd: c_int, to: *mut c_void, len: libc::size_t) -> libc::ssize_t {
        let call = || real!(read: fn(
            fd => c_int, to => *mut c_void, len => libc::size_t
        ) -> libc::ssize_t);
        let done = call();
        if again(done, || sites::release(to.addr(), len)) { call() } else { done }
    }

    /// Reads from a place of a file.
    fn pread | pread64 (
        fd: c_int, to: *mut c_void, len: libc::size_t, offset: libc::off64_t
    ) -> libc::ssize_t {
        let call = || real!(pread64: fn(
            fd => c_int, to => *mut c_void, len => libc::size_t, offset => libc::off64_t
        ) -> libc::ssize_t);
        let done = call();
        if again(done, || sites::release(to.addr(), len)) { call() } else { done }
    }

    /// Reads from a file to several buffers.
    fn readv(fd: c_int, buffers: *const libc::iovec, count: c_int) -> libc::ssize_t {
        let call = || real!(readv: fn(
            fd => c_int, buffers => *const libc::iovec, count => c_int
        ) -> libc::ssize_t);
        let done = call();
        let release = || release_all(buffers, usize::try_from(count).unwrap_or(0));
        if again(done, release) { call() } else { done }
    }

    /// Receives from a socket.
    fn recv(fd: c_int, to: *mut c_void, len: libc::size_t, flags: c_int) -> libc::ssize_t {
        let call = || real!(recv: fn(
            fd => c_int, to => *mut c_void, len => libc::size_t, flags => c_int
        ) -> libc::ssize_t);
        let done = call();
        if again(done, || sites::release(to.addr(), len)) { call() } else { done }
    }
}

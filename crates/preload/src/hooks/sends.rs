//! write(2), send(2) and their relatives: the kernel cannot load from hidden pages.
//!
//! What they load of stale lines is reported, as a load of the program is.

use std::ffi::{c_int, c_void};

use super::replace;
use super::transfers::{MOST_BUFFERS, transfers};
use crate::real::real;
use crate::sites::{self, Transfer};
use crate::{loads, sys};

/// Begins a transfer from one buffer.
pub(super) fn from_one(start: usize, len: usize) -> Transfer {
    let mut transfer = Transfer::default();
    loads::by_kernel(&mut transfer, start, len);
    transfer
}

/// Begins a transfer from the buffers of a vector; those of one that cannot be read are left, for the kernel to refuse.
pub(super) fn from_all(buffers: *const libc::iovec, count: usize) -> Transfer {
    let mut transfer = Transfer::default();
    if sites::is_collecting() {
        for n in 0..count.min(MOST_BUFFERS) {
            // SAFETY: a buffer is a pointer and a length.
            let Some(buffer) = (unsafe { sys::read_own(buffers.wrapping_add(n)) }) else { break };
            loads::by_kernel(&mut transfer, buffer.iov_base.addr(), buffer.iov_len);
        }
    }
    transfer
}

/// Begins a transfer from the buffers of a message.
pub(super) fn from_message(message: *const libc::msghdr) -> Transfer {
    // SAFETY: a header is made of pointers and numbers.
    match sites::is_collecting().then(|| unsafe { sys::read_own(message) }).flatten() {
        Some(message) => from_all(message.msg_iov, message.msg_iovlen),
        None => Transfer::default(),
    }
}

transfers! {
    /// Writes to a file.
    fn write(fd: c_int, from: *const c_void, len: libc::size_t) -> libc::ssize_t {
        from_one(from.addr(), len)
    }

    /// Writes to a place of a file.
    fn pwrite64 | pwrite (
        fd: c_int, from: *const c_void, len: libc::size_t, offset: libc::off64_t
    ) -> libc::ssize_t {
        from_one(from.addr(), len)
    }

    /// Writes several buffers to a file.
    fn writev(fd: c_int, buffers: *const libc::iovec, count: c_int) -> libc::ssize_t {
        from_all(buffers, usize::try_from(count).unwrap_or(0))
    }

    /// Writes several buffers to a place of a file.
    fn pwritev64 | pwritev (
        fd: c_int, buffers: *const libc::iovec, count: c_int, offset: libc::off64_t
    ) -> libc::ssize_t {
        from_all(buffers, usize::try_from(count).unwrap_or(0))
    }

    /// Writes several buffers to a place of a file, with flags.
    fn pwritev64v2 | pwritev2 (
        fd: c_int, buffers: *const libc::iovec, count: c_int, offset: libc::off64_t, flags: c_int
    ) -> libc::ssize_t {
        from_all(buffers, usize::try_from(count).unwrap_or(0))
    }

    /// Sends to a socket.
    fn send(fd: c_int, from: *const c_void, len: libc::size_t, flags: c_int) -> libc::ssize_t {
        from_one(from.addr(), len)
    }

    /// Sends to an address.
    fn sendto(
        fd: c_int, from: *const c_void, len: libc::size_t, flags: c_int, to: *const libc::sockaddr, to_len: libc::socklen_t
    ) -> libc::ssize_t {
        from_one(from.addr(), len)
    }

    /// Sends a message.
    fn sendmsg(fd: c_int, message: *const libc::msghdr, flags: c_int) -> libc::ssize_t {
        from_message(message)
    }

    /// Writes to a stream.
    fn fwrite(
        from: *const c_void, size: libc::size_t, count: libc::size_t, stream: *mut libc::FILE
    ) -> libc::size_t {
        from_one(from.addr(), size.saturating_mul(count))
    }

    /// Writes to a stream that this thread has locked.
    fn fwrite_unlocked(
        from: *const c_void, size: libc::size_t, count: libc::size_t, stream: *mut libc::FILE
    ) -> libc::size_t {
        from_one(from.addr(), size.saturating_mul(count))
    }
}

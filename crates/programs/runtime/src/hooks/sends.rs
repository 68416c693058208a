//! write(2), send(2) and their relatives: the kernel cannot load from hidden pages.
//!
//! What they load of stale lines is reported, as a load of the program is.

use std::ffi::{c_int, c_uint, c_void};

use super::replace;
use super::transfers::{each, transfers};
use crate::loads;
use crate::mapped::sites::Transfer;
use crate::real::real;

/// Begins a transfer from one buffer.
pub(super) fn from_one(start: usize, len: usize) -> Transfer {
    let mut transfer = Transfer::default();
    loads::by_kernel(&mut transfer, start, len);
    transfer
}

/// Begins a transfer that brings pages in, and loads nothing from them.
pub(super) fn of_pages(start: usize, len: usize) -> Transfer {
    let mut transfer = Transfer::default();
    loads::show_to_kernel(&mut transfer, start, len);
    transfer
}

/// Adds the buffers of a vector to a transfer from them.
fn add_all(transfer: &mut Transfer, buffers: *const libc::iovec, count: usize) {
    each(buffers, count, |buffer| loads::by_kernel(transfer, buffer.iov_base.addr(), buffer.iov_len));
}

/// Begins a transfer from the buffers of a vector.
pub(super) fn from_all(buffers: *const libc::iovec, count: usize) -> Transfer {
    let mut transfer = Transfer::default();
    add_all(&mut transfer, buffers, count);
    transfer
}

/// Begins a transfer from the buffers of messages.
pub(super) fn from_messages(messages: *const libc::mmsghdr, count: usize) -> Transfer {
    let mut transfer = Transfer::default();
    each(messages, count, |message| {
        add_all(&mut transfer, message.msg_hdr.msg_iov, message.msg_hdr.msg_iovlen);
    });
    transfer
}

/// Begins a transfer from the buffers of a message.
pub(super) fn from_message(message: *const libc::msghdr) -> Transfer {
    let mut transfer = Transfer::default();
    each(message, 1, |message| add_all(&mut transfer, message.msg_iov, message.msg_iovlen));
    transfer
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

    /// Sends messages.
    fn sendmmsg(fd: c_int, messages: *mut libc::mmsghdr, count: c_uint, flags: c_int) -> c_int {
        from_messages(messages, count as usize)
    }

    /// Locks pages in memory.
    fn mlock(start: *const c_void, len: libc::size_t) -> c_int {
        of_pages(start.addr(), len)
    }

    /// Locks pages in memory, with flags.
    fn mlock2(start: *const c_void, len: libc::size_t, flags: c_uint) -> c_int {
        of_pages(start.addr(), len)
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

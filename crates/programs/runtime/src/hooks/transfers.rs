//! read(2), recv(2) and their relatives: the kernel cannot store to watched pages, which are write-protected.
//!
//! The pages are made writable before the call: a receive that fails loses its message, and a stream keeps an error.

use std::ffi::{c_int, c_uint, c_void};

use super::replace;
use crate::mapped::sites::{self, Transfer};
use crate::real::real;
use crate::system::sys;

/// Most buffers of a vector (`UIO_MAXIOV`); the kernel refuses more.
pub(super) const MOST_BUFFERS: usize = 1024;

/// Calls `see` with each element of an array; those that cannot be read are left, for the kernel to refuse.
pub(super) fn each<T: Copy>(array: *const T, count: usize, mut see: impl FnMut(&T)) {
    if sites::is_collecting() {
        for n in 0..count.min(MOST_BUFFERS) {
            // SAFETY: the arrays of system calls are made of pointers and numbers.
            let Some(element) = (unsafe { sys::read_own(array.wrapping_add(n)) }) else { break };
            see(&element);
        }
    }
}

/// Adds the buffers of a vector to a transfer to them.
pub(super) fn add_all(transfer: &mut Transfer, buffers: *const libc::iovec, count: usize) {
    each(buffers, count, |buffer| transfer.add(buffer.iov_base.addr(), buffer.iov_len));
}

/// Begins a transfer to the buffers of a vector.
pub(super) fn to_all(buffers: *const libc::iovec, count: usize) -> Transfer {
    let mut transfer = Transfer::default();
    add_all(&mut transfer, buffers, count);
    transfer
}

/// Begins a transfer to the buffers of messages.
pub(super) fn to_messages(messages: *const libc::mmsghdr, count: usize) -> Transfer {
    let mut transfer = Transfer::default();
    each(messages, count, |message| {
        add_all(&mut transfer, message.msg_hdr.msg_iov, message.msg_hdr.msg_iovlen);
    });
    transfer
}

/// Begins a transfer to the buffers of a message.
pub(super) fn to_message(message: *const libc::msghdr) -> Transfer {
    let mut transfer = Transfer::default();
    each(message, 1, |message| add_all(&mut transfer, message.msg_iov, message.msg_iovlen));
    transfer
}

/// Replaces functions that let the kernel access memory. The block of each begins the transfer; a call of libc's function of
/// the first name follows.
macro_rules! transfers {
    ($($(#[$doc:meta])* fn $name:ident $(| $alias:ident)* ($($argument:ident: $type:ty),*) -> $result:ty $before:block)*) => {
        replace! {
            $($(#[$doc])* fn $name $(| $alias)* ($($argument: $type),*) -> $result {
                let _transfer: Transfer = $before;
                real!($name: fn($($argument => $type),*) -> $result)
            })*
        }
    };
}
pub(super) use transfers;

transfers! {
    /// Reads from a file.
    fn read(fd: c_int, to: *mut c_void, len: libc::size_t) -> libc::ssize_t {
        Transfer::to(to.addr(), len)
    }

    /// Reads from a file, with the arguments checked (_FORTIFY_SOURCE).
    fn __read_chk(fd: c_int, to: *mut c_void, len: libc::size_t, room: libc::size_t) -> libc::ssize_t {
        Transfer::to(to.addr(), len)
    }

    /// Reads from a place of a file.
    fn pread64 | pread (
        fd: c_int, to: *mut c_void, len: libc::size_t, offset: libc::off64_t
    ) -> libc::ssize_t {
        Transfer::to(to.addr(), len)
    }

    /// Reads from a place of a file, with the arguments checked (_FORTIFY_SOURCE).
    fn __pread64_chk | __pread_chk (
        fd: c_int, to: *mut c_void, len: libc::size_t, offset: libc::off64_t, room: libc::size_t
    ) -> libc::ssize_t {
        Transfer::to(to.addr(), len)
    }

    /// Reads from a file to several buffers.
    fn readv(fd: c_int, buffers: *const libc::iovec, count: c_int) -> libc::ssize_t {
        to_all(buffers, usize::try_from(count).unwrap_or(0))
    }

    /// Reads from a place of a file to several buffers.
    fn preadv64 | preadv (
        fd: c_int, buffers: *const libc::iovec, count: c_int, offset: libc::off64_t
    ) -> libc::ssize_t {
        to_all(buffers, usize::try_from(count).unwrap_or(0))
    }

    /// Reads from a place of a file to several buffers, with flags.
    fn preadv64v2 | preadv2 (
        fd: c_int, buffers: *const libc::iovec, count: c_int, offset: libc::off64_t, flags: c_int
    ) -> libc::ssize_t {
        to_all(buffers, usize::try_from(count).unwrap_or(0))
    }

    /// Receives from a socket.
    fn recv(fd: c_int, to: *mut c_void, len: libc::size_t, flags: c_int) -> libc::ssize_t {
        Transfer::to(to.addr(), len)
    }

    /// Receives from a socket, with the arguments checked (_FORTIFY_SOURCE).
    fn __recv_chk(
        fd: c_int, to: *mut c_void, len: libc::size_t, room: libc::size_t, flags: c_int
    ) -> libc::ssize_t {
        Transfer::to(to.addr(), len)
    }

    /// Receives from a socket, and tells the sender.
    fn recvfrom(
        fd: c_int, to: *mut c_void, len: libc::size_t, flags: c_int, from: *mut libc::sockaddr, from_len: *mut libc::socklen_t
    ) -> libc::ssize_t {
        Transfer::to(to.addr(), len)
    }

    /// Receives from a socket, and tells the sender, with the arguments checked (_FORTIFY_SOURCE).
    fn __recvfrom_chk(
        fd: c_int, to: *mut c_void, len: libc::size_t, room: libc::size_t, flags: c_int, from: *mut libc::sockaddr, from_len: *mut libc::socklen_t
    ) -> libc::ssize_t {
        Transfer::to(to.addr(), len)
    }

    /// Receives a message.
    fn recvmsg(fd: c_int, message: *mut libc::msghdr, flags: c_int) -> libc::ssize_t {
        to_message(message)
    }

    /// Receives messages.
    fn recvmmsg(
        fd: c_int, messages: *mut libc::mmsghdr, count: c_uint, flags: c_int, timeout: *mut libc::timespec
    ) -> c_int {
        to_messages(messages, count as usize)
    }

    /// Reads random bytes.
    fn getrandom(to: *mut c_void, len: libc::size_t, flags: c_uint) -> libc::ssize_t {
        Transfer::to(to.addr(), len)
    }

    /// Reads from a stream.
    fn fread(
        to: *mut c_void, size: libc::size_t, count: libc::size_t, stream: *mut libc::FILE
    ) -> libc::size_t {
        Transfer::to(to.addr(), size.saturating_mul(count))
    }

    /// Reads from a stream that this thread has locked.
    fn fread_unlocked(
        to: *mut c_void, size: libc::size_t, count: libc::size_t, stream: *mut libc::FILE
    ) -> libc::size_t {
        Transfer::to(to.addr(), size.saturating_mul(count))
    }

    /// Reads from a stream, with the arguments checked (_FORTIFY_SOURCE).
    fn __fread_chk(
        to: *mut c_void, room: libc::size_t, size: libc::size_t, count: libc::size_t, stream: *mut libc::FILE
    ) -> libc::size_t {
        Transfer::to(to.addr(), size.saturating_mul(count))
    }

    /// Reads from a stream that this thread has locked, with the arguments checked (_FORTIFY_SOURCE).
    fn __fread_unlocked_chk(
        to: *mut c_void, room: libc::size_t, size: libc::size_t, count: libc::size_t, stream: *mut libc::FILE
    ) -> libc::size_t {
        Transfer::to(to.addr(), size.saturating_mul(count))
    }
}

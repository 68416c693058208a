//! ioctl(2) and lseek(2).

use std::ffi::{c_int, c_ulong, c_void};

use gem_coherency_wire::{NOT_A_FILE, Request, cookie};

use super::replace;
use crate::paths;
use crate::real::real;
use crate::sys::{self, KeepErrno};
use crate::{sites, start, talk, traps};

/// The types of requests to a device, a dma-buf and a fence.
const TYPES: [u8; 3] = [b'd', b'b', b'>'];

/// Type and number of DRM_IOCTL_I915_GEM_EXECBUFFER2, and their bits of a code.
const EXECBUFFER2: c_ulong = 0x6469;
const NUMBER: c_ulong = 0xffff;

/// Returns the cookie of a descriptor that may be a file of a device; errno stays.
fn cookie_of(fd: c_int) -> Option<u64> {
    let _errno = KeepErrno::new();
    cookie(fd).ok()
}

replace! {
    /// Makes a request to a file.
    fn ioctl(fd: c_int, code: c_ulong, argument: *mut c_void) -> c_int {
        let kind = (code >> 8) as u8;
        if TYPES.contains(&kind)
            && let Some(server) = start::server()
            && let Some(cookie) = cookie_of(fd)
        {
            traps::look_again();
            let request = Request::Ioctl.with([cookie, code & 0xffff_ffff, argument.addr() as u64]);
            match talk::request(server, &request) {
                Ok((reply, descriptors)) => {
                    descriptors.close();
                    if code & NUMBER == EXECBUFFER2 {
                        sites::watch_again();
                    }
                    return reply.operands[0] as c_int;
                }
                // A socket of the program's own.
                Err(NOT_A_FILE) => {}
                Err(errno) => return sys::fail(errno),
            }
        }
        real!(ioctl: fn(fd => c_int, code => c_ulong, argument => *mut c_void) -> c_int)
    }

    /// Moves the position of a file; a dma-buf returns its size.
    fn lseek | lseek64 (fd: c_int, offset: libc::off64_t, whence: c_int) -> libc::off64_t {
        let moved = real!(lseek64: fn(
            fd => c_int, offset => libc::off64_t, whence => c_int
        ) -> libc::off64_t);
        // Sockets have no position.
        if moved >= 0 || sys::errno() != libc::ESPIPE {
            return moved;
        }
        let (Some(server), Some(cookie)) = (start::server(), cookie_of(fd)) else { return moved };
        if paths::describe(server, cookie).is_none() {
            return sys::fail(libc::ESPIPE).into();
        }
        let request = Request::Seek.with([cookie, offset as u64, whence as u64]);
        match talk::request(server, &request) {
            Ok((reply, _)) => reply.operands[0] as libc::off64_t,
            Err(errno) => sys::fail(errno).into(),
        }
    }
}

//! ioctl(2) and lseek(2).

use std::ffi::{c_int, c_ulong, c_void};

use gem_coherency_protocol::{NOT_A_FILE, Request};

use super::replace;
use crate::mapped::{epochs, hidden, sites, traps, user_memory};
use crate::real::real;
use crate::system::sys::{self, KeepErrno};
use crate::{paths, server, start};

/// The types of requests to a device, a dma-buf and a fence.
const TYPES: [u8; 3] = [b'd', b'b', b'>'];

/// Type and number of requests: DRM_IOCTL_I915_GEM_EXECBUFFER2, DRM_IOCTL_I915_GEM_USERPTR, DRM_IOCTL_GEM_CLOSE, and their bits
/// of a code.
const EXECBUFFER2: c_ulong = 0x6469;
const USERPTR: c_ulong = 0x6473;
const GEM_CLOSE: c_ulong = 0x6409;
const NUMBER: c_ulong = 0xffff;

/// `drm_i915_gem_userptr` of i915_drm.h.
#[repr(C)]
struct Userptr {
    address: u64,
    len: u64,
    _flags: u32,
    handle: u32,
}

/// Notes the memory of a new userptr object. In a run that many platforms judge such objects are not judged.
///
/// # Safety
/// The argument is one of DRM_IOCTL_I915_GEM_USERPTR.
unsafe fn user_memory_begins(cookie: u64, argument: *const c_void) {
    if sites::is_collecting() && !hidden::is_judged_by_many() {
        // SAFETY: the caller's obligation; the program may have aligned it to less.
        let Userptr { address, len, handle, .. } = unsafe { argument.cast::<Userptr>().read_unaligned() };
        user_memory::add((cookie, handle), address as usize, len as usize);
    }
}

/// Forgets the memory of an object whose handle is closed, if it is a userptr object.
///
/// # Safety
/// The argument is one of DRM_IOCTL_GEM_CLOSE.
unsafe fn user_memory_ends(cookie: u64, argument: *const c_void) {
    // SAFETY: the caller's obligation: `drm_gem_close` begins with the handle.
    user_memory::close((cookie, unsafe { argument.cast::<u32>().read_unaligned() }));
}

/// Returns whether a request is one to a file of a device; errno stays.
pub(super) fn is_ours(fd: c_int, code: c_ulong) -> bool {
    cookie_of(fd, code).is_some()
}

/// Returns the cookie of the file that a request is made to; errno stays.
fn cookie_of(fd: c_int, code: c_ulong) -> Option<u64> {
    let _errno = KeepErrno::new();
    let kind = (code >> 8) as u8;
    if TYPES.contains(&kind) { sys::cookie_of_file(fd).ok() } else { None }
}

replace! {
    /// Makes a request to a file.
    fn ioctl(fd: c_int, code: c_ulong, argument: *mut c_void) -> c_int {
        if let Some(server) = start::server()
            && let Some(cookie) = cookie_of(fd, code)
        {
            traps::look_again();
            epochs::drain();
            let request = Request::Ioctl.with([cookie, code & 0xffff_ffff, argument.addr() as u64]);
            match server::requests::make(server, &request) {
                Ok((reply, descriptors)) => {
                    descriptors.close();
                    match code & NUMBER {
                        EXECBUFFER2 => sites::watch_again(),
                        // The request has succeeded, so that its argument is there.
                        USERPTR => user_memory_begins(cookie, argument),
                        GEM_CLOSE => user_memory_ends(cookie, argument),
                        _ => {}
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
        let (Some(server), Ok(cookie)) = (start::server(), sys::cookie(fd)) else { return sys::fail(libc::ESPIPE).into() };
        if paths::describe(server, cookie).is_none() {
            return sys::fail(libc::ESPIPE).into();
        }
        let request = Request::Seek.with([cookie, offset as u64, whence as u64]);
        match server::requests::make(server, &request) {
            Ok((reply, _)) => reply.operands[0] as libc::off64_t,
            Err(errno) => sys::fail(errno).into(),
        }
    }
}

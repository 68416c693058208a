//! open(2) and its kin.

use std::ffi::{c_char, c_int};

use gem_coherency_protocol::Request;

use super::fdinfo::Described;
use crate::hooks::replace;
use crate::paths::{self, Redirected};
use crate::real::real;
use crate::start;
use crate::system::sys;

/// Opens what stands for a path, with `open`; a node, through the server.
///
/// # Safety
/// `path` is a C string.
unsafe fn open_path(
    folder: c_int,
    path: *const c_char,
    flags: c_int,
    open: impl FnOnce(*const c_char) -> c_int,
) -> c_int {
    // SAFETY: the caller's obligation.
    if let Some(described) = unsafe { Described::of(folder, path) } {
        return open(described.as_ptr());
    }
    // SAFETY: the caller's obligation.
    let redirected = unsafe { Redirected::below(folder, path) };
    let fd = open(redirected.as_ptr());
    // A socket cannot be opened.
    if fd >= 0 || sys::errno() != libc::ENXIO {
        return fd;
    }
    let Some(server) = start::server() else { return fd };
    let Ok(stat) = sys::stat(folder, redirected.as_ptr(), 0) else { return sys::fail(libc::ENXIO) };
    // SAFETY: the caller's obligation.
    let text = unsafe { sys::bytes(path) };
    let close_on_exec = u64::from(flags & libc::O_CLOEXEC != 0);
    let request = match (paths::minor(server, &stat), paths::of_descriptor(text)) {
        (Some(minor), _) => Request::Open.with([u64::from(minor), close_on_exec]),
        (None, Some(cookie)) => Request::Reopen.with([cookie, close_on_exec]),
        (None, None) => return sys::fail(libc::ENXIO),
    };
    paths::open(server, &request, flags).unwrap_or_else(sys::fail)
}

replace! {
    /// Opens a file.
    fn open | open64 (path: *const c_char, flags: c_int, mode: libc::mode_t) -> c_int {
        open_path(libc::AT_FDCWD, path, flags, |path| {
            real!(open64: fn(path => *const c_char, flags => c_int, mode => libc::mode_t) -> c_int)
        })
    }

    /// Opens a file, with the arguments checked (_FORTIFY_SOURCE).
    fn __open_2 | __open64_2 (path: *const c_char, flags: c_int) -> c_int {
        open_path(libc::AT_FDCWD, path, flags, |path| {
            real!(__open64_2: fn(path => *const c_char, flags => c_int) -> c_int)
        })
    }

    /// Opens a file relative to a folder.
    fn openat | openat64 (folder: c_int, path: *const c_char, flags: c_int, mode: libc::mode_t) -> c_int {
        open_path(folder, path, flags, |path| {
            real!(openat64: fn(
                folder => c_int, path => *const c_char, flags => c_int, mode => libc::mode_t
            ) -> c_int)
        })
    }

    /// Opens a file relative to a folder, with the arguments checked (_FORTIFY_SOURCE).
    fn __openat_2 | __openat64_2 (folder: c_int, path: *const c_char, flags: c_int) -> c_int {
        open_path(folder, path, flags, |path| {
            real!(__openat64_2: fn(folder => c_int, path => *const c_char, flags => c_int) -> c_int)
        })
    }

    /// Opens a stream.
    fn fopen | fopen64 (path: *const c_char, mode: *const c_char) -> *mut libc::FILE {
        let described = Described::of(libc::AT_FDCWD, path);
        let redirected = Redirected::new(path);
        let path = described.as_ref().map_or(redirected.as_ptr(), Described::as_ptr);
        real!(fopen64: fn(path => *const c_char, mode => *const c_char) -> *mut libc::FILE)
    }
}

//! Resolved paths and the current folder: programs do not see the server's folder in them.

use std::ffi::{c_char, c_int};

use super::folders::{of_file, without_root};
use crate::hooks::replace;
use crate::paths::Redirected;
use crate::real::real;

/// Removes the server's folder from a resolved path.
///
/// # Safety
/// `path` is null or a C string.
unsafe fn outside(path: *mut c_char) -> *mut c_char {
    if !path.is_null() {
        // SAFETY: the caller's obligation; the text gets shorter.
        unsafe {
            let text = std::slice::from_raw_parts_mut(path.cast::<u8>(), libc::strlen(path));
            let len = without_root(text);
            path.add(len).write(0);
        }
    }
    path
}

/// Resolves a path with `resolve`; a file of a device in /proc is its node.
///
/// # Safety
/// As realpath(3).
unsafe fn resolved(
    path: *const c_char,
    buffer: *mut c_char,
    resolve: impl FnOnce(*const c_char) -> *mut c_char,
) -> *mut c_char {
    // SAFETY: the caller's obligation; a text is shorter than PATH_MAX.
    unsafe {
        if let Some((len, text)) = of_file(path) {
            let room = if buffer.is_null() { libc::malloc(libc::PATH_MAX as usize).cast() } else { buffer };
            if !room.is_null() {
                std::ptr::copy_nonoverlapping(text.as_ptr().cast(), room, len);
                room.add(len).write(0);
            }
            return room;
        }
        outside(resolve(Redirected::new(path).as_ptr()))
    }
}

replace! {
    /// Resolves a path.
    fn realpath(path: *const c_char, buffer: *mut c_char) -> *mut c_char {
        resolved(path, buffer, |path| {
            real!(realpath: fn(path => *const c_char, buffer => *mut c_char) -> *mut c_char)
        })
    }

    /// Resolves a path, with the buffer's size checked (_FORTIFY_SOURCE).
    fn __realpath_chk(path: *const c_char, buffer: *mut c_char, size: libc::size_t) -> *mut c_char {
        resolved(path, buffer, |path| {
            real!(__realpath_chk: fn(
                path => *const c_char, buffer => *mut c_char, size => libc::size_t
            ) -> *mut c_char)
        })
    }

    /// Resolves a path in memory that is allocated.
    fn canonicalize_file_name(path: *const c_char) -> *mut c_char {
        resolved(path, std::ptr::null_mut(), |path| {
            real!(canonicalize_file_name: fn(path => *const c_char) -> *mut c_char)
        })
    }

    /// Changes the current folder.
    fn chdir(path: *const c_char) -> c_int {
        let path = Redirected::new(path);
        real!(chdir: fn(path.as_ptr() => *const c_char) -> c_int)
    }

    /// Returns the current folder.
    fn getcwd(buffer: *mut c_char, size: libc::size_t) -> *mut c_char {
        outside(real!(getcwd: fn(buffer => *mut c_char, size => libc::size_t) -> *mut c_char))
    }

    /// Returns the current folder, with the buffer's size checked (_FORTIFY_SOURCE).
    fn __getcwd_chk(buffer: *mut c_char, size: libc::size_t, room: libc::size_t) -> *mut c_char {
        outside(real!(__getcwd_chk: fn(
            buffer => *mut c_char, size => libc::size_t, room => libc::size_t
        ) -> *mut c_char))
    }

    /// Returns the current folder in memory that is allocated.
    fn get_current_dir_name() -> *mut c_char {
        outside(real!(get_current_dir_name: fn() -> *mut c_char))
    }
}

//! Folders, links, and whether a path exists.

use std::ffi::{c_char, c_int, c_void};

use super::listed;
use crate::hooks::replace;
use crate::paths::{self, File, Redirected};
use crate::real::real;
use crate::server::connection;
use crate::start;
use crate::system::sys::{self, KeepErrno};

/// The longest text of a link to a file of a device.
const LINK_BYTES: usize = 64;

/// Returns the text of a link in /proc to a file of a device: its length and bytes.
///
/// # Safety
/// `path` is a C string.
pub(super) unsafe fn of_file(path: *const c_char) -> Option<(usize, [u8; LINK_BYTES])> {
    // SAFETY: the caller's obligation.
    let cookie = paths::of_descriptor(unsafe { sys::bytes(path) })?;
    let server = start::server()?;
    let mut digits = [0; 10];
    let (folder, name): (&[u8], &[u8]) = match paths::describe(server, cookie)? {
        File::Device(minor) if minor < 128 => (b"/dev/dri/card", paths::decimal(minor, &mut digits)),
        File::Device(minor) => (b"/dev/dri/renderD", paths::decimal(minor, &mut digits)),
        File::DmaBuf(_) => (b"/dmabuf:", b""),
        File::Other => (b"anon_inode:", b"sync_file"),
    };
    let mut text = [0; LINK_BYTES];
    text.iter_mut().zip(folder.iter().chain(name)).for_each(|(to, &from)| *to = from);
    Some((folder.len() + name.len(), text))
}

/// Returns whether a socket with a name is a node.
pub(in crate::hooks) fn is_node(name: &[u8]) -> bool {
    name.starts_with(b"card") || name.starts_with(b"renderD")
}

/// Removes the server's folder from the front of a link's text in `text`; returns the new length.
pub(in crate::hooks) fn without_root(text: &mut [u8]) -> usize {
    let len = text.len();
    // Before the library has started no folder of the server is open.
    let Some(server) = connection::found() else { return len };
    let root = server.root.as_bytes();
    if !text.starts_with(root) {
        return len;
    }
    text.copy_within(root.len().., 0);
    len - root.len()
}

/// Reads a link with `read`, as the program would see it without the server.
///
/// # Safety
/// `path` is a C string. Nothing else uses the `size` bytes of `buffer`; the kernel checks that they can be written.
unsafe fn link(
    folder: c_int,
    path: *const c_char,
    buffer: *mut c_char,
    size: usize,
    read: impl FnOnce(*const c_char) -> isize,
) -> isize {
    // SAFETY: the caller's obligation.
    unsafe {
        if let Some((len, text)) = of_file(path) {
            let text = text.get(..len.min(size)).unwrap_or_default();
            return match text.is_empty() {
                true => sys::fail(libc::EINVAL) as isize,
                false if !sys::write_own_bytes(buffer.cast(), text) => sys::fail(libc::EFAULT) as isize,
                false => text.len() as isize,
            };
        }
        let len = read(Redirected::below(folder, path).as_ptr());
        match usize::try_from(len) {
            Ok(len) => without_root(std::slice::from_raw_parts_mut(buffer.cast(), len)) as isize,
            Err(_) => len,
        }
    }
}

replace! {
    /// Opens a folder.
    fn opendir(path: *const c_char) -> *mut libc::DIR {
        let redirected = Redirected::new(path);
        let folder = real!(opendir: fn(redirected.as_ptr() => *const c_char) -> *mut libc::DIR);
        let _errno = KeepErrno::new();
        listed::opened(folder, sys::bytes(path));
        folder
    }

    /// Reads a folder by its descriptor.
    fn fdopendir(fd: c_int) -> *mut libc::DIR {
        let folder = real!(fdopendir: fn(fd => c_int) -> *mut libc::DIR);
        listed::closed(folder);
        folder
    }

    /// Closes a folder.
    fn closedir(folder: *mut libc::DIR) -> c_int {
        listed::closed(folder);
        real!(closedir: fn(folder => *mut libc::DIR) -> c_int)
    }

    /// Reads an entry of a folder; nodes are character devices.
    fn readdir | readdir64 (folder: *mut libc::DIR) -> *mut libc::dirent64 {
        let entry = real!(readdir64: fn(folder => *mut libc::DIR) -> *mut libc::dirent64);
        if !entry.is_null()
            && (*entry).d_type == libc::DT_SOCK
            && start::server().is_some()
            && is_node(sys::bytes((*entry).d_name.as_ptr()))
        {
            (*entry).d_type = libc::DT_CHR;
        }
        if entry.is_null() { listed::last(folder).unwrap_or(entry) } else { entry }
    }

    /// Reads the entries of a folder.
    fn scandir | scandir64 (
        path: *const c_char, entries: *mut c_void, filter: *mut c_void, compare: *mut c_void
    ) -> c_int {
        let path = Redirected::new(path);
        real!(scandir64: fn(
            path.as_ptr() => *const c_char, entries => *mut c_void, filter => *mut c_void,
            compare => *mut c_void
        ) -> c_int)
    }

    /// Returns whether a path may be accessed.
    fn access(path: *const c_char, mode: c_int) -> c_int {
        let path = Redirected::new(path);
        real!(access: fn(path.as_ptr() => *const c_char, mode => c_int) -> c_int)
    }

    /// Returns whether a path may be accessed with the effective ids.
    fn eaccess | euidaccess (path: *const c_char, mode: c_int) -> c_int {
        let path = Redirected::new(path);
        real!(eaccess: fn(path.as_ptr() => *const c_char, mode => c_int) -> c_int)
    }

    /// Returns whether a path may be accessed, relative to a folder.
    fn faccessat(folder: c_int, path: *const c_char, mode: c_int, flags: c_int) -> c_int {
        let path = Redirected::below(folder, path);
        real!(faccessat: fn(
            folder => c_int, path.as_ptr() => *const c_char, mode => c_int, flags => c_int
        ) -> c_int)
    }

    /// Reads a link.
    fn readlink(path: *const c_char, buffer: *mut c_char, size: libc::size_t) -> libc::ssize_t {
        link(libc::AT_FDCWD, path, buffer, size, |path| {
            real!(readlink: fn(
                path => *const c_char, buffer => *mut c_char, size => libc::size_t
            ) -> libc::ssize_t)
        })
    }

    /// Reads a link relative to a folder.
    fn readlinkat(
        folder: c_int, path: *const c_char, buffer: *mut c_char, size: libc::size_t
    ) -> libc::ssize_t {
        link(folder, path, buffer, size, |path| {
            real!(readlinkat: fn(
                folder => c_int, path => *const c_char, buffer => *mut c_char, size => libc::size_t
            ) -> libc::ssize_t)
        })
    }
}

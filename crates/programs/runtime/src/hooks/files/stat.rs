//! stat(2) and its kin: nodes, and the files of devices, are no sockets to the program.

use std::ffi::{c_char, c_int, c_uint};

use crate::hooks::replace;
use crate::paths::{self, File, Redirected};
use crate::real::real;
use crate::start;
use crate::system::sys::{self, KeepErrno};

/// The major number of DRM.
const MAJOR: c_uint = 226;

/// The file that a program sees in place of a socket.
struct Shown {
    mode: libc::mode_t,
    minor: Option<u32>,
    size: i64,
    /// The node's device and inode, if the stat is that of a socket.
    place: Option<(libc::dev_t, libc::ino_t)>,
}

/// Returns what is shown in place of a socket: a node, or the file of descriptor `fd`; `None` for other sockets.
fn shown(stat: &libc::stat, fd: Option<c_int>) -> Option<Shown> {
    if stat.st_mode & libc::S_IFMT != libc::S_IFSOCK {
        return None;
    }
    let _errno = KeepErrno::new();
    let server = start::server()?;
    let node = Shown { mode: libc::S_IFCHR | 0o666, minor: None, size: 0, place: None };
    let Some(fd) = fd else {
        return paths::minor(server, stat).map(|minor| Shown { minor: Some(minor), ..node });
    };
    // A node that is open as a path alone (O_PATH) has no cookie.
    let Ok(cookie) = sys::cookie(fd) else {
        return paths::minor(server, stat).map(|minor| Shown { minor: Some(minor), ..node });
    };
    Some(match paths::describe(server, cookie)? {
        File::Device(minor) => {
            let place = paths::node(server, minor).map(|node| (node.st_dev, node.st_ino));
            Shown { minor: Some(minor), place, ..node }
        }
        // Anonymous inodes have no type.
        File::DmaBuf(size) => Shown { mode: libc::S_IFREG | 0o600, size: size as i64, ..node },
        File::Other => Shown { mode: 0o600, ..node },
    })
}

/// Replaces what libc stored at `stat`.
///
/// # Safety
/// It is a stat that libc filled in, if `done` is 0.
pub(super) unsafe fn replaced(done: c_int, stat: *mut libc::stat, fd: Option<c_int>) -> c_int {
    if done == 0 {
        // SAFETY: the caller's obligation.
        let stat = unsafe { &mut *stat };
        if let Some(shown) = shown(stat, fd) {
            stat.st_mode = shown.mode;
            stat.st_rdev = shown.minor.map_or(0, |minor| libc::makedev(MAJOR, minor));
            stat.st_size = shown.size;
            if let Some((dev, inode)) = shown.place {
                (stat.st_dev, stat.st_ino) = (dev, inode);
            }
        }
    }
    done
}

replace! {
    /// Describes a file.
    fn stat | stat64 (path: *const c_char, stat: *mut libc::stat) -> c_int {
        let redirected = Redirected::new(path);
        let done = real!(stat64: fn(
            redirected.as_ptr() => *const c_char, stat => *mut libc::stat
        ) -> c_int);
        replaced(done, stat, named(path))
    }

    /// Describes a file or a link.
    fn lstat | lstat64 (path: *const c_char, stat: *mut libc::stat) -> c_int {
        let path = Redirected::new(path);
        let done = real!(lstat64: fn(path.as_ptr() => *const c_char, stat => *mut libc::stat) -> c_int);
        replaced(done, stat, None)
    }

    /// Describes the file of a descriptor.
    fn fstat | fstat64 (fd: c_int, stat: *mut libc::stat) -> c_int {
        let done = real!(fstat64: fn(fd => c_int, stat => *mut libc::stat) -> c_int);
        replaced(done, stat, Some(fd))
    }

    /// Describes a file relative to a folder.
    fn fstatat | fstatat64 (
        folder: c_int, path: *const c_char, stat: *mut libc::stat, flags: c_int
    ) -> c_int {
        let redirected = Redirected::below(folder, path);
        let done = real!(fstatat64: fn(
            folder => c_int, redirected.as_ptr() => *const c_char, stat => *mut libc::stat, flags => c_int
        ) -> c_int);
        replaced(done, stat, of_path(folder, path, flags))
    }

    /// Describes a file, for programs of before glibc 2.33.
    fn __xstat | __xstat64 (version: c_int, path: *const c_char, stat: *mut libc::stat) -> c_int {
        let redirected = Redirected::new(path);
        let done = real!(__xstat64: fn(
            version => c_int, redirected.as_ptr() => *const c_char, stat => *mut libc::stat
        ) -> c_int);
        replaced(done, stat, named(path))
    }

    /// Describes a file or a link, for programs of before glibc 2.33.
    fn __lxstat | __lxstat64 (version: c_int, path: *const c_char, stat: *mut libc::stat) -> c_int {
        let path = Redirected::new(path);
        let done = real!(__lxstat64: fn(
            version => c_int, path.as_ptr() => *const c_char, stat => *mut libc::stat
        ) -> c_int);
        replaced(done, stat, None)
    }

    /// Describes the file of a descriptor, for programs of before glibc 2.33.
    fn __fxstat | __fxstat64 (version: c_int, fd: c_int, stat: *mut libc::stat) -> c_int {
        let done = real!(__fxstat64: fn(
            version => c_int, fd => c_int, stat => *mut libc::stat
        ) -> c_int);
        replaced(done, stat, Some(fd))
    }

    /// Describes a file in parts.
    fn statx(
        folder: c_int, path: *const c_char, flags: c_int, mask: c_uint, statx: *mut libc::statx
    ) -> c_int {
        let redirected = Redirected::below(folder, path);
        let done = real!(statx: fn(
            folder => c_int, redirected.as_ptr() => *const c_char, flags => c_int, mask => c_uint,
            statx => *mut libc::statx
        ) -> c_int);
        if done == 0 && u32::from((*statx).stx_mode) & libc::S_IFMT == libc::S_IFSOCK {
            let mut stat: libc::stat = std::mem::zeroed();
            stat.st_mode = (*statx).stx_mode.into();
            stat.st_dev = libc::makedev((*statx).stx_dev_major, (*statx).stx_dev_minor);
            stat.st_ino = (*statx).stx_ino;
            if let Some(shown) = shown(&stat, of_path(folder, path, flags)) {
                (*statx).stx_mode = shown.mode as u16;
                (*statx).stx_rdev_major = shown.minor.map_or(0, |_| MAJOR);
                (*statx).stx_rdev_minor = shown.minor.unwrap_or(0);
                (*statx).stx_size = shown.size as u64;
                if let Some((dev, inode)) = shown.place {
                    ((*statx).stx_dev_major, (*statx).stx_dev_minor) = (libc::major(dev), libc::minor(dev));
                    (*statx).stx_ino = inode;
                }
            }
        }
        done
    }
}

/// Returns the descriptor that a call is about: by AT_EMPTY_PATH, or by a path in /proc.
///
/// # Safety
/// `path` is null or a C string.
unsafe fn of_path(folder: c_int, path: *const c_char, flags: c_int) -> Option<c_int> {
    // SAFETY: the caller's obligation.
    let (empty, named) = unsafe { (sys::bytes(path).is_empty(), named(path)) };
    if empty {
        return (flags & libc::AT_EMPTY_PATH != 0).then_some(folder);
    }
    named.filter(|_| flags & libc::AT_SYMLINK_NOFOLLOW == 0)
}

/// Returns the descriptor that a path in /proc names.
///
/// # Safety
/// `path` is null or a C string.
unsafe fn named(path: *const c_char) -> Option<c_int> {
    // SAFETY: the caller's obligation.
    paths::descriptor(unsafe { sys::bytes(path) })
}

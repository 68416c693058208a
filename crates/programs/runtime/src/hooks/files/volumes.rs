//! statfs(2) and statvfs(3) of the server's folders: statfs(2) returns the kind of file system that a program expects.

use std::ffi::{c_char, c_int};

use crate::hooks::replace;
use crate::paths::{self, Redirected};
use crate::real::real;

/// The kinds of the file systems (linux/magic.h), by the beginning of a path.
const KINDS: [(&[u8], i64); 3] =
    [(b"/sys/kernel/debug", 0x6462_6720), (b"/sys", 0x6265_6572), (b"/dev", libc::TMPFS_MAGIC)];

/// Sets the kind of the file system that has a path outside of the server's folder.
///
/// # Safety
/// `statfs` is one that libc filled in, if `done` is 0.
unsafe fn with_kind(done: c_int, statfs: *mut libc::statfs, path: Option<&[u8]>) -> c_int {
    let kind = path.and_then(|path| KINDS.iter().find(|(start, _)| path.starts_with(start)));
    if let (0, Some(&(_, kind))) = (done, kind) {
        // SAFETY: the caller's obligation.
        unsafe { (*statfs).f_type = kind };
    }
    done
}

replace! {
    /// Describes the file system of a path.
    fn statfs | statfs64 (path: *const c_char, statfs: *mut libc::statfs) -> c_int {
        let redirected = Redirected::new(path);
        let done = real!(statfs64: fn(
            redirected.as_ptr() => *const c_char, statfs => *mut libc::statfs
        ) -> c_int);
        with_kind(done, statfs, redirected.outside())
    }

    /// Describes the file system of a descriptor.
    fn fstatfs | fstatfs64 (fd: c_int, statfs: *mut libc::statfs) -> c_int {
        let done = real!(fstatfs64: fn(fd => c_int, statfs => *mut libc::statfs) -> c_int);
        let folder = paths::outside_of(fd);
        with_kind(done, statfs, folder.as_ref().map(|path| path.as_bytes()))
    }

    /// Describes the file system of a path, as POSIX has it.
    fn statvfs | statvfs64 (path: *const c_char, statvfs: *mut libc::statvfs) -> c_int {
        let path = Redirected::new(path);
        real!(statvfs64: fn(path.as_ptr() => *const c_char, statvfs => *mut libc::statvfs) -> c_int)
    }
}

//! Extended attributes: `ls -l` asks for those of nodes.

use std::ffi::{c_char, c_void};

use crate::hooks::replace;
use crate::paths::Redirected;
use crate::real::real;

replace! {
    /// Reads an attribute of a file.
    fn getxattr(
        path: *const c_char, name: *const c_char, value: *mut c_void, size: libc::size_t
    ) -> libc::ssize_t {
        let path = Redirected::new(path);
        real!(getxattr: fn(
            path.as_ptr() => *const c_char, name => *const c_char, value => *mut c_void,
            size => libc::size_t
        ) -> libc::ssize_t)
    }

    /// Reads an attribute of a file or a link.
    fn lgetxattr(
        path: *const c_char, name: *const c_char, value: *mut c_void, size: libc::size_t
    ) -> libc::ssize_t {
        let path = Redirected::new(path);
        real!(lgetxattr: fn(
            path.as_ptr() => *const c_char, name => *const c_char, value => *mut c_void,
            size => libc::size_t
        ) -> libc::ssize_t)
    }

    /// Lists the attributes of a file.
    fn listxattr(path: *const c_char, list: *mut c_char, size: libc::size_t) -> libc::ssize_t {
        let path = Redirected::new(path);
        real!(listxattr: fn(
            path.as_ptr() => *const c_char, list => *mut c_char, size => libc::size_t
        ) -> libc::ssize_t)
    }

    /// Lists the attributes of a file or a link.
    fn llistxattr(path: *const c_char, list: *mut c_char, size: libc::size_t) -> libc::ssize_t {
        let path = Redirected::new(path);
        real!(llistxattr: fn(
            path.as_ptr() => *const c_char, list => *mut c_char, size => libc::size_t
        ) -> libc::ssize_t)
    }
}

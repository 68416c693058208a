//! The files of /proc that describe a device's open files: `/proc/self/fdinfo/N`.

use std::ffi::{c_char, c_int};

use gem_coherency_protocol::{Request, call};

use crate::paths;
use crate::server::requests;
use crate::start;
use crate::system::path::Path;
use crate::system::sys;

/// Bytes of the kernel's text that are read: it has a few lines.
const TEXT_BYTES: usize = 512;

/// A text about a device's file, in a memory file that ends with this.
pub(super) struct Described {
    fd: c_int,
    path: Path,
}

impl Described {
    /// Returns the text that stands for a path, relative to a folder; `None` if it is none of a device's file.
    ///
    /// # Safety
    /// `path` is a C string.
    pub(super) unsafe fn of(folder: c_int, path: *const c_char) -> Option<Self> {
        // SAFETY: the caller's obligation.
        let described = paths::described(folder, unsafe { sys::bytes(path) })?;
        let cookie = sys::cookie(described).ok()?;
        let server = start::server()?;
        let head = head(folder, path)?;
        let [flags, mount, inode] = head;
        let made = requests::make(server, &Request::Fdinfo.with([cookie, flags, mount, inode]));
        let (_, descriptors) = made.ok()?;
        let &[fd] = descriptors.as_slice() else {
            descriptors.close();
            return None;
        };
        let mut path = Path::EMPTY;
        let fits = path.push(b"/proc/self/fd/") && path.push(paths::decimal(fd as u32, &mut [0; 10]));
        let described = Self { fd, path };
        fits.then_some(described)
    }

    pub(super) fn as_ptr(&self) -> *const c_char {
        self.path.as_ptr()
    }
}

impl Drop for Described {
    fn drop(&mut self) {
        sys::close(self.fd);
    }
}

/// Reads flags, mount and inode of the kernel's text about a socket.
fn head(folder: c_int, path: *const c_char) -> Option<[u64; 3]> {
    let mut text = [0_u8; TEXT_BYTES];
    // SAFETY: the path is a C string, and `text` has these bytes.
    let len = unsafe {
        let fd = call!(libc::SYS_openat, folder, path, libc::O_RDONLY | libc::O_CLOEXEC).ok()? as c_int;
        let len = call!(libc::SYS_read, fd, text.as_mut_ptr(), TEXT_BYTES);
        sys::close(fd);
        len.ok()?
    };
    let text = std::str::from_utf8(text.get(..len)?).ok()?;
    let number = |key: &str, radix| {
        let value = text.lines().find_map(|line| line.strip_prefix(key))?;
        u64::from_str_radix(value.trim(), radix).ok()
    };
    Some([number("flags:", 8)?, number("mnt_id:", 10)?, number("ino:", 10).unwrap_or(0)])
}

//! Errors of tracing the kernel.

use std::fmt;
use std::path::PathBuf;

use gem_coherency::Errno;

/// The result of the module's functions.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// A file of tracefs that cannot be found, read or written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    /// The failed action: find, read, write, make or remove.
    pub action: &'static str,
    /// The file or directory.
    pub path: PathBuf,
    /// The kernel's errno.
    pub errno: Errno,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { action, path, errno } = self;
        write!(f, "cannot {action} {}: {errno}{}", path.display(), hint(*errno))
    }
}

impl std::error::Error for Error {}

/// Returns a hint: the requirement of tracing that is missing.
fn hint(errno: Errno) -> &'static str {
    match errno {
        Errno::EACCES | Errno::EPERM => " (tracing the kernel needs root: CAP_SYS_ADMIN, and no lockdown)",
        Errno::ENOENT => {
            " (tracing needs root, tracefs: `mount -t tracefs nodev /sys/kernel/tracing`, and a kernel with CONFIG_KPROBE_EVENTS)"
        }
        Errno::EBUSY => " (another program is tracing here)",
        _ => "",
    }
}

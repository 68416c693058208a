//! Hints that errors give in addition to the errno.

use gem_coherency_policy::Errno;

/// Returns what the caller can do about an open(2) that failed.
pub(super) fn open_hint(errno: Errno) -> &'static str {
    if errno == Errno::EACCES || errno == Errno::EPERM {
        " (join the group that owns the node, usually 'render' or 'video')"
    } else if errno == Errno::ENOENT {
        " (`ls -l /dev/dri` shows the nodes)"
    } else {
        ""
    }
}

/// Returns the meaning of an errno if the kernel's text is misleading.
pub(super) fn request_hint(errno: Errno) -> &'static str {
    if errno == Errno::ENODEV {
        " (not supported on this platform, or the device was unplugged)"
    } else if errno == Errno::EIO {
        " (the GPU is wedged)"
    } else if errno == Errno::EFAULT {
        " (purged object, or a bad address)"
    } else {
        ""
    }
}

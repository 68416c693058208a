//! What errors say beyond the errno.

use nix::errno::Errno;

/// What the caller can do about an open(2) that failed.
pub(super) fn open_hint(errno: Errno) -> &'static str {
    if errno == Errno::EACCES || errno == Errno::EPERM {
        " (join the group that owns the node, usually 'render' or 'video')"
    } else if errno == Errno::ENOENT {
        " (`ls -l /dev/dri` shows the nodes)"
    } else {
        ""
    }
}

/// Why there is no screen.
pub(super) fn screen_hint(errno: Errno) -> &'static str {
    if errno == Errno::EACCES {
        " (open the primary node, e.g. /dev/dri/card0)"
    } else if errno == Errno::EOPNOTSUPP {
        " (the display is fused off or disabled; a software device has one with display=on)"
    } else if errno == Errno::ENXIO {
        " (no screen is connected, and there is no HDMI connector)"
    } else {
        ""
    }
}

/// What tracing needs, and does not have.
pub(super) fn trace_hint(errno: Errno) -> &'static str {
    if errno == Errno::EACCES || errno == Errno::EPERM {
        " (tracing the kernel needs root: CAP_SYS_ADMIN, and no lockdown)"
    } else if errno == Errno::ENOENT {
        " (tracing needs root, tracefs: `mount -t tracefs nodev /sys/kernel/tracing`, and a kernel with CONFIG_KPROBE_EVENTS)"
    } else if errno == Errno::EBUSY {
        " (another program is tracing here)"
    } else {
        ""
    }
}

/// What an errno means where the kernel's text misleads.
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

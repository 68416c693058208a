//! `<drm/drm.h>`: what every DRM driver answers.

use super::{requests, structs, values};

structs! {
    /// Which driver answers, and its version.
    drm_version: 64 {
        /// Major version.
        version_major @ 0: i32,
        /// Minor version.
        version_minor @ 4: i32,
        /// Patch level.
        version_patchlevel @ 8: i32,
        /// Padding.
        __pad0 @ 12: u32,
        /// Bytes at `name`; back: the name's full length.
        name_len @ 16: u64,
        /// Address the driver's name is copied to, without a final 0.
        name @ 24: u64,
        /// Bytes at `date`; back: the date's full length.
        date_len @ 32: u64,
        /// Address the driver's date is copied to.
        date @ 40: u64,
        /// Bytes at `desc`; back: the description's full length.
        desc_len @ 48: u64,
        /// Address the driver's description is copied to.
        desc @ 56: u64,
    }

    /// The argument of GET_UNIQUE.
    drm_unique: 16 {
        /// Bytes at `unique`; back: the name's length.
        unique_len @ 0: u64,
        /// Address the bus's name of the device is copied to.
        unique @ 8: u64,
    }

    /// The argument of GET_CLIENT.
    drm_client: 40 {
        /// Which client; there is only 0, the caller.
        idx @ 0: i32,
        /// Back: whether it is authenticated.
        auth @ 4: i32,
        /// Back: its process.
        pid @ 8: u64,
        /// Back: nobody's user id.
        uid @ 16: u64,
        /// Back: 0.
        magic @ 24: u64,
        /// Back: 0.
        iocs @ 32: u64,
    }

    /// A magic number, with which one client lets another prove itself.
    drm_auth: 4 {
        /// The number.
        magic @ 0: u32,
    }

    /// The argument of SET_VERSION; -1 asks for no version.
    drm_set_version: 16 {
        /// Interface, major.
        drm_di_major @ 0: i32,
        /// Interface, minor.
        drm_di_minor @ 4: i32,
        /// Driver, major.
        drm_dd_major @ 8: i32,
        /// Driver, minor.
        drm_dd_minor @ 12: i32,
    }

    /// The argument of GEM_CLOSE.
    drm_gem_close: 8 {
        /// The object's name.
        handle @ 0: u32,
        /// Not looked at.
        pad @ 4: u32,
    }

    /// The argument of GEM_FLINK.
    drm_gem_flink: 8 {
        /// The object's name in this file.
        handle @ 0: u32,
        /// Back: its name in all files.
        name @ 4: u32,
    }

    /// The argument of GEM_OPEN.
    drm_gem_open: 16 {
        /// The object's name in all files.
        name @ 0: u32,
        /// Back: its name in this file.
        handle @ 4: u32,
        /// Back: its size, in bytes.
        size @ 8: u64,
    }

    /// The argument of GET_CAP.
    drm_get_cap: 16 {
        /// `DRM_CAP_*`.
        capability @ 0: u64,
        /// Back: the capability's value.
        value @ 8: u64,
    }

    /// The argument of SET_CLIENT_CAP.
    drm_set_client_cap: 16 {
        /// `DRM_CLIENT_CAP_*`.
        capability @ 0: u64,
        /// Nonzero to enable the capability, 0 to disable it.
        value @ 8: u64,
    }

    /// The argument of SET_CLIENT_NAME.
    drm_set_client_name: 16 {
        /// Bytes at `name`; 0: the file has no name.
        name_len @ 0: u64,
        /// Address of the name, without a final 0.
        name @ 8: u64,
    }

    /// The argument of PRIME_HANDLE_TO_FD and PRIME_FD_TO_HANDLE.
    drm_prime_handle: 12 {
        /// The object's name.
        handle @ 0: u32,
        /// `DRM_CLOEXEC`, `DRM_RDWR`; only for HANDLE_TO_FD.
        flags @ 4: u32,
        /// The dma-buf.
        fd @ 8: i32,
    }
}

values! {
    /// Dumb buffers can be created.
    DRM_CAP_DUMB_BUFFER: u64 = 0x1;
    /// Which directions of PRIME work: `DRM_PRIME_CAP_*`.
    DRM_CAP_PRIME: u64 = 0x5;
    /// Vertical blanks of more than two pipes can be waited for.
    DRM_CAP_VBLANK_HIGH_CRTC: u64 = 0x2;
    /// The depth that dumb buffers should have.
    DRM_CAP_DUMB_PREFERRED_DEPTH: u64 = 0x3;
    /// Drawing into a shadow buffer is faster than into a dumb buffer.
    DRM_CAP_DUMB_PREFER_SHADOW: u64 = 0x4;
    /// Timestamps come from the monotonic clock.
    DRM_CAP_TIMESTAMP_MONOTONIC: u64 = 0x6;
    /// Page flips need not wait for the vertical blank.
    DRM_CAP_ASYNC_PAGE_FLIP: u64 = 0x7;
    /// Width of the largest cursor.
    DRM_CAP_CURSOR_WIDTH: u64 = 0x8;
    /// Height of the largest cursor.
    DRM_CAP_CURSOR_HEIGHT: u64 = 0x9;
    /// `modifier` of ADDFB2 may count.
    DRM_CAP_ADDFB2_MODIFIERS: u64 = 0x10;
    /// Page flips may name their vertical blank.
    DRM_CAP_PAGE_FLIP_TARGET: u64 = 0x11;
    /// Events name their pipe.
    DRM_CAP_CRTC_IN_VBLANK_EVENT: u64 = 0x12;
    /// There are synchronization objects.
    DRM_CAP_SYNCOBJ: u64 = 0x13;
    /// They may be timelines.
    DRM_CAP_SYNCOBJ_TIMELINE: u64 = 0x14;
    /// As `DRM_CAP_ASYNC_PAGE_FLIP`, for atomic commits.
    DRM_CAP_ATOMIC_ASYNC_PAGE_FLIP: u64 = 0x15;
    /// Knows modes with two images.
    DRM_CLIENT_CAP_STEREO_3D: u64 = 1;
    /// Wants to see all planes.
    DRM_CLIENT_CAP_UNIVERSAL_PLANES: u64 = 2;
    /// Makes atomic commits; 2: also ones that X would not.
    DRM_CLIENT_CAP_ATOMIC: u64 = 3;
    /// Knows aspect ratios of modes.
    DRM_CLIENT_CAP_ASPECT_RATIO: u64 = 4;
    /// Knows connectors that write to memory.
    DRM_CLIENT_CAP_WRITEBACK_CONNECTORS: u64 = 5;
    /// Sets the hotspot of virtual cursors.
    DRM_CLIENT_CAP_CURSOR_PLANE_HOTSPOT: u64 = 6;
    /// Sees the pipelines of colour operations of planes.
    DRM_CLIENT_CAP_PLANE_COLOR_PIPELINE: u64 = 7;
    /// Most bytes of a file's name.
    DRM_CLIENT_NAME_MAX_LEN: u64 = 64;
    /// dma-bufs can be imported.
    DRM_PRIME_CAP_IMPORT: u64 = 0x1;
    /// Objects can be exported.
    DRM_PRIME_CAP_EXPORT: u64 = 0x2;
    /// The dma-buf is closed by exec (`O_CLOEXEC`).
    DRM_CLOEXEC: u32 = 0o2000000;
    /// The dma-buf can be mapped for writing (`O_RDWR`).
    DRM_RDWR: u32 = 0o2;
}

requests! {
    /// Asks which driver answers.
    DRM_IOCTL_VERSION = IOWR(b'd', 0x00, drm_version) == 0xc040_6400;
    /// Asks for the bus's name of the device.
    DRM_IOCTL_GET_UNIQUE = IOWR(b'd', 0x01, drm_unique) == 0xc010_6401;
    /// Asks for a number to prove oneself with.
    DRM_IOCTL_GET_MAGIC = IOR(b'd', 0x02, drm_auth) == 0x8004_6402;
    /// Asks who is a client.
    DRM_IOCTL_GET_CLIENT = IOWR(b'd', 0x05, drm_client) == 0xc028_6405;
    /// Says which versions the client wants.
    DRM_IOCTL_SET_VERSION = IOWR(b'd', 0x07, drm_set_version) == 0xc010_6407;
    /// Gives an object's name back.
    DRM_IOCTL_GEM_CLOSE = IOW(b'd', 0x09, drm_gem_close) == 0x4008_6409;
    /// Names an object for all files.
    DRM_IOCTL_GEM_FLINK = IOWR(b'd', 0x0a, drm_gem_flink) == 0xc008_640a;
    /// Opens an object by its name for all files.
    DRM_IOCTL_GEM_OPEN = IOWR(b'd', 0x0b, drm_gem_open) == 0xc010_640b;
    /// Asks for a capability of the driver.
    DRM_IOCTL_GET_CAP = IOWR(b'd', 0x0c, drm_get_cap) == 0xc010_640c;
    /// Says what the client can do.
    DRM_IOCTL_SET_CLIENT_CAP = IOW(b'd', 0x0d, drm_set_client_cap) == 0x4010_640d;
    /// Believes the client with that number.
    DRM_IOCTL_AUTH_MAGIC = IOW(b'd', 0x11, drm_auth) == 0x4004_6411;
    /// Makes the file the device's master.
    DRM_IOCTL_SET_MASTER = IO(b'd', 0x1e, ()) == 0x641e;
    /// Leaves the device without a master.
    DRM_IOCTL_DROP_MASTER = IO(b'd', 0x1f, ()) == 0x641f;
    /// Makes a dma-buf of an object.
    DRM_IOCTL_PRIME_HANDLE_TO_FD = IOWR(b'd', 0x2d, drm_prime_handle) == 0xc00c_642d;
    /// Names the object behind a dma-buf.
    DRM_IOCTL_PRIME_FD_TO_HANDLE = IOWR(b'd', 0x2e, drm_prime_handle) == 0xc00c_642e;
    /// Names the file, for files of debugfs and fdinfo.
    DRM_IOCTL_SET_CLIENT_NAME = IOWR(b'd', 0xd1, drm_set_client_name) == 0xc010_64d1;
}

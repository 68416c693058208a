//! `<drm/drm.h>` and `<drm/drm_mode.h>`: what every DRM driver answers.

use zerocopy::{FromBytes, Immutable, IntoBytes};

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

    /// The argument of GEM_CLOSE.
    drm_gem_close: 8 {
        /// The object's name.
        handle @ 0: u32,
        /// Not looked at.
        pad @ 4: u32,
    }

    /// The argument of GET_CAP.
    drm_get_cap: 16 {
        /// `DRM_CAP_*`.
        capability @ 0: u64,
        /// Back: the capability's value.
        value @ 8: u64,
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

    /// A framebuffer over up to four objects.
    drm_mode_fb_cmd2: 104 {
        /// Back: the framebuffer's id.
        fb_id @ 0: u32,
        /// Width, in pixels.
        width @ 4: u32,
        /// Height, in pixels.
        height @ 8: u32,
        /// `DRM_FORMAT_*`.
        pixel_format @ 12: u32,
        /// `DRM_MODE_FB_*`.
        flags @ 16: u32,
        /// The objects, one per plane; 0 for an unused plane.
        handles @ 20: [u32; 4],
        /// Bytes from line to line, per plane.
        pitches @ 36: [u32; 4],
        /// Bytes to the first line, per plane.
        offsets @ 52: [u32; 4],
        /// Padding.
        __pad0 @ 68: u32,
        /// `DRM_FORMAT_MOD_*`, per plane; only with `DRM_MODE_FB_MODIFIERS`.
        modifier @ 72: [u64; 4],
    }

    /// Which part of a framebuffer was written.
    drm_mode_fb_dirty_cmd: 24 {
        /// The framebuffer.
        fb_id @ 0: u32,
        /// `DRM_MODE_FB_DIRTY_*`.
        flags @ 4: u32,
        /// Fill colour, for `DRM_MODE_FB_DIRTY_ANNOTATE_FILL`.
        color @ 8: u32,
        /// Rectangles at `clips_ptr`; 0 for the whole.
        num_clips @ 12: u32,
        /// Address of the rectangles.
        clips_ptr @ 16: u64,
    }

    /// A linear buffer that the display can show.
    drm_mode_create_dumb: 32 {
        /// Height, in pixels.
        height @ 0: u32,
        /// Width, in pixels.
        width @ 4: u32,
        /// Bits per pixel.
        bpp @ 8: u32,
        /// Must be 0.
        flags @ 12: u32,
        /// Back: the object's name.
        handle @ 16: u32,
        /// Back: bytes from line to line.
        pitch @ 20: u32,
        /// Back: the object's size, in bytes.
        size @ 24: u64,
    }

    /// The mmap(2) offset of a dumb buffer.
    drm_mode_map_dumb: 16 {
        /// The object's name.
        handle @ 0: u32,
        /// Not looked at.
        pad @ 4: u32,
        /// Back: the offset.
        offset @ 8: u64,
    }

    /// The argument of DESTROY_DUMB.
    drm_mode_destroy_dumb: 4 {
        /// The object's name.
        handle @ 0: u32,
    }
}

values! {
    /// Whether dumb buffers can be made.
    DRM_CAP_DUMB_BUFFER: u64 = 0x1;
    /// Which directions of PRIME work: `DRM_PRIME_CAP_*`.
    DRM_CAP_PRIME: u64 = 0x5;
    /// dma-bufs can be imported.
    DRM_PRIME_CAP_IMPORT: u64 = 0x1;
    /// Objects can be exported.
    DRM_PRIME_CAP_EXPORT: u64 = 0x2;
    /// The dma-buf is closed by exec (`O_CLOEXEC`).
    DRM_CLOEXEC: u32 = 0o2000000;
    /// The dma-buf can be mapped for writing (`O_RDWR`).
    DRM_RDWR: u32 = 0o2;
    /// `modifier` of ADDFB2 counts.
    DRM_MODE_FB_MODIFIERS: u32 = 1 << 1;
}

requests! {
    /// Asks which driver answers.
    DRM_IOCTL_VERSION = IOWR(b'd', 0x00, drm_version) == 0xc040_6400;
    /// Gives an object's name back.
    DRM_IOCTL_GEM_CLOSE = IOW(b'd', 0x09, drm_gem_close) == 0x4008_6409;
    /// Asks for a capability of the driver.
    DRM_IOCTL_GET_CAP = IOWR(b'd', 0x0c, drm_get_cap) == 0xc010_640c;
    /// Makes a dma-buf of an object.
    DRM_IOCTL_PRIME_HANDLE_TO_FD = IOWR(b'd', 0x2d, drm_prime_handle) == 0xc00c_642d;
    /// Names the object behind a dma-buf.
    DRM_IOCTL_PRIME_FD_TO_HANDLE = IOWR(b'd', 0x2e, drm_prime_handle) == 0xc00c_642e;
    /// Removes a framebuffer.
    DRM_IOCTL_MODE_RMFB = IOWR(b'd', 0xaf, u32) == 0xc004_64af;
    /// Says that a framebuffer was written.
    DRM_IOCTL_MODE_DIRTYFB = IOWR(b'd', 0xb1, drm_mode_fb_dirty_cmd) == 0xc018_64b1;
    /// Makes a dumb buffer.
    DRM_IOCTL_MODE_CREATE_DUMB = IOWR(b'd', 0xb2, drm_mode_create_dumb) == 0xc020_64b2;
    /// Asks for a dumb buffer's mmap(2) offset.
    DRM_IOCTL_MODE_MAP_DUMB = IOWR(b'd', 0xb3, drm_mode_map_dumb) == 0xc010_64b3;
    /// Closes a dumb buffer.
    DRM_IOCTL_MODE_DESTROY_DUMB = IOWR(b'd', 0xb4, drm_mode_destroy_dumb) == 0xc004_64b4;
    /// Makes a framebuffer.
    DRM_IOCTL_MODE_ADDFB2 = IOWR(b'd', 0xb8, drm_mode_fb_cmd2) == 0xc068_64b8;
}

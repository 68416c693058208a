//! Dumb buffers, and what is refused everywhere, or without a display.

use gem_coherency_uapi::drm_display::{
    DRM_IOCTL_MODE_ATOMIC, DRM_IOCTL_MODE_CREATE_DUMB, DRM_IOCTL_MODE_DESTROY_DUMB, DRM_IOCTL_MODE_MAP_DUMB,
    DRM_IOCTL_WAIT_VBLANK,
};

use super::Values::{Handle, Of};
use super::{Out, Shape, f, ioctl, out};

pub const SHAPES: &[Shape] = &[
    ioctl(
        "MODE_CREATE_DUMB",
        DRM_IOCTL_MODE_CREATE_DUMB.code,
        2,
        &[
            f("height", 0, 4, Of(&[2, 1, 16, 0])),
            f("width", 4, 4, Of(&[1024, 1, 17, 1025, 0, 0xffff_f001, 0xffff_ffff])),
            f("bpp", 8, 4, Of(&[32, 8, 1, 16, 15, 24, 33, 64, 0, 0xffff_fff7, 0xffff_fff8])),
            f("flags", 12, 4, Of(&[0, 1])),
            f("handle", 16, 4, Of(&[0, 77])),
            f("pitch", 20, 4, Of(&[0, 5])),
            f("size", 24, 8, Of(&[0, 6])),
        ],
    ),
    ioctl(
        "MODE_MAP_DUMB",
        DRM_IOCTL_MODE_MAP_DUMB.code,
        1,
        &[
            f("handle", 0, 4, Handle),
            f("pad", 4, 4, Of(&[0, 1])),
            out("offset", 8, 8, Of(&[0, 5]), Out::Offset),
        ],
    ),
    ioctl("MODE_DESTROY_DUMB", DRM_IOCTL_MODE_DESTROY_DUMB.code, 1, &[f("handle", 0, 4, Handle)]),
    ioctl("MODE_ATTACHMODE", 0xc048_64a8, 1, &[]),
    ioctl("MODE_ATOMIC", DRM_IOCTL_MODE_ATOMIC.code, 1, &[]),
];

/// The calls whose results depend on what a screen shows.
pub const UNLIKE: &[Shape] = &[ioctl("WAIT_VBLANK", DRM_IOCTL_WAIT_VBLANK.code, 1, &[])];

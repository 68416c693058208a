//! Objects, their levels and domains.

use gem_coherency_uapi::drm::DRM_IOCTL_GEM_CLOSE;
use gem_coherency_uapi::i915::{
    DRM_IOCTL_I915_GEM_CREATE, DRM_IOCTL_I915_GEM_GET_CACHING, DRM_IOCTL_I915_GEM_SET_CACHING,
    DRM_IOCTL_I915_GEM_SET_DOMAIN, DRM_IOCTL_I915_GEM_SW_FINISH,
};

use super::Values::{AnyHandle, Handle, Of};
use super::{Kind, Shape, f, ioctl, plain};

pub const SHAPES: &[Shape] = &[
    ioctl(
        "GEM_CREATE",
        DRM_IOCTL_I915_GEM_CREATE.code,
        3,
        &[
            f(
                "size",
                0,
                8,
                Of(&[12288, 4096, 1, 4097, 0, 1 << 63, u64::MAX - 4095, u64::MAX - 4094, u64::MAX]),
            ),
            f("handle", 8, 4, Of(&[0, 7])),
            f("pad", 12, 4, Of(&[0, 1])),
        ],
    ),
    ioctl(
        "GEM_CLOSE",
        DRM_IOCTL_GEM_CLOSE.code,
        1,
        &[f("handle", 0, 4, Handle), f("pad", 4, 4, Of(&[0, 9]))],
    ),
    ioctl(
        "GEM_SET_CACHING",
        DRM_IOCTL_I915_GEM_SET_CACHING.code,
        3,
        &[f("handle", 0, 4, AnyHandle), f("caching", 4, 4, Of(&[0, 1, 2, 3, 0x100, 0xffff_ffff]))],
    ),
    ioctl(
        "GEM_GET_CACHING",
        DRM_IOCTL_I915_GEM_GET_CACHING.code,
        2,
        &[f("handle", 0, 4, AnyHandle), f("caching", 4, 4, Of(&[0, 77]))],
    ),
    ioctl(
        "GEM_SET_DOMAIN",
        DRM_IOCTL_I915_GEM_SET_DOMAIN.code,
        6,
        &[
            f("handle", 0, 4, AnyHandle),
            f("read_domains", 4, 4, Of(&[1, 0x40, 0x80, 0x41, 0xc1, 0, 2, 0x3e, 0x100, 0xffff_ffff])),
            f("write_domain", 8, 4, Of(&[0, 1, 0x40, 0x80, 2, 0x100, 0x41, 0xffff_ffff])),
        ],
    ),
    ioctl("GEM_SW_FINISH", DRM_IOCTL_I915_GEM_SW_FINISH.code, 1, &[f("handle", 0, 4, AnyHandle)]),
    plain("shrink", Kind::Shrink, 1, &[]),
    // Takes a second: only where it is asked for.
    plain("suspend", Kind::Suspend, 0, &[]),
];

//! The CPU's accesses: copies, maps, loads and stores.

use gem_coherency_uapi::i915::{
    DRM_IOCTL_I915_GEM_MMAP, DRM_IOCTL_I915_GEM_MMAP_GTT, DRM_IOCTL_I915_GEM_MMAP_OFFSET,
    DRM_IOCTL_I915_GEM_PREAD, DRM_IOCTL_I915_GEM_PWRITE,
};

use super::Values::{Address, AnyHandle, Handle, Mapping, Of, Offset};
use super::{Kind, Out, Shape, f, ioctl, out, plain};

/// The offsets at which a copy begins in an object of three pages.
const OFFSETS: &[u64] = &[0, 64, 100, 4090, 8192, 12288, 12287, 1 << 40, u64::MAX, u64::MAX - 63];
/// The lengths of a copy.
const LENGTHS: &[u64] = &[64, 100, 8, 4096, 5000, 1, 0, 12289, 1 << 40, u64::MAX];

pub const SHAPES: &[Shape] = &[
    ioctl(
        "GEM_PREAD",
        DRM_IOCTL_I915_GEM_PREAD.code,
        4,
        &[
            f("handle", 0, 4, AnyHandle),
            f("pad", 4, 4, Of(&[0, 1])),
            f("offset", 8, 8, Of(OFFSETS)),
            f("size", 16, 8, Of(LENGTHS)),
            f("data_ptr", 24, 8, Address),
        ],
    ),
    ioctl(
        "GEM_PWRITE",
        DRM_IOCTL_I915_GEM_PWRITE.code,
        4,
        &[
            f("handle", 0, 4, Handle),
            f("pad", 4, 4, Of(&[0, 1])),
            f("offset", 8, 8, Of(OFFSETS)),
            f("size", 16, 8, Of(LENGTHS)),
            f("data_ptr", 24, 8, Address),
        ],
    ),
    ioctl(
        "GEM_MMAP",
        DRM_IOCTL_I915_GEM_MMAP.code,
        2,
        &[
            f("handle", 0, 4, Handle),
            f("pad", 4, 4, Of(&[0, 1])),
            f("offset", 8, 8, Of(&[0, 4096, 8192, 12288, 100, u64::MAX])),
            f("size", 16, 8, Of(&[12288, 4096, 100, 0, 12289, 1 << 50, u64::MAX])),
            out("addr_ptr", 24, 8, Of(&[0, 5]), Out::Address),
            f("flags", 32, 8, Of(&[0, 1, 2, u64::MAX])),
        ],
    ),
    ioctl(
        "GEM_MMAP_GTT",
        DRM_IOCTL_I915_GEM_MMAP_GTT.code,
        2,
        &[
            f("handle", 0, 4, Handle),
            f("pad", 4, 4, Of(&[0, 1])),
            out("offset", 8, 8, Of(&[0, 5]), Out::Offset),
        ],
    ),
    ioctl(
        "GEM_MMAP_OFFSET",
        DRM_IOCTL_I915_GEM_MMAP_OFFSET.code,
        4,
        &[
            f("handle", 0, 4, Handle),
            f("pad", 4, 4, Of(&[0, 1])),
            out("offset", 8, 8, Of(&[0, 5]), Out::Offset),
            f("flags", 16, 8, Of(&[2, 1, 0, 3, 4, 5, 1 << 32, u64::MAX])),
            f("extensions", 24, 8, Of(&[0, 8, crate::processes::arena::HOLE])),
        ],
    ),
    plain(
        "mmap",
        Kind::Mmap,
        4,
        &[
            f("offset", 0, 0, Offset),
            f("shift", 0, 0, Of(&[0, 4096, 8192, 12288])),
            f("len", 0, 0, Of(&[12288, 4096, 100, 16384, 8192])),
            f("pages", 0, 0, Of(&[0, 1, 2, 3])),
        ],
    ),
    plain("munmap", Kind::Munmap, 1, &[f("mapping", 0, 0, Mapping)]),
    plain(
        "load",
        Kind::Load,
        4,
        &[
            f("mapping", 0, 0, Mapping),
            f("offset", 0, 0, Of(&[0, 60, 4090, 8192])),
            f("len", 0, 0, Of(&[64, 8, 4096, 1])),
        ],
    ),
    plain(
        "store",
        Kind::Store,
        4,
        &[
            f("mapping", 0, 0, Mapping),
            f("offset", 0, 0, Of(&[0, 60, 4090, 8192])),
            f("len", 0, 0, Of(&[64, 8, 4096, 1])),
            f("byte", 0, 0, Of(&[0xa5, 1, 2, 3])),
        ],
    ),
];

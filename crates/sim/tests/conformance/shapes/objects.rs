//! Objects made with extensions, their names in all files, what they are worth, and how they are tiled.

use gem_coherency_uapi::drm::{DRM_IOCTL_GEM_FLINK, DRM_IOCTL_GEM_OPEN};
use gem_coherency_uapi::i915::*;

use super::Values::{AnyHandle, Built, Handle, Of};
use super::{Builder, Shape, f, ioctl};
use crate::processes::arena::{HOLE, READ_ONLY};

const REGIONS: u32 = I915_GEM_CREATE_EXT_MEMORY_REGIONS;
const PROTECTED: u32 = I915_GEM_CREATE_EXT_PROTECTED_CONTENT;
const PAT: u32 = I915_GEM_CREATE_EXT_SET_PAT;
/// The chain of extensions that sets PAT index 0; the next five set the next five.
pub const PAT_0: u16 = 18;

/// The head of an extension.
fn head(name: u32, next: u64) -> i915_user_extension {
    i915_user_extension { next_extension: next, name, ..Default::default() }
}

/// A list of regions, by class and instance.
fn regions(builder: &mut Builder, places: &[[u16; 2]], next: u64) -> u64 {
    let at = builder.list(places);
    list(builder, places.len() as u32, at, 0, next)
}

fn list(builder: &mut Builder, num_regions: u32, regions: u64, pad: u32, next: u64) -> u64 {
    builder.put(&drm_i915_gem_create_ext_memory_regions {
        base: head(REGIONS, next),
        pad,
        num_regions,
        regions,
    })
}

fn pat(builder: &mut Builder, pat_index: u32, next: u64) -> u64 {
    builder.put(&drm_i915_gem_create_ext_set_pat { base: head(PAT, next), pat_index, rsvd: 9 })
}

fn protected(builder: &mut Builder, flags: u32) -> u64 {
    builder.put(&drm_i915_gem_create_ext_protected_content {
        base: head(PROTECTED, 0),
        flags,
        ..Default::default()
    })
}

/// A bare head, changed.
fn bare(builder: &mut Builder, change: impl FnOnce(&mut i915_user_extension)) -> u64 {
    let mut base = head(REGIONS, 0);
    change(&mut base);
    builder.put(&base)
}

/// Chains of extensions of GEM_CREATE_EXT.
fn chain(builder: &mut Builder, kind: u16) -> u64 {
    const SYSTEM: [u16; 2] = [0, 0];
    const LOCAL: [u16; 2] = [1, 0];
    match kind {
        0 => 0,
        1 => regions(builder, &[SYSTEM], 0),
        2 => regions(builder, &[LOCAL], 0),
        3 => regions(builder, &[LOCAL, SYSTEM], 0),
        4 => regions(builder, &[SYSTEM, LOCAL], 0),
        5 => regions(builder, &[SYSTEM, SYSTEM], 0),
        6 => regions(builder, &[[0, 1]], 0),
        7 => regions(builder, &[[2, 0]], 0),
        8 => regions(builder, &[[3, 0]], 0),
        9 => regions(builder, &[[0xffff, 0xffff]], 0),
        10 => list(builder, 0, 0, 0, 0),
        11 => list(builder, 7, HOLE, 0, 0),
        12 => list(builder, 8, HOLE, 0, 0),
        13 => list(builder, 1, HOLE, 1, 0),
        14 => list(builder, u32::MAX, HOLE, 0, 0),
        15 => list(builder, 2, READ_ONLY + 4092, 0, 0),
        16 => {
            let next = regions(builder, &[SYSTEM], 0);
            regions(builder, &[SYSTEM], next)
        }
        17 => {
            let next = pat(builder, 3, 0);
            regions(builder, &[SYSTEM], next)
        }
        PAT_0..=23 => pat(builder, u32::from(kind - PAT_0), 0),
        24 => pat(builder, u32::MAX, 0),
        25 => {
            let next = pat(builder, 7, 0);
            pat(builder, 0, next)
        }
        26 => protected(builder, 0),
        27 => protected(builder, 1),
        28 => bare(builder, |base| base.name = 3),
        29 => bare(builder, |base| base.name = u32::MAX),
        30 => bare(builder, |base| base.flags = 1),
        31 => bare(builder, |base| base.rsvd[0] = 1),
        32 => bare(builder, |base| base.rsvd[3] = 1),
        33 => HOLE,
        34 => HOLE - 16,
        35 => HOLE - 40,
        36 => u64::MAX,
        37 => 0x8000_0000_0000,
        38 => {
            // PAT indices without end: the chain leads back to itself.
            let at = pat(builder, 3, 0);
            let extension = builder.written.last_mut().expect("an extension");
            extension.1[..8].copy_from_slice(&at.to_ne_bytes());
            at
        }
        39 => {
            let next = HOLE;
            regions(builder, &[SYSTEM], next)
        }
        _ => regions(builder, &[SYSTEM, LOCAL, [1, 1]], 0),
    }
}

pub const SHAPES: &[Shape] = &[
    ioctl(
        "GEM_CREATE_EXT",
        DRM_IOCTL_I915_GEM_CREATE_EXT.code,
        3,
        &[
            f("size", 0, 8, Of(&[12288, 4096, 1, 65537, 0, 1 << 63, u64::MAX - 4094, u64::MAX])),
            f("handle", 8, 4, Of(&[0, 7])),
            f("flags", 12, 4, Of(&[0, 1, 2, 3, 0x8000_0000])),
            f("extensions", 16, 8, Built(41, chain)),
        ],
    ),
    ioctl(
        "GEM_FLINK",
        DRM_IOCTL_GEM_FLINK.code,
        2,
        &[f("handle", 0, 4, AnyHandle), f("name", 4, 4, Of(&[0, 9]))],
    ),
    ioctl(
        "GEM_OPEN",
        DRM_IOCTL_GEM_OPEN.code,
        2,
        &[
            f("name", 0, 4, Of(&[1, 2, 3, 0, 77, 0x7fff_ffff, 0x8000_0000, 0xffff_ffff])),
            f("handle", 4, 4, Of(&[0, 9])),
            f("size", 8, 8, Of(&[0, 9])),
        ],
    ),
    ioctl(
        "GEM_MADVISE",
        DRM_IOCTL_I915_GEM_MADVISE.code,
        3,
        &[
            f("handle", 0, 4, Handle),
            f("madv", 4, 4, Of(&[1, 0, 2, 3, 0xffff_ffff])),
            f("retained", 8, 4, Of(&[0, 9])),
        ],
    ),
    ioctl(
        "GEM_SET_TILING",
        DRM_IOCTL_I915_GEM_SET_TILING.code,
        2,
        &[
            f("handle", 0, 4, Handle),
            f("tiling_mode", 4, 4, Of(&[1, 0, 2, 3, 0xffff_ffff])),
            f(
                "stride",
                8,
                4,
                Of(&[
                    512,
                    0,
                    64,
                    128,
                    256,
                    1024,
                    4096,
                    8192,
                    8320,
                    16384,
                    131072,
                    131584,
                    262144,
                    262656,
                    0x8000_0000,
                    0xffff_ffff,
                ]),
            ),
            f("swizzle_mode", 12, 4, Of(&[0, 9])),
        ],
    ),
    ioctl(
        "GEM_GET_TILING",
        DRM_IOCTL_I915_GEM_GET_TILING.code,
        1,
        &[
            f("handle", 0, 4, AnyHandle),
            f("tiling_mode", 4, 4, Of(&[0, 9])),
            f("swizzle_mode", 8, 4, Of(&[0, 9])),
            f("phys_swizzle_mode", 12, 4, Of(&[0, 9])),
        ],
    ),
];

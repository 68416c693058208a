//! Facts that the driver reports about itself and the device, and the right to ask for them.

use gem_coherency_uapi::drm::*;
use gem_coherency_uapi::i915_facts::*;

use super::Values::{Address, Built, Of};
use super::{Builder, Out, Shape, f, ioctl, out};

/// The reason why a number is not compared.
const AMOUNT: &str = "how much of it there is differs from device to device";

/// Returns the address of an `int` that is not compared.
fn unseen_int(builder: &mut Builder, _: u16) -> u64 {
    let address = builder.put(&[0u8; 8]);
    builder.mask(address, 8);
    address
}

/// Every parameter whose value is that of the platform and the kernel.
const PARAMS: &[u64] = &[
    17,
    4,
    27,
    30,
    40,
    52,
    0,
    1,
    2,
    3,
    5,
    6,
    7,
    8,
    9,
    10,
    11,
    12,
    13,
    14,
    15,
    16,
    18,
    19,
    20,
    21,
    22,
    23,
    24,
    25,
    26,
    28,
    29,
    31,
    35,
    36,
    37,
    38,
    39,
    41,
    42,
    43,
    44,
    45,
    48,
    49,
    50,
    53,
    54,
    55,
    56,
    58,
    59,
    60,
    61,
    100,
    0x7fff_ffff,
    0x8000_0000,
    0xffff_ffff,
];
/// Those whose value is an amount.
const AMOUNTS: &[u64] = &[32, 33, 34, 46, 47, 51, 57];

pub const SHAPES: &[Shape] = &[
    ioctl(
        "VERSION",
        DRM_IOCTL_VERSION.code,
        1,
        &[
            f("version_major", 0, 4, Of(&[0, 9])),
            f("name_len", 16, 8, Of(&[64, 4, 3, 0, u64::MAX])),
            f("name", 24, 8, Address),
            f("date_len", 32, 8, Of(&[64, 8, 1, 0, u64::MAX])),
            f("date", 40, 8, Address),
            f("desc_len", 48, 8, Of(&[64, 14, 5, 0, u64::MAX])),
            f("desc", 56, 8, Address),
        ],
    ),
    ioctl(
        "GET_CAP",
        DRM_IOCTL_GET_CAP.code,
        1,
        &[
            f(
                "capability",
                0,
                8,
                Of(&[
                    5,
                    1,
                    0,
                    2,
                    3,
                    4,
                    6,
                    7,
                    8,
                    9,
                    0xa,
                    0x10,
                    0x11,
                    0x12,
                    0x13,
                    0x14,
                    0x15,
                    0x16,
                    0x1_0000_0005,
                    u64::MAX,
                ]),
            ),
            f("value", 8, 8, Of(&[0, 77])),
        ],
    ),
    ioctl(
        "SET_CLIENT_CAP",
        DRM_IOCTL_SET_CLIENT_CAP.code,
        1,
        &[
            f("capability", 0, 8, Of(&[2, 1, 3, 4, 5, 6, 0, 7, u64::MAX])),
            f("value", 8, 8, Of(&[1, 0, 2, 3, u64::MAX])),
        ],
    ),
    ioctl(
        "GETPARAM",
        DRM_IOCTL_I915_GETPARAM.code,
        2,
        &[f("param", 0, 4, Of(PARAMS)), f("__pad0", 4, 4, Of(&[0, 1])), f("value", 8, 8, Address)],
    ),
    ioctl(
        "GETPARAM_amounts",
        DRM_IOCTL_I915_GETPARAM.code,
        1,
        &[f("param", 0, 4, Of(AMOUNTS)), out("value", 8, 8, Built(1, unseen_int), Out::Exact)],
    ),
    ioctl(
        "GEM_GET_APERTURE",
        DRM_IOCTL_I915_GEM_GET_APERTURE.code,
        1,
        &[
            f("aper_size", 0, 8, Of(&[0, 7])),
            out("aper_available_size", 8, 8, Of(&[0, 7]), Out::Nothing(AMOUNT)),
        ],
    ),
    ioctl(
        "REG_READ",
        DRM_IOCTL_I915_REG_READ.code,
        1,
        &[
            f("offset", 0, 8, Of(&[0x2358, 0x2359, 0x235a, 0x235f, 0x2350, 0x2360, 0, u64::MAX])),
            out("val", 8, 8, Of(&[0, 7]), Out::Sign),
        ],
    ),
    ioctl(
        "GET_UNIQUE",
        DRM_IOCTL_GET_UNIQUE.code,
        1,
        &[f("unique_len", 0, 8, Of(&[64, 16, 15, 0, u64::MAX])), f("unique", 8, 8, Address)],
    ),
    ioctl("GET_MAGIC", DRM_IOCTL_GET_MAGIC.code, 1, &[f("magic", 0, 4, Of(&[0, 9]))]),
    ioctl("AUTH_MAGIC", DRM_IOCTL_AUTH_MAGIC.code, 1, &[f("magic", 0, 4, Of(&[1, 2, 0, 3, 0xffff_ffff]))]),
    ioctl(
        "GET_CLIENT",
        DRM_IOCTL_GET_CLIENT.code,
        1,
        &[
            f("idx", 0, 4, Of(&[0, 1, 0xffff_ffff])),
            f("auth", 4, 4, Of(&[0, 9])),
            out("pid", 8, 8, Of(&[0, 9]), Out::Nothing("processes have their own numbers")),
            f("uid", 16, 8, Of(&[0, 9])),
            f("magic", 24, 8, Of(&[0, 9])),
            f("iocs", 32, 8, Of(&[0, 9])),
        ],
    ),
    ioctl(
        "SET_VERSION",
        DRM_IOCTL_SET_VERSION.code,
        1,
        &[
            f("drm_di_major", 0, 4, Of(&[1, 0xffff_ffff, 0, 2])),
            f("drm_di_minor", 4, 4, Of(&[4, 0, 1, 5, 0xffff_ffff])),
            f("drm_dd_major", 8, 4, Of(&[0xffff_ffff, 1, 2])),
            f("drm_dd_minor", 12, 4, Of(&[0, 6, 7, 0xffff_ffff])),
        ],
    ),
    ioctl("SET_MASTER", DRM_IOCTL_SET_MASTER.code, 1, &[]),
    ioctl("DROP_MASTER", DRM_IOCTL_DROP_MASTER.code, 1, &[]),
];

//! Framebuffers: what can be one, and what becomes of it.

use gem_coherency_uapi::drm_display::{
    DRM_IOCTL_MODE_ADDFB, DRM_IOCTL_MODE_ADDFB2, DRM_IOCTL_MODE_CLOSEFB, DRM_IOCTL_MODE_DIRTYFB,
    DRM_IOCTL_MODE_GETFB, DRM_IOCTL_MODE_GETFB2, DRM_IOCTL_MODE_GETRESOURCES, DRM_IOCTL_MODE_RMFB,
};
use gem_coherency_uapi::drm_fourcc::*;

use super::Values::{Address, Built, Framebuffer, Handle, Of};
use super::{Builder, Field, Out, Shape, f, ioctl, out};

/// Formats, of which platforms have some, the last four being none.
const FORMATS: &[u64] = &[
    DRM_FORMAT_XRGB8888 as u64,
    DRM_FORMAT_ARGB8888 as u64,
    DRM_FORMAT_XBGR8888 as u64,
    DRM_FORMAT_ABGR8888 as u64,
    DRM_FORMAT_RGB565 as u64,
    DRM_FORMAT_XRGB1555 as u64,
    DRM_FORMAT_C8 as u64,
    DRM_FORMAT_XRGB2101010 as u64,
    DRM_FORMAT_XBGR2101010 as u64,
    DRM_FORMAT_ARGB2101010 as u64,
    DRM_FORMAT_ABGR2101010 as u64,
    DRM_FORMAT_XRGB16161616F as u64,
    DRM_FORMAT_XBGR16161616F as u64,
    DRM_FORMAT_ARGB16161616F as u64,
    DRM_FORMAT_ABGR16161616F as u64,
    DRM_FORMAT_YUYV as u64,
    DRM_FORMAT_YVYU as u64,
    DRM_FORMAT_UYVY as u64,
    DRM_FORMAT_VYUY as u64,
    DRM_FORMAT_XYUV8888 as u64,
    DRM_FORMAT_NV12 as u64,
    DRM_FORMAT_P010 as u64,
    DRM_FORMAT_P012 as u64,
    DRM_FORMAT_P016 as u64,
    DRM_FORMAT_Y210 as u64,
    DRM_FORMAT_Y212 as u64,
    DRM_FORMAT_Y216 as u64,
    DRM_FORMAT_XVYU2101010 as u64,
    DRM_FORMAT_XVYU12_16161616 as u64,
    DRM_FORMAT_XVYU16161616 as u64,
    0x3432_5258, // RX24
    0x3432_4752, // RG24
    0x3631_564e, // NV16
    0x3231_5559, // YU12
    0x2020_3143, // C1
    0x304c_3059, // Y0L0
    0x3033_564e, // NV30, which 6.1 does not know
    0x3033_5556, // VU30, whose pixels have no bytes
    0,
    1,
    DRM_FORMAT_XRGB8888 as u64 | 1 << 31,
    0xffff_ffff,
];

/// Modifiers, the last four being nobody's or another vendor's.
const MODIFIERS: &[u64] = &[
    0,
    I915_FORMAT_MOD_X_TILED,
    I915_FORMAT_MOD_Y_TILED,
    I915_FORMAT_MOD_Yf_TILED,
    I915_FORMAT_MOD_Y_TILED_CCS,
    I915_FORMAT_MOD_Yf_TILED_CCS,
    I915_FORMAT_MOD_Y_TILED_GEN12_RC_CCS,
    I915_FORMAT_MOD_Y_TILED_GEN12_MC_CCS,
    I915_FORMAT_MOD_Y_TILED_GEN12_RC_CCS_CC,
    I915_FORMAT_MOD_4_TILED,
    I915_FORMAT_MOD_4_TILED_DG2_RC_CCS,
    I915_FORMAT_MOD_4_TILED_DG2_MC_CCS,
    I915_FORMAT_MOD_4_TILED_DG2_RC_CCS_CC,
    I915_FORMAT_MOD_4_TILED_MTL_RC_CCS,
    1 << 56 | 99,
    2 << 56 | 1,
    0x00ff_ffff_ffff_ffff,
    u64::MAX,
];

const PITCHES: &[u64] = &[
    512,
    0,
    64,
    60,
    65,
    128,
    256,
    511,
    576,
    1024,
    4096,
    16384,
    32768,
    32832,
    36864,
    65536,
    131_072,
    262_144,
    266_240,
    0x1000_0000,
    0xffff_ffff,
];
const OFFSETS: &[u64] = &[0, 64, 1, 2048, 4096, 4097, 8192, 12288, 0x7fff_f000, 0xffff_f000, 0xffff_ffff];
const WIDTHS: &[u64] = &[16, 1, 0, 15, 128, 129, 2048, 2049, 4096, 8192, 8193, 16384, 16385, 0xffff_ffff];
const HEIGHTS: &[u64] = &[8, 1, 0, 7, 9, 16, 24, 25, 32, 2049, 8193, 16384, 16385, 0x8000_0000, 0xffff_ffff];
const FLAGS: &[u64] = &[0, 2, 1, 3, 4, 0x8000_0000];

/// ADDFB2 with these values where a shape says nothing else.
macro_rules! addfb2 {
    ($name:literal, $weight:literal, $($field:expr),+ $(,)?) => {
        ioctl($name, DRM_IOCTL_MODE_ADDFB2.code, $weight, &[
            out("fb_id", 0, 4, Of(&[0, 9]), Out::Framebuffer),
            $($field),+
        ])
    };
}

/// One value.
const fn only(name: &'static str, at: usize, size: usize, value: &'static [u64]) -> Field {
    f(name, at, size, Of(value))
}

/// ADDFB2 of a picture whose second plane, with one of these pitches, says how the first is compressed.
macro_rules! compressed {
    ($name:literal, $modifiers:expr, $pitches:expr) => {
        addfb2!(
            $name,
            1,
            f("pixel_format", 12, 4, Of(FORMATS)),
            f("width", 4, 4, Of(&[32, 16, 128, 129, 3840, 3841])),
            f("height", 8, 4, Of(&[8, 16, 32, 33])),
            only("handles[0]", 20, 4, &[2]),
            f("handles[1]", 24, 4, Of(&[2, 3, 0])),
            f("handles[2]", 28, 4, Of(&[0, 2])),
            f("pitches[0]", 36, 4, Of(&[512, 64, 128, 192, 1024, 15360, 15488, 15872, 32768, 32896])),
            f("pitches[1]", 40, 4, Of(&$pitches)),
            f("offsets[1]", 56, 4, Of(&[0, 64, 4096, 0x2000, 0x4000])),
            only("modifier[0]", 72, 8, &$modifiers),
            f("modifier[1]", 80, 8, Of(&$modifiers)),
            only("flags", 16, 4, &[2]),
        )
    };
}

/// A good picture of two planes.
const NV12: &[u64] = &[DRM_FORMAT_NV12 as u64, DRM_FORMAT_P010 as u64, 0x3631_564e];

/// No rectangles.
fn no_clips(_: &mut Builder, _: u16) -> u64 {
    0
}

pub const SHAPES: &[Shape] = &[
    addfb2!(
        "MODE_ADDFB2",
        4,
        f("width", 4, 4, Of(WIDTHS)),
        f("height", 8, 4, Of(HEIGHTS)),
        f("pixel_format", 12, 4, Of(FORMATS)),
        f("flags", 16, 4, Of(FLAGS)),
        f("handles[0]", 20, 4, Handle),
        f("handles[1]", 24, 4, Of(&[0, 2, 77])),
        f("handles[3]", 32, 4, Of(&[0, 2])),
        f("pitches[0]", 36, 4, Of(PITCHES)),
        f("pitches[1]", 40, 4, Of(&[0, 512])),
        f("offsets[0]", 52, 4, Of(OFFSETS)),
        f("offsets[2]", 60, 4, Of(&[0, 4096])),
        f("pad", 68, 4, Of(&[0, 1])),
        f("modifier[0]", 72, 8, Of(MODIFIERS)),
        f("modifier[1]", 80, 8, Of(&[0, I915_FORMAT_MOD_X_TILED])),
    ),
    // With a modifier that counts.
    addfb2!(
        "MODE_ADDFB2_modifier",
        3,
        f("modifier[0]", 72, 8, Of(MODIFIERS)),
        f("pixel_format", 12, 4, Of(FORMATS)),
        f("width", 4, 4, Of(WIDTHS)),
        f("height", 8, 4, Of(HEIGHTS)),
        f("pitches[0]", 36, 4, Of(PITCHES)),
        f("handles[0]", 20, 4, Handle),
        f("handles[1]", 24, 4, Of(&[0, 2])),
        f("pitches[1]", 40, 4, Of(&[0, 64, 512])),
        f("offsets[1]", 56, 4, Of(&[0, 4096])),
        f("modifier[1]", 80, 8, Of(&[0, I915_FORMAT_MOD_X_TILED])),
        f("modifier[3]", 96, 8, Of(&[0, I915_FORMAT_MOD_X_TILED])),
        only("flags", 16, 4, &[2, 3]),
    ),
    addfb2!(
        "MODE_ADDFB2_x_tiled",
        2,
        f("pixel_format", 12, 4, Of(FORMATS)),
        f("width", 4, 4, Of(WIDTHS)),
        f("height", 8, 4, Of(HEIGHTS)),
        f("pitches[0]", 36, 4, Of(PITCHES)),
        f("handles[0]", 20, 4, Handle),
        f("modifier[0]", 72, 8, Of(&[I915_FORMAT_MOD_X_TILED])),
        only("flags", 16, 4, &[2]),
    ),
    addfb2!(
        "MODE_ADDFB2_y_tiled",
        2,
        f("pixel_format", 12, 4, Of(FORMATS)),
        f("width", 4, 4, Of(WIDTHS)),
        f("height", 8, 4, Of(HEIGHTS)),
        f("pitches[0]", 36, 4, Of(&[128, 64, 192, 256, 384, 512, 32768, 32896, 262_144, 262_272])),
        f("handles[0]", 20, 4, Handle),
        f("modifier[0]", 72, 8, Of(&[I915_FORMAT_MOD_Y_TILED, I915_FORMAT_MOD_Yf_TILED])),
        only("flags", 16, 4, &[2]),
    ),
    // Brightness and colours in one object.
    addfb2!(
        "MODE_ADDFB2_planes",
        3,
        f("pixel_format", 12, 4, Of(NV12)),
        f("width", 4, 4, Of(&[16, 15, 64, 128, 129])),
        f("height", 8, 4, Of(&[8, 7, 9, 16, 31, 32, 33, 0x4000])),
        f("handles[0]", 20, 4, Handle),
        f("handles[1]", 24, 4, Of(&[2, 3, 0, 77])),
        f("pitches[0]", 36, 4, Of(&[128, 64, 192, 512, 4096])),
        f("pitches[1]", 40, 4, Of(&[128, 64, 192, 512, 0, 8])),
        f("offsets[1]", 56, 4, Of(&[4096, 0, 64, 1024, 2048, 1000, 4160, 8192, 12288, 0xffff_f000])),
        f("offsets[0]", 52, 4, Of(&[0, 64])),
        f("modifier[0]", 72, 8, Of(&[0, I915_FORMAT_MOD_Y_TILED])),
        f("modifier[1]", 80, 8, Of(&[0, I915_FORMAT_MOD_Y_TILED])),
        only("flags", 16, 4, &[0, 2]),
    ),
    addfb2!(
        "MODE_ADDFB2_planes_tiled",
        2,
        f("pixel_format", 12, 4, Of(NV12)),
        f("width", 4, 4, Of(&[16, 15, 64, 128, 129])),
        f("height", 8, 4, Of(&[8, 7, 32, 33])),
        only("handles[0]", 20, 4, &[2]),
        f("handles[1]", 24, 4, Of(&[2, 3])),
        f("pitches[0]", 36, 4, Of(&[128, 64, 512])),
        f("pitches[1]", 40, 4, Of(&[128, 64, 512])),
        f("offsets[1]", 56, 4, Of(&[4096, 0, 64, 8192, 12288])),
        f("modifier[0]", 72, 8, Of(&[I915_FORMAT_MOD_Y_TILED, I915_FORMAT_MOD_X_TILED])),
        f("modifier[1]", 80, 8, Of(&[I915_FORMAT_MOD_Y_TILED, I915_FORMAT_MOD_X_TILED])),
        only("flags", 16, 4, &[2]),
    ),
    // A byte for 8 by 16 pixels, tiled as Y is.
    compressed!("MODE_ADDFB2_y_ccs", [I915_FORMAT_MOD_Y_TILED_CCS, 0], [128, 64, 0, 256]),
    compressed!("MODE_ADDFB2_yf_ccs", [I915_FORMAT_MOD_Yf_TILED_CCS, 0], [128, 64, 0, 256]),
    // A cache line for four tiles.
    compressed!("MODE_ADDFB2_rc_ccs", [I915_FORMAT_MOD_Y_TILED_GEN12_RC_CCS, 0], [64, 128, 0, 32]),
    compressed!("MODE_ADDFB2_mc_ccs", [I915_FORMAT_MOD_Y_TILED_GEN12_MC_CCS, 0], [64, 128, 0, 32]),
    compressed!("MODE_ADDFB2_dg2_ccs", [I915_FORMAT_MOD_4_TILED_DG2_RC_CCS, 0], [0, 64]),
    // And a plane for the colour of what is cleared.
    addfb2!(
        "MODE_ADDFB2_clear_ccs",
        1,
        f("pixel_format", 12, 4, Of(FORMATS)),
        f("width", 4, 4, Of(&[32, 16, 129])),
        f("height", 8, 4, Of(&[8, 33])),
        only("handles[0]", 20, 4, &[2]),
        only("handles[1]", 24, 4, &[2, 0]),
        f("handles[2]", 28, 4, Of(&[2, 0, 3])),
        f("pitches[0]", 36, 4, Of(&[512, 128])),
        f("pitches[1]", 40, 4, Of(&[64, 128])),
        f("pitches[2]", 44, 4, Of(&[0, 64, 65])),
        f("offsets[1]", 56, 4, Of(&[0x4000, 0, 64])),
        f("offsets[2]", 60, 4, Of(&[64, 0, 4096, 65, 0xffff_ffc0])),
        only("modifier[0]", 72, 8, &[I915_FORMAT_MOD_Y_TILED_GEN12_RC_CCS_CC]),
        only("modifier[1]", 80, 8, &[I915_FORMAT_MOD_Y_TILED_GEN12_RC_CCS_CC]),
        f("modifier[2]", 88, 8, Of(&[I915_FORMAT_MOD_Y_TILED_GEN12_RC_CCS_CC, 0])),
        only("flags", 16, 4, &[2]),
    ),
    // Brightness, colours, and a plane for each that says how they are compressed.
    addfb2!(
        "MODE_ADDFB2_planes_ccs",
        1,
        f("pixel_format", 12, 4, Of(NV12)),
        f("width", 4, 4, Of(&[32, 16, 129])),
        f("height", 8, 4, Of(&[8, 33])),
        only("handles[0]", 20, 4, &[2]),
        f("handles[1]", 24, 4, Of(&[2, 0])),
        f("handles[2]", 28, 4, Of(&[2, 0])),
        f("handles[3]", 32, 4, Of(&[2, 0, 3])),
        f("pitches[0]", 36, 4, Of(&[512, 128])),
        f("pitches[1]", 40, 4, Of(&[512, 128])),
        f("pitches[2]", 44, 4, Of(&[64, 128])),
        f("pitches[3]", 48, 4, Of(&[64, 0, 128])),
        f("offsets[1]", 56, 4, Of(&[0, 0x4000, 4096, 64])),
        f("offsets[2]", 60, 4, Of(&[0, 4096, 64, 0x8000])),
        f("offsets[3]", 64, 4, Of(&[0, 4096, 64, 0x8000])),
        only("modifier[0]", 72, 8, &[I915_FORMAT_MOD_Y_TILED_GEN12_MC_CCS]),
        only("modifier[1]", 80, 8, &[I915_FORMAT_MOD_Y_TILED_GEN12_MC_CCS]),
        only("modifier[2]", 88, 8, &[I915_FORMAT_MOD_Y_TILED_GEN12_MC_CCS]),
        f("modifier[3]", 96, 8, Of(&[I915_FORMAT_MOD_Y_TILED_GEN12_MC_CCS, 0])),
        only("flags", 16, 4, &[2]),
    ),
    ioctl(
        "MODE_ADDFB",
        DRM_IOCTL_MODE_ADDFB.code,
        2,
        &[
            out("fb_id", 0, 4, Of(&[0, 9]), Out::Framebuffer),
            f("width", 4, 4, Of(WIDTHS)),
            f("height", 8, 4, Of(HEIGHTS)),
            f("pitch", 12, 4, Of(PITCHES)),
            f("bpp", 16, 4, Of(&[32, 0, 1, 2, 4, 8, 16, 24, 33])),
            f("depth", 20, 4, Of(&[24, 0, 1, 2, 4, 8, 15, 16, 30, 32])),
            f("handle", 24, 4, Handle),
        ],
    ),
    ioctl("MODE_RMFB", DRM_IOCTL_MODE_RMFB.code, 2, &[f("fb_id", 0, 4, Framebuffer)]),
    ioctl(
        "MODE_CLOSEFB",
        DRM_IOCTL_MODE_CLOSEFB.code,
        1,
        &[f("fb_id", 0, 4, Framebuffer), f("pad", 4, 4, Of(&[0, 1]))],
    ),
    ioctl(
        "MODE_GETFB",
        DRM_IOCTL_MODE_GETFB.code,
        1,
        &[
            f("fb_id", 0, 4, Framebuffer),
            f("width", 4, 4, Of(&[0, 5])),
            f("bpp", 16, 4, Of(&[0, 5])),
            f("handle", 24, 4, Of(&[0, 5])),
        ],
    ),
    ioctl(
        "MODE_GETFB2",
        DRM_IOCTL_MODE_GETFB2.code,
        1,
        &[
            f("fb_id", 0, 4, Framebuffer),
            f("width", 4, 4, Of(&[0, 5])),
            f("flags", 16, 4, Of(&[0, 5])),
            f("handles[1]", 24, 4, Of(&[0, 5])),
            f("modifier[3]", 96, 8, Of(&[0, 5])),
        ],
    ),
    ioctl(
        "MODE_DIRTYFB",
        DRM_IOCTL_MODE_DIRTYFB.code,
        3,
        &[
            f("fb_id", 0, 4, Framebuffer),
            f("flags", 4, 4, Of(&[0, 1, 2, 3, 0xffff_ffff])),
            f("color", 8, 4, Of(&[0, 1])),
            f("num_clips", 12, 4, Of(&[0, 1, 2, 256, 257, 0x8000_0000])),
            f("clips_ptr", 16, 8, Built(1, no_clips)),
        ],
    ),
    ioctl(
        "MODE_DIRTYFB_clips",
        DRM_IOCTL_MODE_DIRTYFB.code,
        1,
        &[
            f("fb_id", 0, 4, Framebuffer),
            f("flags", 4, 4, Of(&[0, 1, 2])),
            f("num_clips", 12, 4, Of(&[2, 1, 0, 3, 256, 257, 0xffff_ffff])),
            f("clips_ptr", 16, 8, Address),
        ],
    ),
    ioctl(
        "MODE_GETRESOURCES",
        DRM_IOCTL_MODE_GETRESOURCES.code,
        1,
        &[
            f("fb_id_ptr", 0, 8, Of(&[0, 8])),
            f("count_fbs", 32, 4, Of(&[0, 1])),
            out("count_crtcs", 36, 4, Of(&[0]), Out::Nothing("screens differ")),
            out("count_connectors", 40, 4, Of(&[0]), Out::Nothing("screens differ")),
            out("count_encoders", 44, 4, Of(&[0]), Out::Nothing("screens differ")),
        ],
    ),
];

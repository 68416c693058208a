//! `<drm/drm_fourcc.h>`: how pixels lie in memory, as far as i915's display reads them.

// Yf, as in C.
#![allow(non_upper_case_globals)]

use crate::values;

/// The code of four letters (`fourcc_code`).
pub(crate) const fn fourcc(letters: &[u8; 4]) -> u32 {
    u32::from_le_bytes(*letters)
}

/// Intel's modifier of that number (`fourcc_mod_code`).
const fn intel(number: u64) -> u64 {
    0x01 << 56 | number
}

values! {
    /// Indices into a palette.
    DRM_FORMAT_C8: u32 = fourcc(b"C8  ");
    /// 15 bits of colour.
    DRM_FORMAT_XRGB1555: u32 = fourcc(b"XR15");
    /// 16 bits of colour.
    DRM_FORMAT_RGB565: u32 = fourcc(b"RG16");
    /// 24 bits of colour in 32, blue first.
    DRM_FORMAT_XRGB8888: u32 = fourcc(b"XR24");
    /// 24 bits of colour in 32, red first.
    DRM_FORMAT_XBGR8888: u32 = fourcc(b"XB24");
    /// As XRGB8888, with alpha.
    DRM_FORMAT_ARGB8888: u32 = fourcc(b"AR24");
    /// As XBGR8888, with alpha.
    DRM_FORMAT_ABGR8888: u32 = fourcc(b"AB24");
    /// 30 bits of colour, blue first.
    DRM_FORMAT_XRGB2101010: u32 = fourcc(b"XR30");
    /// 30 bits of colour, red first.
    DRM_FORMAT_XBGR2101010: u32 = fourcc(b"XB30");
    /// As XRGB2101010, with alpha.
    DRM_FORMAT_ARGB2101010: u32 = fourcc(b"AR30");
    /// As XBGR2101010, with alpha.
    DRM_FORMAT_ABGR2101010: u32 = fourcc(b"AB30");
    /// Half floats, blue first.
    DRM_FORMAT_XRGB16161616F: u32 = fourcc(b"XR4H");
    /// Half floats, red first.
    DRM_FORMAT_XBGR16161616F: u32 = fourcc(b"XB4H");
    /// Half floats with alpha, blue first.
    DRM_FORMAT_ARGB16161616F: u32 = fourcc(b"AR4H");
    /// Half floats with alpha, red first.
    DRM_FORMAT_ABGR16161616F: u32 = fourcc(b"AB4H");
    /// Two pixels in 32 bits: Y, Cb, Y, Cr.
    DRM_FORMAT_YUYV: u32 = fourcc(b"YUYV");
    /// Y, Cr, Y, Cb.
    DRM_FORMAT_YVYU: u32 = fourcc(b"YVYU");
    /// Cb, Y, Cr, Y.
    DRM_FORMAT_UYVY: u32 = fourcc(b"UYVY");
    /// Cr, Y, Cb, Y.
    DRM_FORMAT_VYUY: u32 = fourcc(b"VYUY");
    /// Y, Cb and Cr of 8 bits in 32.
    DRM_FORMAT_XYUV8888: u32 = fourcc(b"XYUV");
    /// A plane of Y, and one of Cb and Cr, a quarter as many.
    DRM_FORMAT_NV12: u32 = fourcc(b"NV12");
    /// As NV12, 10 bits in 16.
    DRM_FORMAT_P010: u32 = fourcc(b"P010");
    /// As NV12, 12 bits in 16.
    DRM_FORMAT_P012: u32 = fourcc(b"P012");
    /// As NV12, 16 bits.
    DRM_FORMAT_P016: u32 = fourcc(b"P016");
    /// As YUYV, 10 bits in 16.
    DRM_FORMAT_Y210: u32 = fourcc(b"Y210");
    /// As YUYV, 12 bits in 16.
    DRM_FORMAT_Y212: u32 = fourcc(b"Y212");
    /// As YUYV, 16 bits.
    DRM_FORMAT_Y216: u32 = fourcc(b"Y216");
    /// Cr, Y and Cb of 10 bits in 32.
    DRM_FORMAT_XVYU2101010: u32 = fourcc(b"XV30");
    /// Cr, Y and Cb of 12 bits in 64.
    DRM_FORMAT_XVYU12_16161616: u32 = fourcc(b"XV36");
    /// Cr, Y and Cb of 16 bits in 64.
    DRM_FORMAT_XVYU16161616: u32 = fourcc(b"XV48");
    /// One line after the other.
    DRM_FORMAT_MOD_LINEAR: u64 = 0;
    /// Tiles of 512 bytes by 8 lines.
    I915_FORMAT_MOD_X_TILED: u64 = intel(1);
    /// Tiles of 128 bytes by 32 lines.
    I915_FORMAT_MOD_Y_TILED: u64 = intel(2);
    /// Tiles whose shape depends on the bytes of a pixel.
    I915_FORMAT_MOD_Yf_TILED: u64 = intel(3);
    /// Y, compressed when rendered.
    I915_FORMAT_MOD_Y_TILED_CCS: u64 = intel(4);
    /// Yf, compressed when rendered.
    I915_FORMAT_MOD_Yf_TILED_CCS: u64 = intel(5);
    /// Y, compressed when rendered, gen12.
    I915_FORMAT_MOD_Y_TILED_GEN12_RC_CCS: u64 = intel(6);
    /// Y, compressed by the media engines, gen12.
    I915_FORMAT_MOD_Y_TILED_GEN12_MC_CCS: u64 = intel(7);
    /// As RC_CCS, with a colour that cleared parts have.
    I915_FORMAT_MOD_Y_TILED_GEN12_RC_CCS_CC: u64 = intel(8);
    /// Tiles of 128 bytes by 32 lines, in another order than Y's.
    I915_FORMAT_MOD_4_TILED: u64 = intel(9);
    /// 4, compressed when rendered, DG2.
    I915_FORMAT_MOD_4_TILED_DG2_RC_CCS: u64 = intel(10);
    /// 4, compressed by the media engines, DG2.
    I915_FORMAT_MOD_4_TILED_DG2_MC_CCS: u64 = intel(11);
    /// As DG2's RC_CCS, with a colour that cleared parts have.
    I915_FORMAT_MOD_4_TILED_DG2_RC_CCS_CC: u64 = intel(12);
    /// 4, compressed when rendered, Meteor Lake.
    I915_FORMAT_MOD_4_TILED_MTL_RC_CCS: u64 = intel(13);
    /// 4, compressed by the media engines, Meteor Lake.
    I915_FORMAT_MOD_4_TILED_MTL_MC_CCS: u64 = intel(14);
    /// As Meteor Lake's RC_CCS, with a colour that cleared parts have.
    I915_FORMAT_MOD_4_TILED_MTL_RC_CCS_CC: u64 = intel(15);
}

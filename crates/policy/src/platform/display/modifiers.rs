//! Format modifiers: the tilings and compressions that i915's display reads (`intel_modifiers`).

use crate::drm_fourcc::*;
use crate::vocabulary::KernelVersion;

use super::formats::{Layout, blocks, layout, px};

/// A modifier that i915 knows.
#[derive(Debug, PartialEq, Eq)]
pub struct Modifier {
    /// `I915_FORMAT_MOD_*`.
    pub code: u64,
    /// The first and the last display version that can have it.
    pub versions: (u8, u8),
    /// The tiling.
    pub tiles: Tiles,
    /// The compression, or `None`.
    pub compression: Option<Compression>,
    /// The formats that have more planes with this modifier.
    pub layouts: &'static [CompressedFormats],
}

/// Formats that are compressed in the same way.
#[derive(Debug, PartialEq, Eq)]
pub struct CompressedFormats {
    /// The formats.
    pub formats: &'static [u32],
    /// Their layout.
    pub layout: Layout,
    /// The first kernel that compresses them.
    pub since: KernelVersion,
}

/// A tiling that the display can read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tiles {
    /// No tiling.
    Linear,
    /// X tiles.
    X,
    /// Y tiles.
    Y,
    /// Yf tiles.
    Yf,
    /// Tiles 4.
    Four,
}

/// The compression of a modifier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Compression {
    /// The engines that compress.
    pub by: Compressor,
    /// The location of the compression's state.
    pub aux: Aux,
    /// The plane that holds a clear colour.
    pub clear_plane: Option<usize>,
}

/// The engines that compress.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compressor {
    /// The render engine.
    Render,
    /// The media engines.
    Media,
}

/// The location of the compression's state (CCS).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Aux {
    /// In planes of the framebuffer, tiled like Y.
    Tiled,
    /// In planes of the framebuffer, from gen12 on: one cache line for four tiles.
    Lines,
    /// In memory that is not part of a plane.
    Flat,
}

impl Modifier {
    /// Returns the modifier with this code, if the kernel knows it (`lookup_modifier_or_null`).
    pub fn find(code: u64, kernel: KernelVersion) -> Option<&'static Self> {
        let known =
            |modifier: &&Self| modifier.code == code && (modifier.versions.0 < 14 || kernel >= METEOR_LAKE);
        ALL.iter().find(known)
    }
}

/// The first kernel with Meteor Lake's modifiers (observed on 6.12, absent on 6.1).
const METEOR_LAKE: KernelVersion = KernelVersion::new(6, 7);

/// The first kernel that compresses [`RGB_10`] and [`RGB_16F`] (0c787d4f61df, c315fbfa44f4, 7c35015fab5d; observed on 7.2, absent
/// on 6.12).
pub(super) const DEEP: KernelVersion = KernelVersion::new(6, 13);

const RGB: &[u32] = &[DRM_FORMAT_XRGB8888, DRM_FORMAT_XBGR8888, DRM_FORMAT_ARGB8888, DRM_FORMAT_ABGR8888];
/// 10 bits for each colour.
pub(super) const RGB_10: &[u32] =
    &[DRM_FORMAT_XRGB2101010, DRM_FORMAT_XBGR2101010, DRM_FORMAT_ARGB2101010, DRM_FORMAT_ABGR2101010];
/// Half floats.
pub(super) const RGB_16F: &[u32] =
    &[DRM_FORMAT_XRGB16161616F, DRM_FORMAT_XBGR16161616F, DRM_FORMAT_ARGB16161616F, DRM_FORMAT_ABGR16161616F];
const PACKED_YUV: &[u32] = &[DRM_FORMAT_YUYV, DRM_FORMAT_YVYU, DRM_FORMAT_UYVY, DRM_FORMAT_VYUY];

/// Formats that every kernel compresses.
const fn always(formats: &'static [u32], layout: Layout) -> CompressedFormats {
    CompressedFormats { formats, layout, since: KernelVersion::new(0, 0) }
}

/// Formats that kernels compress from [`DEEP`] on.
const fn deep(formats: &'static [u32], layout: Layout) -> CompressedFormats {
    CompressedFormats { formats, layout, since: DEEP }
}

/// Formats with a CCS plane: a byte for 8 by 16 pixels (`skl_ccs_formats`).
const TILED: &[CompressedFormats] =
    &[always(RGB, layout(&[px(4), px(1)], (8, 16), 0)), deep(RGB_10, layout(&[px(4), px(1)], (8, 16), 0))];
/// Formats with a CCS plane for each other plane: a byte for 2 by 32 pixels of 4 bytes (`gen12_ccs_formats`).
const LINES: &[CompressedFormats] = &[
    always(RGB, layout(&[px(4), blocks(1, 2, 1)], (1, 1), 0)),
    deep(RGB_10, layout(&[px(4), blocks(1, 2, 1)], (1, 1), 0)),
    deep(RGB_16F, layout(&[px(8), px(1)], (1, 1), 0)),
    always(PACKED_YUV, layout(&[px(2), blocks(1, 2, 1)], (2, 1), 0)),
    always(&[DRM_FORMAT_XYUV8888], layout(&[px(4), blocks(1, 2, 1)], (1, 1), 0)),
    always(&[DRM_FORMAT_NV12], layout(&[px(1), px(2), blocks(1, 4, 1), blocks(1, 4, 1)], (2, 2), 0)),
    always(
        &[DRM_FORMAT_P010, DRM_FORMAT_P012, DRM_FORMAT_P016],
        layout(&[px(2), px(4), blocks(1, 2, 1), blocks(1, 2, 1)], (2, 2), 0),
    ),
];
/// Formats with a CCS plane and a plane for the clear colour (`gen12_ccs_cc_formats`).
const LINES_CLEAR: &[CompressedFormats] = &[
    always(RGB, layout(&[px(4), blocks(1, 2, 1), blocks(0, 2, 1)], (1, 1), 0)),
    deep(RGB_10, layout(&[px(4), blocks(1, 2, 1), px(0)], (1, 1), 0)),
    deep(RGB_16F, layout(&[px(8), px(1), px(0)], (1, 1), 0)),
];
/// Formats with a plane for the clear colour only (`gen12_flat_ccs_cc_formats`).
const FLAT_CLEAR: &[CompressedFormats] = &[
    always(RGB, layout(&[px(4), blocks(0, 2, 1)], (1, 1), 0)),
    deep(RGB_10, layout(&[px(4), px(0)], (1, 1), 0)),
    deep(RGB_16F, layout(&[px(8), px(0)], (1, 1), 0)),
];

const fn plain(code: u64, versions: (u8, u8), tiles: Tiles) -> Modifier {
    Modifier { code, versions, tiles, compression: None, layouts: &[] }
}

const fn rendered(aux: Aux, clear_plane: Option<usize>) -> Option<Compression> {
    Some(Compression { by: Compressor::Render, aux, clear_plane })
}

const fn media(aux: Aux) -> Option<Compression> {
    Some(Compression { by: Compressor::Media, aux, clear_plane: None })
}

/// Every display version.
const ALWAYS: (u8, u8) = (0, u8::MAX);

static ALL: &[Modifier] = &[
    Modifier {
        code: I915_FORMAT_MOD_4_TILED_MTL_MC_CCS,
        versions: (14, 14),
        tiles: Tiles::Four,
        compression: media(Aux::Lines),
        layouts: LINES,
    },
    Modifier {
        code: I915_FORMAT_MOD_4_TILED_MTL_RC_CCS,
        versions: (14, 14),
        tiles: Tiles::Four,
        compression: rendered(Aux::Lines, None),
        layouts: LINES,
    },
    Modifier {
        code: I915_FORMAT_MOD_4_TILED_MTL_RC_CCS_CC,
        versions: (14, 14),
        tiles: Tiles::Four,
        compression: rendered(Aux::Lines, Some(2)),
        layouts: LINES_CLEAR,
    },
    Modifier {
        code: I915_FORMAT_MOD_4_TILED_DG2_MC_CCS,
        versions: (13, 13),
        tiles: Tiles::Four,
        compression: media(Aux::Flat),
        layouts: &[],
    },
    Modifier {
        code: I915_FORMAT_MOD_4_TILED_DG2_RC_CCS_CC,
        versions: (13, 13),
        tiles: Tiles::Four,
        compression: rendered(Aux::Flat, Some(1)),
        layouts: FLAT_CLEAR,
    },
    Modifier {
        code: I915_FORMAT_MOD_4_TILED_DG2_RC_CCS,
        versions: (13, 13),
        tiles: Tiles::Four,
        compression: rendered(Aux::Flat, None),
        layouts: &[],
    },
    plain(I915_FORMAT_MOD_4_TILED, (13, u8::MAX), Tiles::Four),
    Modifier {
        code: I915_FORMAT_MOD_Y_TILED_GEN12_MC_CCS,
        versions: (12, 13),
        tiles: Tiles::Y,
        compression: media(Aux::Lines),
        layouts: LINES,
    },
    Modifier {
        code: I915_FORMAT_MOD_Y_TILED_GEN12_RC_CCS,
        versions: (12, 13),
        tiles: Tiles::Y,
        compression: rendered(Aux::Lines, None),
        layouts: LINES,
    },
    Modifier {
        code: I915_FORMAT_MOD_Y_TILED_GEN12_RC_CCS_CC,
        versions: (12, 13),
        tiles: Tiles::Y,
        compression: rendered(Aux::Lines, Some(2)),
        layouts: LINES_CLEAR,
    },
    Modifier {
        code: I915_FORMAT_MOD_Yf_TILED_CCS,
        versions: (9, 11),
        tiles: Tiles::Yf,
        compression: rendered(Aux::Tiled, None),
        layouts: TILED,
    },
    Modifier {
        code: I915_FORMAT_MOD_Y_TILED_CCS,
        versions: (9, 11),
        tiles: Tiles::Y,
        compression: rendered(Aux::Tiled, None),
        layouts: TILED,
    },
    plain(I915_FORMAT_MOD_Yf_TILED, (9, 11), Tiles::Yf),
    plain(I915_FORMAT_MOD_Y_TILED, (9, 13), Tiles::Y),
    plain(I915_FORMAT_MOD_X_TILED, ALWAYS, Tiles::X),
    plain(DRM_FORMAT_MOD_LINEAR, ALWAYS, Tiles::Linear),
];

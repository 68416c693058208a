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
    pub layouts: &'static [(&'static [u32], Layout)],
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

const RGB: &[u32] = &[DRM_FORMAT_XRGB8888, DRM_FORMAT_XBGR8888, DRM_FORMAT_ARGB8888, DRM_FORMAT_ABGR8888];
const PACKED_YUV: &[u32] = &[DRM_FORMAT_YUYV, DRM_FORMAT_YVYU, DRM_FORMAT_UYVY, DRM_FORMAT_VYUY];

/// Formats with a CCS plane: a byte for 8 by 16 pixels (`skl_ccs_formats`).
const TILED: &[(&[u32], Layout)] = &[(RGB, layout(&[px(4), px(1)], (8, 16), 0))];
/// Formats with a CCS plane for each other plane: a byte for 2 by 32 pixels of 4 bytes (`gen12_ccs_formats`).
const LINES: &[(&[u32], Layout)] = &[
    (RGB, layout(&[px(4), blocks(1, 2, 1)], (1, 1), 0)),
    (PACKED_YUV, layout(&[px(2), blocks(1, 2, 1)], (2, 1), 0)),
    (&[DRM_FORMAT_XYUV8888], layout(&[px(4), blocks(1, 2, 1)], (1, 1), 0)),
    (&[DRM_FORMAT_NV12], layout(&[px(1), px(2), blocks(1, 4, 1), blocks(1, 4, 1)], (2, 2), 0)),
    (
        &[DRM_FORMAT_P010, DRM_FORMAT_P012, DRM_FORMAT_P016],
        layout(&[px(2), px(4), blocks(1, 2, 1), blocks(1, 2, 1)], (2, 2), 0),
    ),
];
/// Formats with a CCS plane and a plane for the clear colour (`gen12_ccs_cc_formats`).
const LINES_CLEAR: &[(&[u32], Layout)] =
    &[(RGB, layout(&[px(4), blocks(1, 2, 1), blocks(0, 2, 1)], (1, 1), 0))];
/// Formats with a plane for the clear colour only (`gen12_flat_ccs_cc_formats`).
const FLAT_CLEAR: &[(&[u32], Layout)] = &[(RGB, layout(&[px(4), blocks(0, 2, 1)], (1, 1), 0))];

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

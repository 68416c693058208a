//! Format modifiers: how i915's display reads what is tiled, or compressed (`intel_modifiers`).

use crate::drm_fourcc::*;
use crate::vocabulary::KernelVersion;

use super::formats::{Layout, blocks, layout, px};

/// A modifier that i915 knows.
#[derive(Debug, PartialEq, Eq)]
pub struct Modifier {
    /// `I915_FORMAT_MOD_*`.
    pub code: u64,
    /// The display's versions that can have it: the first and the last.
    pub versions: (u8, u8),
    /// How pixels are tiled.
    pub tiles: Tiles,
    /// How they are compressed, if they are.
    pub compression: Option<Compression>,
    /// Formats that have more planes with it.
    pub layouts: &'static [(&'static [u32], Layout)],
}

/// Tiles that the display knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tiles {
    /// None.
    Linear,
    /// X.
    X,
    /// Y.
    Y,
    /// Yf.
    Yf,
    /// 4.
    Four,
}

/// How pixels are compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Compression {
    /// By which engines.
    pub by: Compressor,
    /// Where it says which are: planes of their own, or memory that nobody sees.
    pub aux: Aux,
    /// The plane that holds a clear colour.
    pub clear_plane: Option<usize>,
}

/// Who compresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compressor {
    /// The render engine.
    Render,
    /// The media engines.
    Media,
}

/// Where the compression's state is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Aux {
    /// In planes of the picture, tiled as Y is.
    Tiled,
    /// In planes of the picture, from gen12 on: one cache line for four tiles.
    Lines,
    /// In no plane.
    Flat,
}

impl Modifier {
    /// The modifier of that code, as the kernel knows it (`lookup_modifier_or_null`).
    pub fn find(code: u64, kernel: KernelVersion) -> Option<&'static Self> {
        let known =
            |modifier: &&Self| modifier.code == code && (modifier.versions.0 < 14 || kernel >= METEOR_LAKE);
        ALL.iter().find(known)
    }
}

/// The first kernel with Meteor Lake's modifiers (seen on 6.12, not on 6.1).
const METEOR_LAKE: KernelVersion = KernelVersion::new(6, 7);

const RGB: &[u32] = &[DRM_FORMAT_XRGB8888, DRM_FORMAT_XBGR8888, DRM_FORMAT_ARGB8888, DRM_FORMAT_ABGR8888];
const PACKED_YUV: &[u32] = &[DRM_FORMAT_YUYV, DRM_FORMAT_YVYU, DRM_FORMAT_UYVY, DRM_FORMAT_VYUY];

/// With a plane for 8 by 16 pixels a byte (`skl_ccs_formats`).
const TILED: &[(&[u32], Layout)] = &[(RGB, layout(&[px(4), px(1)], (8, 16), 0))];
/// With a plane, or one for each, for 2 by 32 pixels of 4 bytes a byte (`gen12_ccs_formats`).
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
/// And one for the clear colour (`gen12_ccs_cc_formats`).
const LINES_CLEAR: &[(&[u32], Layout)] =
    &[(RGB, layout(&[px(4), blocks(1, 2, 1), blocks(0, 2, 1)], (1, 1), 0))];
/// That one alone (`gen12_flat_ccs_cc_formats`).
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

/// Every version of a display.
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

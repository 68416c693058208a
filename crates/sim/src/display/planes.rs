//! The planes of a CRTC: their kinds, and the formats and modifiers that they show.

use bytemuck::bytes_of;
use gem_coherency::platform::{BXT, CHV, G45, GM45, Machine, Modifier, RKL, VLV};
use gem_coherency_uapi::drm_fourcc::*;
use gem_coherency_uapi::drm_modeset::{FORMAT_BLOB_CURRENT, drm_format_modifier, drm_format_modifier_blob};

/// A kind of plane (`enum drm_plane_type`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Overlay = 0,
    Primary = 1,
    Cursor = 2,
}

/// The formats that planes may show, in the order in which they are listed.
const FORMATS: &[u32] = &[
    DRM_FORMAT_C8,
    DRM_FORMAT_XRGB1555,
    DRM_FORMAT_RGB565,
    DRM_FORMAT_XRGB8888,
    DRM_FORMAT_XBGR8888,
    DRM_FORMAT_ARGB8888,
    DRM_FORMAT_ABGR8888,
    DRM_FORMAT_XRGB2101010,
    DRM_FORMAT_XBGR2101010,
    DRM_FORMAT_ARGB2101010,
    DRM_FORMAT_ABGR2101010,
    DRM_FORMAT_XRGB16161616F,
    DRM_FORMAT_XBGR16161616F,
    DRM_FORMAT_ARGB16161616F,
    DRM_FORMAT_ABGR16161616F,
    DRM_FORMAT_YUYV,
    DRM_FORMAT_YVYU,
    DRM_FORMAT_UYVY,
    DRM_FORMAT_VYUY,
    DRM_FORMAT_XYUV8888,
    DRM_FORMAT_NV12,
    DRM_FORMAT_P010,
    DRM_FORMAT_P012,
    DRM_FORMAT_P016,
    DRM_FORMAT_Y210,
    DRM_FORMAT_Y212,
    DRM_FORMAT_Y216,
    DRM_FORMAT_XVYU2101010,
    DRM_FORMAT_XVYU12_16161616,
    DRM_FORMAT_XVYU16161616,
];
/// Formats that only sprites show before display version 9 (`snb_sprite_formats`).
const SPRITES_ONLY: &[u32] =
    &[DRM_FORMAT_XRGB16161616F, DRM_FORMAT_YUYV, DRM_FORMAT_YVYU, DRM_FORMAT_UYVY, DRM_FORMAT_VYUY];
/// Formats that sprites do not show before display version 9.
const NOT_SPRITES: &[u32] = &[DRM_FORMAT_C8, DRM_FORMAT_RGB565];
/// The modifiers that planes may show, in the order in which they are listed.
const MODIFIERS: &[u64] = &[
    I915_FORMAT_MOD_4_TILED_MTL_MC_CCS,
    I915_FORMAT_MOD_4_TILED_MTL_RC_CCS,
    I915_FORMAT_MOD_4_TILED_MTL_RC_CCS_CC,
    I915_FORMAT_MOD_4_TILED_DG2_MC_CCS,
    I915_FORMAT_MOD_4_TILED_DG2_RC_CCS,
    I915_FORMAT_MOD_4_TILED_DG2_RC_CCS_CC,
    I915_FORMAT_MOD_4_TILED,
    I915_FORMAT_MOD_Y_TILED_GEN12_MC_CCS,
    I915_FORMAT_MOD_Y_TILED_GEN12_RC_CCS,
    I915_FORMAT_MOD_Y_TILED_GEN12_RC_CCS_CC,
    I915_FORMAT_MOD_Yf_TILED_CCS,
    I915_FORMAT_MOD_Y_TILED_CCS,
    I915_FORMAT_MOD_Yf_TILED,
    I915_FORMAT_MOD_Y_TILED,
    I915_FORMAT_MOD_X_TILED,
    DRM_FORMAT_MOD_LINEAR,
];

/// Returns the kinds of a CRTC's planes (`intel_crtc_init`): the primary one, sprites, and the cursor.
pub(crate) fn kinds(machine: Machine, pipe: usize) -> Vec<Kind> {
    let sprites = vec![Kind::Overlay; sprites(machine, pipe)];
    [vec![Kind::Primary], sprites, vec![Kind::Cursor]].concat()
}

/// Returns the number of a CRTC's sprites (`num_sprites` of `intel_display_device.c`).
fn sprites(machine: Machine, pipe: usize) -> usize {
    let platform = machine.platform;
    match platform.display_version() {
        11.. if platform == &RKL => 4,
        11.. => 6,
        10 => 3,
        9 if platform == &BXT && pipe == 2 => 1,
        7..=9 if [&BXT, &VLV, &CHV].contains(&platform) => 2,
        5..=9 => 1,
        4 if [&G45, &GM45].contains(&platform) => 1,
        ..=4 => 0,
    }
}

/// Returns the formats that planes of this kind show, in some tiling.
///
/// The planar and the ten-bit formats, which some planes of a CRTC lack, are listed for all of them.
pub(crate) fn formats(machine: Machine, kind: Kind) -> Vec<u32> {
    FORMATS.iter().copied().filter(|&format| shows(machine, kind, format, DRM_FORMAT_MOD_LINEAR)).collect()
}

/// Returns whether planes of this kind show the format with this modifier (`drm_plane_check_pixel_format`).
pub(crate) fn shows(machine: Machine, kind: Kind, format: u32, modifier: u64) -> bool {
    let old = machine.platform.display_version() < 9;
    let Some(known) = Modifier::find(modifier, machine.kernel) else { return false };
    let some_plane = |format| machine.shows(format, known);
    match kind {
        Kind::Cursor => (format, modifier) == (DRM_FORMAT_ARGB8888, DRM_FORMAT_MOD_LINEAR),
        Kind::Primary if old && SPRITES_ONLY.contains(&format) => false,
        Kind::Overlay if old && NOT_SPRITES.contains(&format) => false,
        // Linear ARGB8888 is the cursor's on every platform; other planes show ABGR8888 if they show it.
        Kind::Primary | Kind::Overlay if format == DRM_FORMAT_ARGB8888 => some_plane(DRM_FORMAT_ABGR8888),
        Kind::Primary | Kind::Overlay => some_plane(format),
    }
}

/// Returns the property blob of the formats and modifiers of planes of this kind (`create_in_format_blob`).
pub(crate) fn formats_blob(machine: Machine, kind: Kind) -> Vec<u8> {
    let formats = formats(machine, kind);
    let bits = |modifier| {
        let bit =
            |(place, format): (usize, &u32)| u64::from(shows(machine, kind, *format, modifier)) << place;
        formats.iter().enumerate().map(bit).fold(0, |bits, bit| bits | bit)
    };
    let listed = MODIFIERS.iter().map(|&modifier| (modifier, bits(modifier)));
    let modifiers: Vec<_> = listed.filter(|&(_, formats)| formats != 0).collect();
    let formats_offset = size_of::<drm_format_modifier_blob>() as u32;
    let modifiers_offset = (formats_offset + 4 * formats.len() as u32).next_multiple_of(8);
    let head = drm_format_modifier_blob {
        version: FORMAT_BLOB_CURRENT,
        flags: 0,
        count_formats: formats.len() as u32,
        formats_offset,
        count_modifiers: modifiers.len() as u32,
        modifiers_offset,
    };
    let mut blob = bytes_of(&head).to_vec();
    blob.extend(formats.iter().flat_map(|format| format.to_le_bytes()));
    blob.resize(modifiers_offset as usize, 0);
    for (modifier, formats) in modifiers {
        blob.extend(bytes_of(&drm_format_modifier { formats, offset: 0, pad: 0, modifier }));
    }
    blob
}

//! The sizes, strides, formats and tilings that a platform's display can scan out.

use crate::drm_fourcc::*;
use crate::vocabulary::KernelVersion;

use super::modifiers::{Compressor, DEEP, Modifier, RGB_10, RGB_16F, Tiles};
use crate::platform::table::*;
use crate::platform::{Machine, Platform};

/// Formats from gen4 on (`i965_primary_formats`). On Ivy Bridge, only sprites show the last one, not primary
/// planes.
const I965: &[u32] = &[
    DRM_FORMAT_C8,
    DRM_FORMAT_RGB565,
    DRM_FORMAT_XRGB8888,
    DRM_FORMAT_XBGR8888,
    DRM_FORMAT_XRGB2101010,
    DRM_FORMAT_XBGR2101010,
    DRM_FORMAT_XBGR16161616F,
];
/// Formats of gen2 and gen3 (`i8xx_primary_formats`).
const I8XX: &[u32] = &[DRM_FORMAT_C8, DRM_FORMAT_XRGB1555, DRM_FORMAT_RGB565, DRM_FORMAT_XRGB8888];
/// Formats that sprites add on G4x and gen5 (`g4x_sprite_formats`).
const PACKED_YUV: &[u32] = &[DRM_FORMAT_YUYV, DRM_FORMAT_YVYU, DRM_FORMAT_UYVY, DRM_FORMAT_VYUY];
/// Formats that sprites add from gen6 to gen8 (`snb_sprite_formats`).
const HALF_FLOATS: &[u32] = &[DRM_FORMAT_XRGB16161616F, DRM_FORMAT_XBGR16161616F];
/// Formats of the cursor, untiled; on Valleyview and from gen9 on, also of other planes.
const ALPHA: &[u32] = &[DRM_FORMAT_ARGB8888, DRM_FORMAT_ABGR8888];
/// 30 bits with alpha: Valleyview, and gen11 on.
const ALPHA_30: &[u32] = &[DRM_FORMAT_ARGB2101010, DRM_FORMAT_ABGR2101010];
/// Formats that gen9 adds (`skl_plane_formats`).
const XYUV: &[u32] = &[DRM_FORMAT_XYUV8888];
/// Formats of gen9 except Skylake and Broxton (`skl_planar_formats`).
const PLANAR: &[u32] = &[DRM_FORMAT_NV12];
/// Formats of Gemini Lake, and of gen11 on (`glk_planar_formats`).
const DEEP_PLANAR: &[u32] = &[DRM_FORMAT_P010, DRM_FORMAT_P012, DRM_FORMAT_P016];
/// Formats of gen11 on, in all tilings (`icl_hdr_plane_formats`).
const PACKED_TEN: &[u32] = &[DRM_FORMAT_XVYU2101010];
/// The other formats of gen11 on.
const ICL_HDR: &[u32] = &[
    DRM_FORMAT_ARGB16161616F,
    DRM_FORMAT_ABGR16161616F,
    DRM_FORMAT_Y210,
    DRM_FORMAT_Y212,
    DRM_FORMAT_Y216,
    DRM_FORMAT_XVYU12_16161616,
    DRM_FORMAT_XVYU16161616,
];
/// Formats that are never tiled in Yf (`skl_plane_format_mod_supported`), besides [`HALF_FLOATS`] and
/// [`ICL_HDR`].
const NOT_YF: &[u32] = &[DRM_FORMAT_C8];

impl Platform {
    /// Returns the display's version (`DISPLAY_VER`).
    pub fn display_version(&self) -> u8 {
        match self.graphics.major {
            9 if self == &GLK => 10,
            12 if self == &ADLP || self == &DG2 || self == &ATSM => 13,
            12 if self == &MTL => 14,
            major => major,
        }
    }

    /// Returns the number of pipes, one per CRTC (`pipe_mask` of `intel_display_device.c`).
    pub fn pipes(&self) -> usize {
        match self.display_version() {
            2 if self == &I845G || self == &I865G => 1,
            ..=6 => 2,
            7 if self == &VLV => 2,
            7..=11 => 3,
            12 if self == &RKL => 3,
            12.. => 4,
        }
    }

    fn is_valleyview(&self) -> bool {
        self == &VLV || self == &CHV
    }

    /// Returns sets of formats that some plane shows, in some tiling.
    fn shown(&self) -> &'static [&'static [u32]] {
        match self.display_version() {
            ..=3 => &[I8XX],
            4 if self == &I965G || self == &I965GM => &[I965],
            4 | 5 => &[I965, PACKED_YUV],
            7 | 8 if self.is_valleyview() => &[I965, PACKED_YUV, ALPHA, ALPHA_30],
            6..=8 => &[I965, PACKED_YUV, HALF_FLOATS],
            9 if self == &SKL || self == &BXT => &[I965, PACKED_YUV, HALF_FLOATS, ALPHA, XYUV],
            9 => &[I965, PACKED_YUV, HALF_FLOATS, ALPHA, XYUV, PLANAR],
            10 => &[I965, PACKED_YUV, HALF_FLOATS, ALPHA, XYUV, PLANAR, DEEP_PLANAR],
            11.. => &[
                I965,
                PACKED_YUV,
                HALF_FLOATS,
                ALPHA,
                ALPHA_30,
                XYUV,
                PLANAR,
                DEEP_PLANAR,
                PACKED_TEN,
                ICL_HDR,
            ],
        }
    }
}

impl Machine {
    /// Returns the largest width and height of a framebuffer, in pixels (`intel_mode_config_init`).
    pub fn largest_framebuffer(&self) -> u32 {
        match self.platform.display_version() {
            ..=2 => 2048,
            3 => 4096,
            4..=6 => 8192,
            7.. => 16384,
        }
    }

    /// Returns the limits of a mode (`intel_mode_valid`): visible pixels per line, visible lines, and the
    /// totals of both with blanking.
    pub fn largest_mode(&self) -> [u16; 4] {
        match self.platform.display_version() {
            ..=2 => [2048, 2048, 4096, 4096],
            7 | 8 if self.platform == &HSW || self.platform == &BDW => [8192, 4096, 8192, 8192],
            3..=8 => [4096, 4096, 8192, 8192],
            9 | 10 => [8192, 4096, 8192, 8192],
            11.. => [16384, 8192, 16384, 8192],
        }
    }

    /// Returns whether a cursor can have this size (`i845_cursor_size_ok`, `i9xx_cursor_size_ok`).
    pub fn shows_cursor(&self, width: u32, height: u32) -> bool {
        let (most_wide, most_high) = self.cursor();
        if height == 0 || u64::from(width) > most_wide || u64::from(height) > most_high {
            return false;
        }
        if self.platform == &I845G || self.platform == &I865G {
            // Only the pitch must be a power of two.
            return [64, 128, 256, 512].contains(&width);
        }
        let any_height = self.platform.display_version() >= 7 && !self.platform.is_valleyview();
        [64, 128, 256].contains(&width)
            && if any_height { (8..=width).contains(&height) } else { height == width }
    }

    /// Returns the largest stride that a plane can read, in bytes, for pixels of `pixel_bytes` bytes
    /// (`intel_plane_fb_max_stride`).
    pub fn plane_stride_bytes(&self, pixel_bytes: u32, modifier: u64) -> u32 {
        let (platform, x_tiled) = (self.platform, modifier == I915_FORMAT_MOD_X_TILED);
        let pixels = |count: u32, most: u32| (count * pixel_bytes).min(most);
        match platform.display_version() {
            ..=2 => 8 << 10,
            3 if x_tiled => 8 << 10,
            3 => 16 << 10,
            4 if x_tiled => pixels(4096, 16 << 10),
            7 | 8 if platform.is_valleyview() && x_tiled => pixels(4096, 16 << 10),
            7 | 8 if platform.is_valleyview() => 32 << 10,
            7 | 8 if platform == &HSW || platform == &BDW => pixels(8192, 32 << 10),
            5..=8 if x_tiled => pixels(4096, 32 << 10),
            4..=8 => 32 << 10,
            9..=12 => pixels(8192, 32 << 10),
            13.. => pixels(65536, 128 << 10),
        }
    }

    /// Returns whether some plane shows the format with this modifier (`drm_any_plane_has_format`).
    pub fn shows(&self, format: u32, modifier: &Modifier) -> bool {
        let version = self.platform.display_version();
        // The cursor.
        if format == DRM_FORMAT_ARGB8888 && modifier.tiles == Tiles::Linear {
            return true;
        }
        let has = |sets: &[&[u32]]| sets.iter().any(|set| set.contains(&format));
        if !has(self.platform.shown()) || !self.has_tiles(modifier) {
            return false;
        }
        let deep =
            self.kernel >= DEEP && ((version >= 11 && has(&[RGB_10])) || (version >= 12 && has(&[RGB_16F])));
        let rgb = deep || has(&[ALPHA, &[DRM_FORMAT_XRGB8888, DRM_FORMAT_XBGR8888]]);
        match modifier.compression.map(|compression| compression.by) {
            Some(by) if !self.shows_compressed(by) => false,
            Some(Compressor::Render) => rgb,
            Some(Compressor::Media) => rgb || has(&[PACKED_YUV, XYUV, PLANAR, DEEP_PLANAR]),
            None if version < 12 && modifier.tiles == Tiles::Yf => !has(&[NOT_YF, HALF_FLOATS, ICL_HDR]),
            None => true,
        }
    }

    /// Returns whether planes can read the modifier's tiles (`skl_get_plane_caps`, `plane_has_modifier`).
    fn has_tiles(&self, modifier: &Modifier) -> bool {
        let platform = self.platform;
        let version = platform.display_version();
        let (first, last) = modifier.versions;
        // 6.1 has tiles 4 for a single display version.
        let last =
            if self.kernel < LATER_FOUR && modifier.tiles == Tiles::Four { last.min(13) } else { last };
        if !(first..=last).contains(&version) {
            return false;
        }
        match modifier.tiles {
            Tiles::Linear | Tiles::X => true,
            Tiles::Y => version >= 9 && (version < 13 || platform == &ADLP),
            Tiles::Yf => (9..12).contains(&version),
            Tiles::Four => platform == &DG2 || platform == &ATSM || version >= 14,
        }
    }

    /// Returns whether planes show framebuffers that these engines compressed (`skl_plane_has_rc_ccs`,
    /// `gen12_plane_has_mc_ccs`).
    ///
    /// The first steppings of Tiger Lake and Alder Lake-P do not; the result is that of production steppings.
    fn shows_compressed(&self, by: Compressor) -> bool {
        let platform = self.platform;
        let six_one_dg2 = platform == &DG2 && self.kernel < LATER_FOUR;
        match by {
            Compressor::Render => true,
            Compressor::Media => ![&RKL, &DG1].contains(&platform) && !six_one_dg2,
        }
    }
}

/// The first kernel where displays later than DG2's have tiles 4 (observed on 6.12, absent on 6.1).
const LATER_FOUR: KernelVersion = KernelVersion::new(6, 2);

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn shows(platform: &'static Platform, kernel: u16, format: u32, modifier: u64) -> bool {
        let kernel = KernelVersion::new(6, kernel);
        let machine = platform.machine(kernel, false);
        Modifier::find(modifier, kernel).is_some_and(|modifier| machine.shows(format, modifier))
    }

    #[test]
    fn tiles_are_those_of_the_displays_version() {
        let xrgb = |platform, modifier| shows(platform, 12, DRM_FORMAT_XRGB8888, modifier);
        for platform in [&I915G, &HSW, &SKL, &TGL, &MTL] {
            assert!(xrgb(platform, DRM_FORMAT_MOD_LINEAR) && xrgb(platform, I915_FORMAT_MOD_X_TILED));
        }
        assert!(!xrgb(&HSW, I915_FORMAT_MOD_Y_TILED) && xrgb(&SKL, I915_FORMAT_MOD_Y_TILED));
        assert!(xrgb(&ADLP, I915_FORMAT_MOD_Y_TILED) && !xrgb(&DG2, I915_FORMAT_MOD_Y_TILED));
        assert!(xrgb(&ICL, I915_FORMAT_MOD_Yf_TILED) && !xrgb(&TGL, I915_FORMAT_MOD_Yf_TILED));
        assert!(xrgb(&DG2, I915_FORMAT_MOD_4_TILED) && !xrgb(&ADLP, I915_FORMAT_MOD_4_TILED));
    }

    #[test]
    fn kernels_differ_about_the_newest_tiles() {
        let four = |kernel| shows(&MTL, kernel, DRM_FORMAT_XRGB8888, I915_FORMAT_MOD_4_TILED);
        assert!(four(12) && !four(1));
        let media = |kernel| shows(&DG2, kernel, DRM_FORMAT_NV12, I915_FORMAT_MOD_4_TILED_DG2_MC_CCS);
        assert!(media(12) && !media(1));
    }

    #[test]
    fn production_steppings_show_what_media_engines_compressed() {
        let media = |platform| shows(platform, 12, DRM_FORMAT_NV12, I915_FORMAT_MOD_Y_TILED_GEN12_MC_CCS);
        assert!(media(&TGL) && media(&ADLP) && !media(&RKL) && !media(&DG1));
        let rendered =
            |platform| shows(platform, 12, DRM_FORMAT_XRGB8888, I915_FORMAT_MOD_Y_TILED_GEN12_RC_CCS);
        assert!(rendered(&ADLP) && rendered(&RKL) && !rendered(&ICL));
    }

    #[test]
    fn deep_colours_are_compressed_from_icl_or_tgl_on_by_later_kernels() {
        let shown = |platform: &'static Platform, kernel, format| {
            let code = match platform.display_version() {
                12.. => I915_FORMAT_MOD_Y_TILED_GEN12_RC_CCS,
                _ => I915_FORMAT_MOD_Y_TILED_CCS,
            };
            shows(platform, kernel, format, code)
        };
        for (platform, ten, half) in [(&SKL, false, false), (&ICL, true, false), (&TGL, true, true)] {
            assert_eq!(shown(platform, 13, DRM_FORMAT_XRGB2101010), ten, "{}", platform.name);
            assert_eq!(shown(platform, 13, DRM_FORMAT_ABGR16161616F), half, "{}", platform.name);
            assert!(!shown(platform, 12, DRM_FORMAT_XRGB2101010));
            assert!(shown(platform, 12, DRM_FORMAT_XRGB8888));
        }
    }

    #[test]
    fn the_cursor_shows_alpha_where_other_planes_do_not_and_never_tiled() {
        let argb = |modifier| shows(&HSW, 12, DRM_FORMAT_ARGB8888, modifier);
        assert!(argb(DRM_FORMAT_MOD_LINEAR) && !argb(I915_FORMAT_MOD_X_TILED));
    }

    #[test]
    fn strides_are_limited_by_pixels_and_by_bytes() {
        let bytes = |platform: &'static Platform, pixel_bytes, modifier| {
            platform.machine(KernelVersion::new(6, 12), false).plane_stride_bytes(pixel_bytes, modifier)
        };
        assert_eq!([1, 2, 4, 8].map(|count| bytes(&HSW, count, 0)), [8192, 16384, 32768, 32768]);
        assert_eq!([1, 4, 8].map(|count| bytes(&SNB, count, I915_FORMAT_MOD_X_TILED)), [4096, 16384, 32768]);
        assert_eq!([1, 4].map(|count| bytes(&SNB, count, 0)), [32768, 32768]);
        assert_eq!([1, 4].map(|count| bytes(&ADLP, count, 0)), [65536, 131_072]);
        assert_eq!(bytes(&I915G, 4, I915_FORMAT_MOD_X_TILED), 8192);
    }
}

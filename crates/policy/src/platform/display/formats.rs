//! Pixel formats: the number of planes, and the bytes per pixel in each.

use crate::drm_fourcc::*;
use crate::vocabulary::KernelVersion;

use super::modifiers::Modifier;

/// A pixel format (`struct drm_format_info`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Format {
    /// `DRM_FORMAT_*`.
    pub code: u32,
    /// The memory layout of the pixels.
    pub layout: Layout,
}

/// The memory layout of a format's pixels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// The planes, one to four.
    pub planes: &'static [Plane],
    /// Horizontal subsampling: pixels of the first plane per pixel of another.
    pub hsub: u32,
    /// Vertical subsampling: pixels of the first plane per pixel of another.
    pub vsub: u32,
    /// Legacy depth in bits, or 0.
    pub depth: u32,
}

/// A plane of a format, which consists of blocks of pixels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plane {
    /// Size of a block in bytes; 0 if it depends on the modifier.
    pub bytes: u32,
    /// Width of a block, in pixels.
    pub width: u32,
    /// Height of a block, in pixels.
    pub height: u32,
}

impl Format {
    /// Returns the format with this code (`__drm_format_info`).
    pub fn find(code: u32, kernel: KernelVersion) -> Option<Self> {
        let is_it = |codes: &[&[u8; 4]]| codes.iter().any(|letters| fourcc(letters) == code);
        let (codes, layout) = FORMATS.iter().find(|(codes, _)| is_it(codes))?;
        let late = kernel < PACKED_TEN_BITS && codes.iter().any(|code| [b"NV20", b"NV30"].contains(code));
        (!late).then_some(Self { code, layout: *layout })
    }

    /// Returns the format with these bits per pixel and this depth (`drm_mode_legacy_fb_format`).
    pub fn legacy(bpp: u32, depth: u32, kernel: KernelVersion) -> Option<Self> {
        let code = match (bpp, depth) {
            (1, 1) => fourcc(b"C1  "),
            (2, 2) => fourcc(b"C2  "),
            (4, 4) => fourcc(b"C4  "),
            (8, 8) => DRM_FORMAT_C8,
            (16, 15) => DRM_FORMAT_XRGB1555,
            (16, 16) => DRM_FORMAT_RGB565,
            (24, 24) => fourcc(b"RG24"),
            (32, 24) => DRM_FORMAT_XRGB8888,
            (32, 30) => DRM_FORMAT_XRGB2101010,
            (32, 32) => DRM_FORMAT_ARGB8888,
            _ => return None,
        };
        Self::find(code, kernel)
    }

    /// Returns the format's layout with this modifier: compressed framebuffers have more planes
    /// (`drm_get_format_info`, `intel_fb_get_format_info`).
    pub fn with_modifier(self, modifier: Option<&Modifier>, kernel: KernelVersion) -> Self {
        let rows = modifier.map_or(&[][..], |modifier| modifier.layouts);
        let row = rows.iter().find(|row| row.formats.contains(&self.code) && kernel >= row.since);
        Self { layout: row.map_or(self.layout, |row| row.layout), ..self }
    }

    /// Returns the width and height of a plane of a framebuffer, in pixels.
    pub fn plane_size(&self, plane: usize, width: u32, height: u32) -> (u32, u32) {
        match plane {
            0 => (width, height),
            _ => (width.div_ceil(self.layout.hsub), height.div_ceil(self.layout.vsub)),
        }
    }

    /// Returns whether the format has one luma and one chroma plane.
    pub fn is_semiplanar(&self) -> bool {
        [DRM_FORMAT_NV12, DRM_FORMAT_P010, DRM_FORMAT_P012, DRM_FORMAT_P016].contains(&self.code)
    }
}

impl Plane {
    /// Returns the smallest pitch in bytes (`drm_format_info_min_pitch`).
    pub fn pitch(&self, width: u32) -> u64 {
        (u64::from(width) * u64::from(self.bytes)).div_ceil(u64::from(self.width * self.height))
    }
}

/// The first kernel with NV20 and NV30 (observed on 6.12, absent on 6.1).
const PACKED_TEN_BITS: KernelVersion = KernelVersion::new(6, 6);

/// Creates a plane of blocks of `bytes` bytes and `width` by `height` pixels.
pub(super) const fn blocks(bytes: u32, width: u32, height: u32) -> Plane {
    Plane { bytes, width, height }
}

/// Creates a plane of pixels of `bytes` bytes.
pub(super) const fn px(bytes: u32) -> Plane {
    blocks(bytes, 1, 1)
}

/// Creates a layout; `sub` is the horizontal and vertical subsampling.
pub(super) const fn layout(planes: &'static [Plane], sub: (u32, u32), depth: u32) -> Layout {
    Layout { planes, hsub: sub.0, vsub: sub.1, depth }
}

type Row = (&'static [&'static [u8; 4]], Layout);

/// The formats that the kernel knows, by layout.
static FORMATS: &[Row] = &[
    (&[b"C1  ", b"D1  ", b"R1  "], layout(&[blocks(1, 8, 1)], (1, 1), 1)),
    (&[b"C2  ", b"D2  ", b"R2  "], layout(&[blocks(1, 4, 1)], (1, 1), 2)),
    (&[b"C4  ", b"D4  ", b"R4  "], layout(&[blocks(1, 2, 1)], (1, 1), 4)),
    (&[b"C8  ", b"D8  ", b"R8  ", b"RGB8", b"BGR8"], layout(&[px(1)], (1, 1), 8)),
    (&[b"R10 "], layout(&[px(2)], (1, 1), 10)),
    (&[b"R12 "], layout(&[px(2)], (1, 1), 12)),
    (&[b"XR12", b"XB12", b"RX12", b"BX12", b"AR12", b"AB12", b"RA12", b"BA12"], layout(&[px(2)], (1, 1), 0)),
    (&[b"XR15", b"XB15", b"RX15", b"BX15", b"AR15", b"AB15", b"RA15", b"BA15"], layout(&[px(2)], (1, 1), 15)),
    (&[b"RG16", b"BG16"], layout(&[px(2)], (1, 1), 16)),
    (&[b"RG24", b"BG24"], layout(&[px(3)], (1, 1), 24)),
    (&[b"XR24", b"XB24", b"RX24", b"BX24"], layout(&[px(4)], (1, 1), 24)),
    (&[b"R5A8", b"B5A8"], layout(&[px(2), px(1)], (1, 1), 24)),
    (&[b"XR30", b"XB30", b"RX30", b"BX30", b"AR30", b"AB30", b"RA30", b"BA30"], layout(&[px(4)], (1, 1), 30)),
    (&[b"AR24", b"AB24", b"RA24", b"BA24"], layout(&[px(4)], (1, 1), 32)),
    (
        &[b"XR4H", b"XB4H", b"AR4H", b"AB4H", b"AB10", b"XR48", b"XB48", b"AR48", b"AB48"],
        layout(&[px(8)], (1, 1), 0),
    ),
    (&[b"R8A8", b"B8A8"], layout(&[px(3), px(1)], (1, 1), 32)),
    (&[b"XRA8", b"XBA8", b"RXA8", b"BXA8"], layout(&[px(4), px(1)], (1, 1), 32)),
    (&[b"YUV9", b"YVU9"], layout(&[px(1), px(1), px(1)], (4, 4), 0)),
    (&[b"YU11", b"YV11"], layout(&[px(1), px(1), px(1)], (4, 1), 0)),
    (&[b"YU12", b"YV12"], layout(&[px(1), px(1), px(1)], (2, 2), 0)),
    (&[b"YU16", b"YV16"], layout(&[px(1), px(1), px(1)], (2, 1), 0)),
    (&[b"YU24", b"YV24"], layout(&[px(1), px(1), px(1)], (1, 1), 0)),
    (&[b"NV12", b"NV21"], layout(&[px(1), px(2)], (2, 2), 0)),
    (&[b"NV16", b"NV61"], layout(&[px(1), px(2)], (2, 1), 0)),
    (&[b"NV24", b"NV42"], layout(&[px(1), px(2)], (1, 1), 0)),
    (&[b"YUYV", b"YVYU", b"UYVY", b"VYUY"], layout(&[px(2)], (2, 1), 0)),
    (&[b"XYUV", b"AYUV", b"Y410", b"XV30"], layout(&[px(4)], (1, 1), 0)),
    (&[b"Y412", b"Y416", b"XV36", b"XV48"], layout(&[px(8)], (1, 1), 0)),
    (&[b"VU24"], layout(&[px(3)], (1, 1), 0)),
    (&[b"Y210", b"Y212", b"Y216"], layout(&[px(4)], (2, 1), 0)),
    (&[b"Y0L0", b"X0L0", b"Y0L2", b"X0L2"], layout(&[blocks(8, 2, 2)], (2, 2), 0)),
    (&[b"P010", b"P012", b"P016"], layout(&[px(2), px(4)], (2, 2), 0)),
    (&[b"P210"], layout(&[px(2), px(4)], (2, 1), 0)),
    (&[b"P030"], layout(&[blocks(4, 3, 1), blocks(8, 3, 1)], (2, 2), 0)),
    (&[b"VU30"], layout(&[px(0)], (1, 1), 0)),
    (&[b"YU08", b"YU10"], layout(&[px(0)], (2, 2), 0)),
    (&[b"NV15"], layout(&[blocks(5, 4, 1), blocks(5, 2, 1)], (2, 2), 0)),
    (&[b"NV20"], layout(&[blocks(5, 4, 1), blocks(5, 2, 1)], (2, 1), 0)),
    (&[b"NV30"], layout(&[blocks(5, 4, 1), blocks(5, 2, 1)], (1, 1), 0)),
    (&[b"Q410", b"Q401"], layout(&[px(2), px(2), px(2)], (1, 1), 0)),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_code_stands_in_two_rows() {
        let mut codes: Vec<_> = FORMATS.iter().flat_map(|(codes, _)| codes.iter()).collect();
        let count = codes.len();
        codes.sort_unstable();
        codes.dedup();
        assert_eq!((codes.len(), count), (118, 118));
    }

    #[test]
    fn a_block_of_pixels_has_whole_bytes() {
        let six_one = KernelVersion::new(6, 1);
        let pitch = |code: &[u8; 4], plane: usize, width| {
            Format::find(fourcc(code), six_one).map(|format| format.layout.planes[plane].pitch(width))
        };
        assert_eq!(pitch(b"C1  ", 0, 17), Some(3));
        assert_eq!(pitch(b"NV15", 0, 5), Some(7));
        assert_eq!(pitch(b"Y0L0", 0, 3), Some(6));
        assert_eq!(pitch(b"NV20", 0, 5), None, "6.1 does not know it");
        assert_eq!(pitch(b"XR99", 0, 5), None);
    }

    #[test]
    fn a_plane_of_colours_is_rounded_up() {
        let nv12 = Format::find(DRM_FORMAT_NV12, KernelVersion::new(6, 12)).unwrap();
        assert_eq!((nv12.plane_size(0, 5, 3), nv12.plane_size(1, 5, 3)), ((5, 3), (3, 2)));
        assert!(nv12.is_semiplanar());
    }
}

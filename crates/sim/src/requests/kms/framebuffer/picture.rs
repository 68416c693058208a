//! The memory layout of a framebuffer: tiles, pitches, and how many bytes of the object it uses.
//!
//! Arithmetic is 32 bits wide and wraps around, as in the kernel.

use gem_coherency::Errno;

use gem_coherency::platform::{Aux, Format, Machine, Modifier, Tiles};
use gem_coherency::vocabulary::KernelVersion;

/// A linear pitch is a multiple of this.
const LINE_BYTES: u32 = 64;
/// The first kernel that lets the chroma plane start at any tile (seen on 6.12, not on 6.1).
const FREE_COLOURS: KernelVersion = KernelVersion::new(6, 11);

/// The layout of a framebuffer.
#[derive(Debug)]
pub(super) struct Picture {
    pub(super) machine: Machine,
    pub(super) format: Format,
    pub(super) modifier: &'static Modifier,
    /// Width and height in pixels.
    pub(super) size: (u32, u32),
    pub(super) pitches: [u32; 4],
    pub(super) offsets: [u32; 4],
}

impl Picture {
    /// Returns the largest pitch (`intel_fb_max_stride`): a plane's limit, or as much as can be remapped.
    pub(super) fn most_stride(&self) -> u32 {
        let version = self.machine.platform.display_version();
        // From version 13 on, tiled framebuffers have page tables of their own.
        let own_tables = version >= 13 && !self.is_all_linear();
        if version < 4 || self.modifier.compression.is_some() || own_tables {
            self.plane_stride()
        } else if version >= 7 {
            256 << 10
        } else {
            128 << 10
        }
    }

    /// Returns whether a plane's pitch has the required alignment (`intel_fb_stride_alignment`), and, for a
    /// CCS plane, whether it is the one that follows from the main plane's pitch.
    pub(super) fn has_good_pitch(&self, plane: usize) -> bool {
        let pitch = self.pitches[plane];
        let fits = pitch & (self.pitch_unit(plane) - 1) == 0;
        // gen12_ccs_aux_stride.
        let lines = || {
            let main = self.main_plane(plane);
            let tiles = self.pitches[main].div_ceil(4 * self.tile_bytes(main));
            pitch == tiles * 64
        };
        fits && (!self.is_line_aux(plane) || lines())
    }

    fn pitch_unit(&self, plane: usize) -> u32 {
        if self.is_linear(plane) {
            let remapped = self.pitches[plane] > self.plane_stride() && self.modifier.compression.is_none();
            return if remapped { self.page_bytes() } else { LINE_BYTES };
        }
        let version = self.machine.platform.display_version();
        // Four tiles are one line of CCS; gen9 and gen10 read wide pictures in groups of four tiles.
        let fours = version >= 12 || (version < 11 && plane == 0 && self.size.0 > 3840);
        let unit = self.tile_bytes(plane);
        if self.modifier.compression.is_some() && fours { unit * 4 } else { unit }
    }

    /// Returns how many bytes of the object the picture uses, in whole tiles (`intel_fill_fb_info`).
    ///
    /// # Errors
    /// EINVAL for a plane with an invalid start; ERANGE for one that extends past 4 GiB.
    pub(super) fn bytes(&self) -> Result<u64, Errno> {
        let mut most = 0;
        let mut main = Vec::new();
        for plane in 0..self.format.layout.planes.len() {
            if self.is_clear_plane(plane) {
                if !self.offsets[plane].is_multiple_of(64) {
                    return Err(Errno::EINVAL);
                }
                continue;
            }
            let (x, y) = self.start(plane)?;
            if self.is_aux(plane) {
                self.check_aux(plane, (x, y), main[self.main_plane(plane)])?;
            }
            main.push((x, y));
            most = most.max(self.end(plane, (x, y)));
        }
        Ok(u64::from(most) * u64::from(self.page_bytes()))
    }

    /// Returns the first pixel of a plane, counted from the start of the object (`intel_fb_offset_to_xy`).
    fn start(&self, plane: usize) -> Result<(u32, u32), Errno> {
        let (pitch, offset) = (self.pitches[plane], self.offsets[plane]);
        let linear = self.is_all_linear();
        let unit = match () {
            () if self.has_aligned_colours(plane) => pitch.wrapping_mul(self.tile_lines(plane)),
            () if linear => 1,
            () => self.page_bytes(),
        };
        if !offset.is_multiple_of(unit.max(1)) {
            return Err(Errno::EINVAL);
        }
        let (_, height) = self.format.plane_size(plane, self.size.0, self.size.1);
        let lines = height.next_multiple_of(self.tile_lines(plane));
        let end = u64::from(lines) * u64::from(pitch) + u64::from(offset);
        if end > u64::from(u32::MAX) {
            return Err(Errno::ERANGE);
        }
        if self.is_linear(plane) {
            return Ok(self.pixels(plane, offset));
        }
        let row = self.row_tiles(plane);
        let tiles = offset / self.page_bytes();
        Ok((tiles % row * self.tile_pixels(plane), tiles / row * self.tile_lines(plane)))
    }

    /// Converts a byte offset of an untiled plane to a column and a line.
    fn pixels(&self, plane: usize, offset: u32) -> (u32, u32) {
        let pitch = self.pitches[plane].max(1);
        (offset % pitch / self.pixel_bytes(plane), offset / pitch)
    }

    /// Returns the end of a plane in tiles, one past its last; its first pixel is at (x, y).
    fn end(&self, plane: usize, (x, y): (u32, u32)) -> u32 {
        let height = self.lines(plane);
        let pitch = self.pitches[plane];
        let page = self.page_bytes();
        if self.is_linear(plane) {
            let offset = y.wrapping_mul(pitch).wrapping_add(x.wrapping_mul(self.pixel_bytes(plane)));
            let (x, y) = self.pixels(plane, offset % page);
            let size = (y.wrapping_add(height))
                .wrapping_mul(pitch)
                .wrapping_add(x.wrapping_mul(self.pixel_bytes(plane)));
            // Like DIV_ROUND_UP, which wraps around.
            return (offset / page).wrapping_add(size.wrapping_add(page - 1) / page);
        }
        let row = self.row_tiles(plane);
        let first = y / self.tile_lines(plane) * row + x / self.tile_pixels(plane);
        // The start is tile-aligned, so there is no partial tile.
        first.wrapping_add(row.wrapping_mul(height.div_ceil(self.tile_lines(plane))))
    }

    /// Checks that a CCS plane starts at the same pixel as its main plane (`intel_fb_check_ccs_xy`).
    fn check_aux(&self, plane: usize, (x, y): (u32, u32), main: (u32, u32)) -> Result<(), Errno> {
        let (hsub, vsub) = self.subsampling(plane);
        let lines = if self.is_line_aux(plane) { 1 } else { self.tile_lines(plane) };
        let (width, height) = (self.tile_pixels(plane) * hsub, lines * vsub);
        let inside = |(x, y): (u32, u32)| (x % width, y % height);
        let own = inside((x.wrapping_mul(hsub), y.wrapping_mul(vsub)));
        if own == inside(main) { Ok(()) } else { Err(Errno::EINVAL) }
    }

    /// Returns how many pixels of the first plane correspond to one of this plane
    /// (`intel_fb_plane_get_subsampling`).
    fn subsampling(&self, plane: usize) -> (u32, u32) {
        let layout = &self.format.layout;
        if plane == 0 {
            return (1, 1);
        }
        if !self.is_line_aux(plane) {
            return (layout.hsub, layout.vsub);
        }
        let main = self.main_plane(plane);
        let hsub = layout.planes[plane].width / layout.planes[main].width;
        (if main == 0 { hsub * layout.hsub } else { hsub }, 32)
    }

    /// Returns the height of a plane in lines (`intel_fb_plane_dims`).
    fn lines(&self, plane: usize) -> u32 {
        let main = if self.is_aux(plane) { self.main_plane(plane) } else { 0 };
        let ((_, main_sub), (_, sub)) = (self.subsampling(main), self.subsampling(plane));
        self.size.1.div_ceil(main_sub * sub)
    }

    /// Returns whether the plane is a chroma plane that must start at a row of tiles.
    fn has_aligned_colours(&self, plane: usize) -> bool {
        let platform = self.machine.platform;
        let version = platform.display_version();
        // Platforms on which pictures with page tables of their own have power-of-two pitches.
        let powers = (platform.name == "adlp" || version >= 14) && !self.is_all_linear();
        let old = self.machine.kernel < FREE_COLOURS && version >= 12 && !powers;
        old && plane == 1 && self.format.is_semiplanar()
    }

    fn plane_stride(&self) -> u32 {
        self.machine.plane_stride_bytes(self.pixel_bytes(0), self.modifier.code)
    }

    fn pixel_bytes(&self, plane: usize) -> u32 {
        self.format.layout.planes[plane].bytes.max(1)
    }

    /// Returns the size of a tile in bytes (`intel_tile_size`).
    fn page_bytes(&self) -> u32 {
        if self.machine.platform.display_version() == 2 { 2048 } else { 4096 }
    }

    /// Returns the width of a tile in bytes (`intel_tile_width_bytes`).
    fn tile_bytes(&self, plane: usize) -> u32 {
        let aux = self.is_aux(plane) || self.is_clear_plane(plane);
        match (self.modifier.tiles, self.aux()) {
            (Tiles::Linear, _) => self.page_bytes(),
            (Tiles::X, _) if self.machine.platform.display_version() == 2 => 128,
            (Tiles::X, _) => 512,
            (Tiles::Y | Tiles::Yf | Tiles::Four, Some(Aux::Tiled)) if aux => 128,
            (Tiles::Y | Tiles::Yf | Tiles::Four, Some(Aux::Lines)) if aux => 64,
            (Tiles::Y, _) if self.machine.has_narrow_tiles(true) => 128,
            (Tiles::Y, _) => 512,
            (Tiles::Four, _) => 128,
            (Tiles::Yf, _) => match self.pixel_bytes(plane) {
                1 => 64,
                2 | 4 => 128,
                _ => 256,
            },
        }
    }

    /// Returns the number of tiles in a row, which is at least 1 for a checked pitch.
    fn row_tiles(&self, plane: usize) -> u32 {
        (self.pitches[plane] / self.tile_bytes(plane)).max(1)
    }

    fn tile_pixels(&self, plane: usize) -> u32 {
        self.tile_bytes(plane) / self.pixel_bytes(plane)
    }

    fn tile_lines(&self, plane: usize) -> u32 {
        self.page_bytes() / self.tile_bytes(plane)
    }

    fn aux(&self) -> Option<Aux> {
        self.modifier.compression.map(|compression| compression.aux)
    }

    /// Returns whether the modifier is linear.
    fn is_all_linear(&self) -> bool {
        self.modifier.tiles == Tiles::Linear
    }

    /// Returns whether a plane is linear (`is_surface_linear`).
    fn is_linear(&self, plane: usize) -> bool {
        self.is_all_linear() || self.is_line_aux(plane) || self.is_clear_plane(plane)
    }

    /// Returns whether a plane is a CCS plane, which holds compression state (`intel_fb_is_ccs_aux_plane`).
    fn is_aux(&self, plane: usize) -> bool {
        let has_planes = matches!(self.aux(), Some(Aux::Tiled | Aux::Lines));
        has_planes && !self.is_clear_plane(plane) && plane >= self.mains()
    }

    /// Returns whether a plane is a gen12 CCS plane, which is linear (`intel_fb_is_gen12_ccs_aux_plane`).
    fn is_line_aux(&self, plane: usize) -> bool {
        self.aux() == Some(Aux::Lines) && self.is_aux(plane)
    }

    fn is_clear_plane(&self, plane: usize) -> bool {
        self.modifier.compression.is_some_and(|compression| compression.clear_plane == Some(plane))
    }

    /// Returns the number of planes that hold pixels.
    fn mains(&self) -> usize {
        if self.format.is_semiplanar() { 2 } else { 1 }
    }

    /// Returns the main plane of a CCS plane (`skl_ccs_to_main_plane`).
    fn main_plane(&self, plane: usize) -> usize {
        plane.saturating_sub(self.mains())
    }
}

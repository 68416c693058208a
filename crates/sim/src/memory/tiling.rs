//! The tiling of an object, and the order of its bytes in the aperture.

use std::ops::Range;

use gem_coherency::platform::Machine;
use gem_coherency::units::{LINE_BYTES, PAGE_BYTES};
use gem_coherency_uapi::i915::{
    I915_BIT_6_SWIZZLE_9, I915_BIT_6_SWIZZLE_9_10, I915_BIT_6_SWIZZLE_NONE, I915_TILING_NONE, I915_TILING_X,
    I915_TILING_Y,
};

/// The tiling of an object (`tiling_and_stride`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tiling {
    /// `I915_TILING_*`.
    pub(crate) mode: u32,
    /// Pitch in bytes; 0 without tiling.
    pub(crate) stride: u32,
}

impl Tiling {
    /// Returns whether the object is tiled (`i915_gem_object_is_tiled`).
    pub(crate) fn is_tiled(self) -> bool {
        self.mode != I915_TILING_NONE
    }

    /// The tiling mode, `I915_TILING_*`.
    pub(crate) fn mode(self) -> u32 {
        self.mode
    }

    /// Pitch in bytes; 0 without tiling.
    pub(crate) fn stride(self) -> u32 {
        self.stride
    }

    /// Returns how bit 6 of an address is swizzled, `I915_BIT_6_SWIZZLE_*`.
    pub(crate) fn swizzle(self, machine: Machine) -> u32 {
        match self.mode {
            I915_TILING_X => machine.swizzle().x,
            I915_TILING_Y => machine.swizzle().y,
            _ => I915_BIT_6_SWIZZLE_NONE,
        }
    }

    /// Returns the order in which a fence register shows the bytes in the aperture; `None` if the aperture shows them as
    /// they are.
    pub(crate) fn order(self, machine: Machine) -> Option<Order> {
        let by_columns = self.mode == I915_TILING_Y;
        let narrow = machine.has_narrow_tiles(by_columns);
        let (width, bytes) =
            (if narrow { 128 } else { 512 }, if machine.platform.graphics.major <= 2 { 2048 } else { 4096 });
        let column = match (by_columns, narrow) {
            (false, _) => width,
            (true, true) => 16,
            (true, false) => 32,
        };
        let (pitch, swizzle) = (u64::from(self.stride), self.swizzle(machine));
        self.is_tiled().then_some(Order { width, height: bytes / width, column, pitch, swizzle })
    }
}

/// The order of an object's bytes: rows of tiles, each of which consists of columns of short rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Order {
    /// The width of a tile in bytes.
    width: u64,
    /// The height of a tile in rows.
    height: u64,
    /// The width of a column of a tile; X tiles have one column.
    column: u64,
    /// A multiple of the width.
    pitch: u64,
    /// `I915_BIT_6_SWIZZLE_*`.
    swizzle: u32,
}

impl Order {
    /// The order of an object without tiling, as pages.
    pub(crate) const LINEAR: Self = Self {
        width: PAGE_BYTES,
        height: 1,
        column: PAGE_BYTES,
        pitch: PAGE_BYTES,
        swizzle: I915_BIT_6_SWIZZLE_NONE,
    };

    /// The bytes of a row of tiles, which are the same bytes of the object in both orders.
    pub(crate) fn row_bytes(self) -> u64 {
        self.pitch * self.height
    }

    /// Returns where byte `offset` of the linear picture is in the object.
    fn place(self, offset: u64) -> u64 {
        let (y, x) = (offset / self.pitch, offset % self.pitch);
        let tile = y / self.height * (self.pitch / self.width) + x / self.width;
        let (y, x) = (y % self.height, x % self.width);
        let within = x / self.column * self.column * self.height + y * self.column + x % self.column;
        let at = tile * self.width * self.height + within;
        let bit = |number: u32| at >> number & 1;
        let swizzled = match self.swizzle {
            I915_BIT_6_SWIZZLE_9 => bit(9),
            I915_BIT_6_SWIZZLE_9_10 => bit(9) ^ bit(10),
            _ => 0,
        };
        at ^ swizzled << 6
    }

    /// Returns the pieces of `len` bytes at `offset` of the linear picture that are in one piece in the object, too: where
    /// each is there, and its range of the `len` bytes.
    pub(crate) fn pieces(self, offset: u64, len: usize) -> impl Iterator<Item = (u64, Range<usize>)> {
        // Swizzling moves whole lines.
        let whole =
            if self.swizzle == I915_BIT_6_SWIZZLE_NONE { self.column } else { self.column.min(LINE_BYTES) };
        let mut done = 0;
        std::iter::from_fn(move || {
            let at = offset + done as u64;
            let piece = done..len.min(done + (whole - at % whole) as usize);
            done = piece.end;
            (!piece.is_empty()).then(|| (self.place(at), piece))
        })
    }

    /// Returns the bytes of the object of a row of tiles that begins at `first`, as far as it has them, for the first linear
    /// bytes. Those that the last row of tiles has after the object are lost.
    pub(crate) fn tiled(self, first: u64, linear: &[u8]) -> Vec<u8> {
        let mut tiled = vec![0; linear.len()];
        for (at, piece) in self.pieces(first, linear.len()) {
            let at = (at - first) as usize;
            if let (Some(to), Some(from)) = (tiled.get_mut(at..at + piece.len()), linear.get(piece)) {
                to.copy_from_slice(from);
            }
        }
        tiled
    }

    /// Returns the first linear bytes of a row of tiles that begins at `first`, for the bytes that the object has of it. Those
    /// that the last row of tiles has after the object are zeroes.
    pub(crate) fn linear(self, first: u64, tiled: &[u8]) -> Vec<u8> {
        let mut linear = vec![0; tiled.len()];
        for (at, piece) in self.pieces(first, tiled.len()) {
            let at = (at - first) as usize;
            if let (Some(from), Some(to)) = (tiled.get(at..at + piece.len()), linear.get_mut(piece)) {
                to.copy_from_slice(from);
            }
        }
        linear
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gem_coherency::platform;
    use gem_coherency::vocabulary::KernelVersion;

    fn order(name: &str, mode: u32, stride: u32) -> Option<Order> {
        let machine = platform::by_name(name).unwrap().machine(KernelVersion::new(6, 12), false);
        Tiling { mode, stride }.order(machine)
    }

    fn places<const N: usize>(name: &str, mode: u32, stride: u32, offsets: [u64; N]) -> [u64; N] {
        let order = order(name, mode, stride).unwrap();
        offsets.map(|offset| order.place(offset))
    }

    #[test]
    fn a_row_of_x_tiles_has_eight_rows_of_bytes() {
        let offsets = [0, 511, 512, 1023, 1024, 7 * 1024, 8 * 1024];
        for name in ["i915g", "glk", "tgl"] {
            let expected = [0, 511, 4096, 4607, 512, 3584, 8192];
            assert_eq!(places(name, I915_TILING_X, 1024, offsets), expected, "{name}");
        }
        assert_eq!(
            places("i830", I915_TILING_X, 256, [127, 128, 256, 15 * 256, 16 * 256]),
            [127, 2048, 128, 1920, 4096]
        );
    }

    #[test]
    fn a_y_tile_has_columns_of_sixteen_or_32_bytes() {
        for name in ["i945g", "glk"] {
            let offsets = [0, 15, 16, 128, 256, 31 * 256, 32 * 256];
            assert_eq!(
                places(name, I915_TILING_Y, 256, offsets),
                [0, 15, 512, 4096, 16, 496, 8192],
                "{name}"
            );
        }
        let offsets = [31, 32, 512, 1024, 7 * 1024, 8 * 1024];
        assert_eq!(places("i915g", I915_TILING_Y, 1024, offsets), [31, 256, 4096, 32, 224, 8192]);
        assert_eq!(places("i830", I915_TILING_Y, 128, [16, 128, 15 * 128, 16 * 128]), [256, 16, 240, 2048]);
    }

    #[test]
    fn swizzling_moves_lines() {
        let offsets = [512, 2 * 512, 3 * 512, 512 + 64];
        let expected = [512 + 64, 2 * 512 + 64, 3 * 512, 512];
        assert_eq!(places("ilk", I915_TILING_X, 512, offsets), expected, "bits 9 and 10");
        assert_eq!(places("ilk", I915_TILING_Y, 128, [16, 32, 48]), [512 + 64, 1024, 3 * 512 + 64], "bit 9");
    }

    #[test]
    fn a_row_of_tiles_has_each_of_its_bytes_once() {
        for (name, mode, stride) in [
            ("i830", I915_TILING_X, 256),
            ("i830", I915_TILING_Y, 256),
            ("i915g", I915_TILING_Y, 1024),
            ("glk", I915_TILING_X, 1536),
            ("ilk", I915_TILING_X, 1024),
            ("ilk", I915_TILING_Y, 256),
        ] {
            let order = order(name, mode, stride).unwrap();
            let row = order.row_bytes();
            let mut places: Vec<u64> = order
                .pieces(row, row as usize)
                .flat_map(|(at, piece)| (at..).zip(piece))
                .map(|(at, _)| at)
                .collect();
            places.sort_unstable();
            assert!(places.iter().copied().eq(row..2 * row), "{name} {mode}");
        }
    }

    #[test]
    fn nothing_is_reordered_without_tiling() {
        assert_eq!(order("glk", I915_TILING_NONE, 0), None);
        let pieces: Vec<_> = Order::LINEAR.pieces(4090, 10).collect();
        assert_eq!(pieces, [(4090, 0..6), (4096, 6..10)]);
    }
}

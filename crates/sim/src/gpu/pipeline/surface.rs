//! Surface states (RENDER_SURFACE_STATE): the bytes of memory that a surface shows.
//!
//! Which of them a shader reads or writes is not known. Only bytes that surely belong to the surface count: those of the
//! first slice and the largest level, and of tiled surfaces whole tiles. A surface whose first level may not be
//! accessed, or whose bytes may be elsewhere (compression, more samples), counts as unknown.

use super::encoding::{Encoding, bits};
use super::formats::{Format, RAW};
use super::reader::Reader;
use gem_coherency::vocabulary::MocsClass;

/// The types of surfaces.
const TWO_DIMENSIONS: u32 = 1;
const LAST_TEXTURE: u32 = 3;
const BUFFER: u32 = 4;
const STRUCTURED_BUFFER: u32 = 5;
/// Bytes of a tile.
const TILE_BYTES: u64 = 4096;

/// Rows of bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Surface {
    pub(super) naming: Naming,
    pub(super) mocs: MocsClass,
    pub(super) start: u64,
    pub(super) row_bytes: u64,
    pub(super) rows: u64,
    pub(super) stride: u64,
}

/// The way in which shaders name a surface's bytes, as far as it is known here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Naming {
    Unknown,
    /// By their offsets: a buffer.
    Offsets,
    /// By row and column, as media blocks do, to which a row has so many bytes.
    Rows {
        bytes: u32,
    },
}

/// The arrangement of a surface's bytes.
#[derive(Clone, Copy)]
enum Tiling {
    Linear,
    /// Tiles of so many bytes and rows.
    Tiles {
        width: u64,
        height: u64,
    },
}

/// The fields of a surface state that all generations have.
struct Fields {
    tiling: Option<Tiling>,
    mocs: u32,
    start: u64,
    width: u32,
    height: u32,
    depth: u32,
    pitch: u32,
    /// The bits of the number of elements of a buffer that width and height hold; depth has those above.
    element_bits: [u32; 2],
    /// What makes the place or the use of the first level's bytes uncertain is not 0.
    uncertain: u32,
}

const X: Tiling = Tiling::Tiles { width: 512, height: 8 };
/// Tiles of Y-tiling, and of Tile4, have the same size.
const Y: Tiling = Tiling::Tiles { width: 128, height: 32 };

/// Returns the number of dwords of a surface state.
pub(super) fn dwords(encoding: Encoding) -> usize {
    match encoding.generation {
        ..70 => 6,
        70..80 => 8,
        80.. => 16,
    }
}

impl Surface {
    /// Decodes a surface state of graphics 6 and later; `None` if it shows no bytes, or if it is not known which.
    pub(super) fn new(encoding: Encoding, words: &[u32]) -> Option<Self> {
        let first = *words.first()?;
        let (kind, format) = (bits(first, 31, 29), bits(first, 26, 18));
        let fields = match encoding.generation {
            ..70 => sixth(words)?,
            70..80 => seventh(words)?,
            80.. => eighth(encoding, words)?,
        };
        let (mocs, start) = (encoding.mocs(fields.mocs), fields.start);
        let stride = u64::from(fields.pitch) + 1;
        if kind == BUFFER || kind == STRUCTURED_BUFFER && encoding.generation < 125 {
            let [low, middle] = fields.element_bits;
            let elements = (u64::from(fields.depth) << (low + middle)
                | u64::from(bits(fields.height, middle - 1, 0)) << low
                | u64::from(bits(fields.width, low - 1, 0)))
                + 1;
            // Mesa writes how much it rounded the size of a RAW buffer up into the lower two bits
            // (`isl_buffer_fill_state_s`).
            let elements = match (format, elements % 4) {
                (RAW, excess) => elements.checked_sub(2 * excess)?,
                _ => elements,
            };
            let row_bytes = elements.checked_mul(stride)?;
            return Some(Self { naming: Naming::Offsets, mocs, start, row_bytes, rows: 1, stride });
        }
        if kind > LAST_TEXTURE || fields.uncertain != 0 {
            return None;
        }
        let row = (u64::from(fields.width) + 1) * Format::new(format)?.bytes;
        let rows = if kind == 0 { 1 } else { u64::from(fields.height) + 1 };
        match fields.tiling? {
            Tiling::Linear if rows > 1 && row > stride => None,
            Tiling::Linear => {
                // To media blocks the width is a number of dwords, whatever the format.
                let bytes = 4 * (fields.width + 1);
                let has_rows = kind == TWO_DIMENSIONS && fields.depth == 0 && u64::from(bytes) <= stride;
                let naming = if has_rows { Naming::Rows { bytes } } else { Naming::Unknown };
                Some(Self { naming, mocs, start, row_bytes: row, rows, stride })
            }
            Tiling::Tiles { width, height } => {
                let row_bytes = row / width * TILE_BYTES;
                let stride = stride / width * TILE_BYTES;
                let rows = rows / height;
                (row_bytes > 0 && rows > 0 && row_bytes <= stride).then_some(Self {
                    naming: Naming::Unknown,
                    mocs,
                    start,
                    row_bytes,
                    rows,
                    stride,
                })
            }
        }
    }

    /// Logs its dirty lines that the GPU would not see.
    pub(super) fn watch(&self, reader: &mut Reader<'_>) {
        if self.row_bytes == self.stride {
            return reader.surface(self.mocs, self.start, self.row_bytes.saturating_mul(self.rows));
        }
        for row in 0..self.rows {
            reader.surface(self.mocs, self.start.wrapping_add(row.wrapping_mul(self.stride)), self.row_bytes);
        }
    }
}

/// Decodes the fields of graphics 6 (`gen6.xml`).
fn sixth(words: &[u32]) -> Option<Fields> {
    let &[first, base, third, fourth, fifth, sixth, ..] = words else { return None };
    let tiling = match (bits(fourth, 1, 1), bits(fourth, 0, 0)) {
        (0, _) => Tiling::Linear,
        (_, 0) => X,
        _ => Y,
    };
    Some(Fields {
        tiling: Some(tiling),
        mocs: bits(sixth, 19, 16),
        start: base.into(),
        width: bits(third, 18, 6),
        height: bits(third, 31, 19),
        depth: bits(fourth, 31, 21),
        pitch: bits(fourth, 19, 3),
        element_bits: [7, 13],
        // A stride of two lines; samples; the first slice and level; an offset.
        uncertain: bits(first, 12, 11)
            | bits(fifth, 6, 4)
            | bits(fifth, 31, 17)
            | bits(sixth, 31, 20)
            | bits(third, 5, 2),
    })
}

/// Decodes the fields of graphics 7 (`gen7.xml`, `gen75.xml`).
fn seventh(words: &[u32]) -> Option<Fields> {
    let &[first, base, third, fourth, fifth, sixth, seventh, ..] = words else { return None };
    let tiling = match (bits(first, 14, 14), bits(first, 13, 13)) {
        (0, _) => Tiling::Linear,
        (_, 0) => X,
        _ => Y,
    };
    Some(Fields {
        tiling: Some(tiling),
        mocs: bits(sixth, 19, 16),
        start: base.into(),
        width: bits(third, 13, 0),
        height: bits(third, 29, 16),
        depth: bits(fourth, 31, 21),
        pitch: bits(fourth, 17, 0),
        element_bits: [7, 14],
        // As in graphics 6, and compression.
        uncertain: bits(first, 12, 11)
            | bits(fifth, 5, 3)
            | bits(fifth, 28, 18)
            | bits(sixth, 7, 0)
            | bits(sixth, 31, 20)
            | bits(seventh, 0, 0),
    })
}

/// Decodes the fields of graphics 8 and later (`gen8.xml` to `gen125.xml`).
fn eighth(encoding: Encoding, words: &[u32]) -> Option<Fields> {
    let &[first, second, third, fourth, fifth, sixth, seventh, _, ..] = words else { return None };
    let tiling = match bits(first, 13, 12) {
        0 => Some(Tiling::Linear),
        // W-tiling, or tiles of 64 KiB.
        1 => None,
        2 => Some(X),
        _ => Some(Y),
    };
    // Tiled resources (graphics 9 to 12) and mip tails.
    let tiled_resource = if encoding.generation >= 90 { bits(sixth, 19, 18) } else { 0 };
    Some(Fields {
        tiling,
        mocs: bits(second, 30, 24),
        start: encoding.address(words, 8)?,
        width: bits(third, 13, 0),
        height: bits(third, 29, 16),
        depth: bits(fourth, 31, 21),
        pitch: bits(fourth, 17, 0),
        element_bits: [7, 14],
        // As in graphics 7.
        uncertain: bits(first, 11, 10)
            | bits(fifth, 5, 3)
            | bits(fifth, 28, 18)
            | bits(sixth, 7, 0)
            | bits(sixth, 31, 21)
            | bits(seventh, 2, 0)
            | tiled_resource,
    })
}

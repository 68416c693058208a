//! Builds a batch, command by command.

use super::dialect::*;
use super::{Batch, Extent, Memory, Patch, Surface, put};
use crate::{Error, Result};
use gem_coherency::error::grow;
use gem_coherency::platform::Machine;

/// Bytes per pixel.
const PIXEL: u32 = 4;
/// Alignment of base addresses; the rest of an address becomes a number of pixels.
const BASE: u64 = 64;
/// Alignment of pitches, as XY_FAST_COPY_BLT requires.
const PITCH: u32 = 64;
/// The largest pitch: 16 bits, signed.
const MOST_PITCH: u32 = 0x7fff & !(PITCH - 1);
/// The largest coordinate: 16 bits, signed; 14 bits from 12.5 on.
const MOST_COORDINATE: u32 = 0x3fff;
/// Largest number of dwords of a command.
const MOST_WORDS: usize = 24;
/// Number of MOCS entries that a command can name.
const MOCS_ENTRIES: u8 = 64;

/// A batch under construction.
#[derive(Clone, Debug)]
pub struct Builder {
    dialect: Dialect,
    words: Vec<u32>,
    patches: Vec<Patch>,
}

/// A surface as commands encode it: an aligned base, and corners in pixels.
#[derive(Clone, Copy)]
struct Corners {
    buffer: u32,
    base: u64,
    pitch: u32,
    mocs: Option<u8>,
    memory: Memory,
    left: u32,
    right: u32,
    bottom: u32,
}

impl Corners {
    /// Returns the upper left corner, with x in the lower half.
    fn first(&self) -> u32 {
        self.left
    }

    /// Returns the lower right corner, which is exclusive.
    fn end(&self) -> u32 {
        self.bottom << 16 | self.right
    }

    /// Returns the block commands' dword with the surface's memory type; its offsets are 0.
    fn target(&self) -> u32 {
        match self.memory {
            Memory::System => IN_SYSTEM_MEMORY,
            Memory::Local => 0,
        }
    }
}

fn bad<T>(what: &'static str, value: u64, why: &'static str) -> Result<T> {
    Err(Error::NotEncodable { what, value, why })
}

impl Builder {
    /// Creates an empty batch for `machine`.
    ///
    /// # Errors
    /// As [`Dialect::of`].
    pub fn new(machine: &Machine) -> Result<Self> {
        Ok(Self { dialect: Dialect::of(machine)?, words: Vec::new(), patches: Vec::new() })
    }

    /// Returns the commands that the batch uses.
    pub fn dialect(&self) -> &Dialect {
        &self.dialect
    }

    /// Stores a dword (MI_STORE_DATA_IMM); caching follows the page table.
    ///
    /// # Errors
    /// [`Error::NotEncodable`] for an offset that is not a multiple of 4; as [`Dialect::check_store`].
    pub fn store(&mut self, buffer: u32, offset: u64, value: u32) -> Result<()> {
        let first = self.dialect.store()?;
        if !offset.is_multiple_of(4) {
            return bad("offset", offset, "it must be a multiple of 4");
        }
        self.reserve()?;
        self.words.extend(first);
        self.address(buffer, offset);
        self.words.push(value);
        Ok(())
    }

    /// Fills rows with a 32-bit value.
    ///
    /// # Errors
    /// [`Error::NotEncodable`] for a MOCS entry where the command cannot name one ([`Dialect::names_mocs`]);
    /// an offset or width that is not a multiple of 4; a pitch that is not a multiple of 64, too large, or
    /// less than a row; an empty or too large extent.
    pub fn fill(&mut self, to: Surface, extent: Extent, value: u32) -> Result<()> {
        let to = self.corners(to, extent, Field::Fill)?;
        self.reserve()?;
        match self.dialect.fill {
            Fill::Color => {
                let length = if self.dialect.wide { 5 } else { 4 };
                self.words.push(XY_COLOR_BLT | WRITE_RGBA | length);
                self.words.push(DEPTH_32 | ROP_PATTERN | to.pitch);
                self.words.extend([to.first(), to.end()]);
                self.address(to.buffer, to.base);
                self.words.push(value);
            }
            Fill::FastColor => {
                self.words.push(XY_FAST_COLOR_BLT | BLOCK_DEPTH_32 | (16 - 2));
                self.block_surface(to);
                // The colour: up to four channels.
                self.words.extend([value, 0, 0, 0]);
                // The clear colour's address is used only for compressed surfaces.
                self.words.extend([0, 0, surface_size(to), 0, 0]);
            }
        }
        Ok(())
    }

    /// Copies rows.
    ///
    /// # Errors
    /// As [`Self::fill`], about either surface.
    pub fn copy(&mut self, to: Surface, from: Surface, extent: Extent) -> Result<()> {
        let to = self.corners(to, extent, Field::Copy)?;
        let from = self.corners(from, extent, Field::Copy)?;
        self.reserve()?;
        let named = to.mocs.is_some() || from.mocs.is_some();
        match self.dialect.copy {
            Copy::Source => {
                let length = if self.dialect.wide { 8 } else { 6 };
                let first = XY_SRC_COPY_BLT | WRITE_RGBA | length;
                self.plain_copy(first, DEPTH_32 | ROP_SOURCE, to, from);
            }
            Copy::Fast => self.plain_copy(XY_FAST_COPY_BLT | 8, DEPTH_32, to, from),
            Copy::FastOrBlock if !named => self.plain_copy(XY_FAST_COPY_BLT | 8, DEPTH_32, to, from),
            Copy::FastOrBlock => self.block_copy(12, to, from),
            Copy::Block => self.block_copy(22, to, from),
        }
        Ok(())
    }

    /// Waits for previous writes and makes them visible (MI_FLUSH_DW, before Sandy Bridge MI_FLUSH).
    pub fn flush(&mut self) {
        self.words.extend(self.dialect.flush);
    }

    /// Ends the batch.
    pub fn finish(mut self) -> Batch {
        self.words.push(MI_BATCH_BUFFER_END);
        if !self.words.len().is_multiple_of(2) {
            self.words.push(0);
        }
        let Self { dialect, words, patches } = self;
        Batch { words, patches, wide: dialect.wide, engine: dialect.engine() }
    }

    /// Appends XY_SRC_COPY_BLT or XY_FAST_COPY_BLT.
    fn plain_copy(&mut self, first: u32, control: u32, to: Corners, from: Corners) {
        let mocs = self.dialect.fast_copy_mocs;
        self.words.extend([first, control | to.pitch | mocs, to.first(), to.end()]);
        self.address(to.buffer, to.base);
        self.words.extend([from.first(), from.pitch | mocs]);
        self.address(from.buffer, from.base);
    }

    /// Appends XY_BLOCK_COPY_BLT with 12 or 22 dwords.
    fn block_copy(&mut self, length: usize, to: Corners, from: Corners) {
        let start = self.words.len();
        self.words.push(XY_BLOCK_COPY_BLT | BLOCK_DEPTH_32 | (length as u32 - 2));
        self.block_surface(to);
        self.words.extend([from.first(), self.pitch_and_mocs(from)]);
        self.address(from.buffer, from.base);
        self.words.push(from.target());
        if length > 12 {
            // No compression formats and clear colours; then each surface's size, mip level and depth.
            self.words.extend([0; 4]);
            self.words.extend([surface_size(to), 0, 0, surface_size(from), 0, 0]);
        }
        debug_assert_eq!(self.words.len() - start, length);
    }

    /// Appends the second to seventh dwords of the block commands.
    fn block_surface(&mut self, to: Corners) {
        self.words.extend([self.pitch_and_mocs(to), to.first(), to.end()]);
        self.address(to.buffer, to.base);
        self.words.push(to.target());
    }

    fn pitch_and_mocs(&self, surface: Corners) -> u32 {
        let entry = surface.mocs.unwrap_or(self.dialect.mocs);
        u32::from(entry) << self.dialect.mocs_shift | (surface.pitch - 1)
    }

    /// Reserves room for a command.
    fn reserve(&mut self) -> Result<()> {
        grow(&mut self.words, "a batch", MOST_WORDS)?;
        Ok(grow(&mut self.patches, "a batch", 2)?)
    }

    /// Appends an address in the generation's width.
    fn address(&mut self, buffer: u32, delta: u64) {
        let word = self.words.len();
        self.words.resize(word + if self.dialect.wide { 2 } else { 1 }, 0);
        put(&mut self.words, word, delta, self.dialect.wide);
        self.patches.push(Patch { word, buffer, delta });
    }

    fn corners(&self, surface: Surface, extent: Extent, field: Field) -> Result<Corners> {
        let Surface { buffer, offset, pitch, mocs, memory } = surface;
        if !offset.is_multiple_of(PIXEL.into()) {
            return bad("offset", offset, "it must be a multiple of 4");
        }
        if extent.width == 0 || !extent.width.is_multiple_of(PIXEL) {
            return bad("width", extent.width.into(), "it must be a multiple of 4, and not 0");
        }
        let left = (offset % BASE) as u32 / PIXEL;
        let right = left + extent.width / PIXEL;
        if right > MOST_COORDINATE {
            return bad("width", extent.width.into(), "a row ends beyond pixel 16383");
        }
        if extent.height == 0 || extent.height > MOST_COORDINATE {
            return bad("height", extent.height.into(), "it must be from 1 to 16383");
        }
        let narrow = extent.height > 1 && pitch < extent.width;
        if pitch == 0 || !pitch.is_multiple_of(PITCH) || pitch > MOST_PITCH || narrow {
            return bad(
                "pitch",
                pitch.into(),
                "it must be a multiple of 64, at most 32704, and at least a row",
            );
        }
        if let Some(entry) = mocs {
            if entry >= MOCS_ENTRIES {
                return bad("MOCS entry", entry.into(), "the table has 64 entries");
            }
            if !self.dialect.names_mocs(field) {
                return bad("MOCS entry", entry.into(), "this generation's command has no MOCS field");
            }
        }
        let base = offset - offset % BASE;
        Ok(Corners { buffer, base, pitch, mocs, memory, left, right, bottom: extent.height })
    }
}

/// Returns a surface's type, two-dimensional, and its height and width in pixels, each minus one.
fn surface_size(surface: Corners) -> u32 {
    SURFACE_2D | (surface.right - 1) << 14 | (surface.bottom - 1)
}

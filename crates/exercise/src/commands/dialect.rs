//! The commands of each generation's copy engine, and their encoding.

use gem_coherency::Errno;

use crate::Result;
use gem_coherency::error::Error;
use gem_coherency::platform::{Caps, GraphicsVersion, Machine};

/// MI_BATCH_BUFFER_END; MI_NOOP is 0.
pub(super) const MI_BATCH_BUFFER_END: u32 = 0x0a << 23;
/// MI_STORE_DATA_IMM of one dword: four dwords from graphics 6 on.
pub(super) const MI_STORE_DATA_IMM: u32 = 0x20 << 23 | 2;
/// MI_FLUSH_DW without a store; its length depends on the address width.
pub(super) const MI_FLUSH_DW: u32 = 0x26 << 23;

/// Commands of the copy engine: the client in bits 31:29, the opcode in 28:22.
const CLIENT_2D: u32 = 2 << 29;
pub(super) const XY_COLOR_BLT: u32 = CLIENT_2D | 0x50 << 22;
pub(super) const XY_SRC_COPY_BLT: u32 = CLIENT_2D | 0x53 << 22;
pub(super) const XY_FAST_COPY_BLT: u32 = CLIENT_2D | 0x42 << 22;
pub(super) const XY_BLOCK_COPY_BLT: u32 = CLIENT_2D | 0x41 << 22;
pub(super) const XY_FAST_COLOR_BLT: u32 = CLIENT_2D | 0x44 << 22;

/// XY_COLOR_BLT, XY_SRC_COPY_BLT: write all four bytes of a pixel.
pub(super) const WRITE_RGBA: u32 = 3 << 20;
/// XY_COLOR_BLT, XY_SRC_COPY_BLT, XY_FAST_COPY_BLT: 32 bits per pixel, in the second dword.
pub(super) const DEPTH_32: u32 = 3 << 24;
/// XY_BLOCK_COPY_BLT, XY_FAST_COLOR_BLT: 32 bits per pixel, in the first dword.
pub(super) const BLOCK_DEPTH_32: u32 = 2 << 19;
/// Raster operations: pattern, source.
pub(super) const ROP_PATTERN: u32 = 0xf0 << 16;
pub(super) const ROP_SOURCE: u32 = 0xcc << 16;
/// XY_BLOCK_COPY_BLT, XY_FAST_COLOR_BLT: the position of the MOCS index, above the bit for encryption.
pub(super) const MOCS_SHIFT: u32 = 22;
/// XY_BLOCK_COPY_BLT, XY_FAST_COLOR_BLT: the surface is in system memory.
pub(super) const IN_SYSTEM_MEMORY: u32 = 1 << 31;
/// XY_BLOCK_COPY_BLT, XY_FAST_COLOR_BLT of 12.5 and later: a two-dimensional surface.
pub(super) const SURFACE_2D: u32 = 1 << 29;

/// The fill command of a generation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fill {
    /// XY_COLOR_BLT.
    Color,
    /// XY_FAST_COLOR_BLT.
    FastColor,
}

/// The copy command of a generation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Copy {
    /// XY_SRC_COPY_BLT.
    Source,
    /// XY_FAST_COPY_BLT.
    Fast,
    /// XY_FAST_COPY_BLT, or XY_BLOCK_COPY_BLT with 12 dwords if a MOCS entry is named.
    FastOrBlock,
    /// XY_BLOCK_COPY_BLT with 22 dwords.
    Block,
}

/// A part of a command that may name a MOCS entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Field {
    /// The destination of a fill.
    Fill,
    /// The source or the destination of a copy.
    Copy,
}

/// The commands of a generation's copy engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dialect {
    /// Addresses have 64 bits.
    pub(super) wide: bool,
    pub(super) fill: Fill,
    pub(super) copy: Copy,
    /// The MOCS entry for accesses that name none, where the command must name one; it follows the page
    /// table.
    pub(super) mocs: u8,
}

const GEN6: GraphicsVersion = GraphicsVersion::new(6, 0);
const GEN8: GraphicsVersion = GraphicsVersion::new(8, 0);
const GEN9: GraphicsVersion = GraphicsVersion::new(9, 0);
const GEN12: GraphicsVersion = GraphicsVersion::new(12, 0);
const XE_HP: GraphicsVersion = GraphicsVersion::new(12, 50);
const XE_LPG: GraphicsVersion = GraphicsVersion::new(12, 70);

/// MOCS entries: cached as the page table says, where there is an LLC (`gen12_mocs_table`, `tgl_mocs_table`);
/// and the uncached entries of DG2 and of Meteor Lake, where the page table determines coherency anyway
/// (`uc_index` of `dg2_mocs_table` and `mtl_mocs_table`).
pub(super) const GEN12_CACHED: u8 = 2;
pub(super) const DG2_UNCACHED: u8 = 1;
pub(super) const MTL_UNCACHED: u8 = 9;

impl Dialect {
    /// Returns the commands of `machine`.
    ///
    /// # Errors
    /// [`gem_coherency::Error::NotAvailable`] before graphics version 6, which has no copy engine, and for an unknown
    /// device.
    pub fn of(machine: &Machine) -> Result<Self> {
        let version = machine.platform.graphics;
        if version < GEN6 {
            let why = "there is no copy engine before Sandy Bridge";
            let platform = machine.platform.name;
            return Err(Error::NotAvailable {
                what: "a batch for the copy engine".to_owned(),
                platform,
                why,
                errno: Errno::ENODEV,
            }
            .into());
        }
        let discrete = machine.caps.contains(Caps::DISCRETE);
        Ok(Self {
            wide: version >= GEN8,
            fill: if version >= XE_HP { Fill::FastColor } else { Fill::Color },
            copy: match version {
                version if version >= XE_HP => Copy::Block,
                version if version >= GEN12 && !discrete => Copy::FastOrBlock,
                version if version >= GEN9 => Copy::Fast,
                _ => Copy::Source,
            },
            mocs: match version {
                version if version >= XE_LPG => MTL_UNCACHED,
                version if version >= XE_HP => DG2_UNCACHED,
                _ => GEN12_CACHED,
            },
        })
    }

    /// Returns whether `field` can name a MOCS entry.
    pub fn names_mocs(&self, field: Field) -> bool {
        match field {
            Field::Fill => self.fill == Fill::FastColor,
            Field::Copy => matches!(self.copy, Copy::FastOrBlock | Copy::Block),
        }
    }
}

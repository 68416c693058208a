//! The commands of each generation that store, fill and copy, and their encoding.

use gem_coherency::Errno;

use crate::Result;
use gem_coherency::error::Error;
use gem_coherency::platform::{
    CONSERVATIVE, Caps, EngineClass, GraphicsVersion, I915G, I915GM, Machine, Platform,
};

/// MI_BATCH_BUFFER_END; MI_NOOP is 0.
pub(super) const MI_BATCH_BUFFER_END: u32 = 0x0a << 23;
/// MI_STORE_DATA_IMM of one dword; its length depends on the form of the address.
const MI_STORE_DATA_IMM: u32 = 0x20 << 23;
/// MI_STORE_DATA_IMM before graphics 6: the address is virtual.
const STORE_VIRTUAL: u32 = 1 << 22;
/// MI_FLUSH, which MI_FLUSH_DW replaces from graphics 6 on.
const MI_FLUSH: u32 = 0x04 << 23;
/// MI_FLUSH_DW without a store; its length depends on the address width.
const MI_FLUSH_DW: u32 = 0x26 << 23;

/// Commands of the blitter: the client in bits 31:29, the opcode in 28:22.
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
const MOCS_SHIFT: u32 = 22;
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

/// The commands of a platform that store, fill and copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dialect {
    platform: &'static Platform,
    /// Addresses have 64 bits.
    pub(super) wide: bool,
    /// The dwords of a store before its address, or the reason why a batch cannot store.
    store: Result<&'static [u32], &'static str>,
    pub(super) flush: &'static [u32],
    pub(super) fill: Fill,
    pub(super) copy: Copy,
    /// The MOCS entry for accesses that name none, where the command must name one; it follows the page
    /// table.
    pub(super) mocs: u8,
    /// The lowest bit of a MOCS entry in the commands that must name one.
    pub(super) mocs_shift: u32,
    /// The bits of this entry in XY_FAST_COPY_BLT, which has none before Xe2.
    pub(super) fast_copy_mocs: u32,
}

const GEN6: GraphicsVersion = GraphicsVersion::new(6, 0);
const GEN8: GraphicsVersion = GraphicsVersion::new(8, 0);
const GEN9: GraphicsVersion = GraphicsVersion::new(9, 0);
const GEN12: GraphicsVersion = GraphicsVersion::new(12, 0);
const XE_HP: GraphicsVersion = GraphicsVersion::new(12, 50);
const XE_LPG: GraphicsVersion = GraphicsVersion::new(12, 70);
const XE2: GraphicsVersion = GraphicsVersion::new(20, 0);

/// MOCS entries: cached as the page table says, where there is an LLC (`gen12_mocs_table`, `tgl_mocs_table`);
/// and the uncached entries of DG2, of Meteor Lake and of Xe2, where the page table determines coherency anyway
/// (`uc_index` of `dg2_mocs_table`, `mtl_mocs_table`, `xe2_mocs_table`).
pub(super) const GEN12_CACHED: u8 = 2;
pub(super) const DG2_UNCACHED: u8 = 1;
pub(super) const MTL_UNCACHED: u8 = 9;
const XE2_UNCACHED: u8 = 3;
/// The places of Xe2's entries of 4 bits (`XE2_XY_FAST_COLOR_BLT_MOCS_INDEX_MASK`, `XE2_XY_FAST_COPY_BLT_MOCS_INDEX_MASK`).
const XE2_MOCS_SHIFT: u32 = 24;
const XE2_COPY_MOCS_SHIFT: u32 = 20;

impl Dialect {
    /// Returns the commands of `machine`.
    ///
    /// # Errors
    /// [`gem_coherency::Error::NotAvailable`] for an unknown device.
    pub fn of(machine: &Machine) -> Result<Self> {
        let platform = machine.platform;
        if platform == &CONSERVATIVE {
            return Err(missing("a batch", platform, "the commands of an unknown device are not known"));
        }
        let version = platform.graphics;
        let discrete = machine.caps.contains(Caps::DISCRETE);
        Ok(Self {
            platform,
            wide: version >= GEN8,
            store: store(platform),
            flush: match version {
                version if version >= GEN8 => &[MI_FLUSH_DW | 2, 0, 0, 0],
                version if version >= GEN6 => &[MI_FLUSH_DW | 1, 0, 0],
                _ => &[MI_FLUSH],
            },
            fill: if version >= XE_HP { Fill::FastColor } else { Fill::Color },
            copy: match version {
                // xe copies by it, too (`emit_copy`).
                version if version >= XE2 => Copy::Fast,
                version if version >= XE_HP => Copy::Block,
                version if version >= GEN12 && !discrete => Copy::FastOrBlock,
                version if version >= GEN9 => Copy::Fast,
                _ => Copy::Source,
            },
            mocs: match version {
                version if version >= XE2 => XE2_UNCACHED,
                version if version >= XE_LPG => MTL_UNCACHED,
                version if version >= XE_HP => DG2_UNCACHED,
                _ => GEN12_CACHED,
            },
            mocs_shift: if version >= XE2 { XE2_MOCS_SHIFT } else { MOCS_SHIFT },
            fast_copy_mocs: if version >= XE2 { u32::from(XE2_UNCACHED) << XE2_COPY_MOCS_SHIFT } else { 0 },
        })
    }

    /// Returns the engine that executes the commands: the copy engine, or before Sandy Bridge, which has none, the render
    /// engine.
    pub fn engine(&self) -> EngineClass {
        if self.platform.graphics < GEN6 { EngineClass::Render } else { EngineClass::Copy }
    }

    /// Checks that a batch can store ([`super::Builder::store`]).
    ///
    /// # Errors
    /// [`gem_coherency::Error::NotAvailable`] on 915G and 915GM, and on graphics 2, 4 and 5.
    pub fn check_store(&self) -> Result<()> {
        self.store().map(drop)
    }

    /// Returns the dwords of a store before its address.
    ///
    /// # Errors
    /// As [`Self::check_store`].
    pub(super) fn store(&self) -> Result<&'static [u32]> {
        self.store.map_err(|why| missing("a store of a batch", self.platform, why))
    }

    /// Returns whether `field` can name a MOCS entry.
    pub fn names_mocs(&self, field: Field) -> bool {
        match field {
            // Xe2's entries have another width, and no tables that are known here.
            Field::Fill => self.fill == Fill::FastColor && self.platform.graphics < XE2,
            Field::Copy => matches!(self.copy, Copy::FastOrBlock | Copy::Block),
        }
    }
}

/// Returns the dwords of a store before its address, or the reason why a batch of userspace cannot store.
///
/// The reasons are those of i915's `intel_engine_can_store_dword`, and of IGT's `gem_exec_store`, whose batches are secure
/// ones on graphics 4 and 5.
fn store(platform: &Platform) -> Result<&'static [u32], &'static str> {
    match platform.graphics.major {
        ..=2 => Err("graphics 2 stores to physical addresses"),
        3 if [&I915G, &I915GM].contains(&platform) => Err("it may store to physical addresses only"),
        3 => Ok(&[MI_STORE_DATA_IMM | STORE_VIRTUAL | 1]),
        4..=5 => Err("graphics 4 and 5 store in secure batches only"),
        6..=7 => Ok(&[MI_STORE_DATA_IMM | 2, 0]),
        8.. => Ok(&[MI_STORE_DATA_IMM | 2]),
    }
}

/// Returns the error for what a platform lacks.
pub(super) fn missing(what: &str, platform: &Platform, why: &'static str) -> crate::Error {
    Error::NotAvailable { what: what.to_owned(), platform: platform.name, why, errno: Errno::ENODEV }.into()
}

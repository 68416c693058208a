//! The report of `gemtool lines`.

use std::collections::BTreeSet;

use gem_coherency::policy::Decision;
use gem_coherency::vocabulary::{Access, CacheLevel, CachingMode, MocsClass};
use serde::Serialize;

use super::watched::Surface;
use crate::args;
use crate::cmd::device::DeviceLine;
use crate::cmd::eu::EuReport;
use crate::cmd::line_set::LineSet;

/// The result of a run.
#[derive(Clone, Debug, Serialize)]
#[serde(untagged)]
pub enum Ran {
    /// The kernel breaks restrictions of the hardware.
    Invalid(EuReport),
    /// All threads ran.
    Done(Box<LinesReport>),
}

impl Ran {
    /// Returns whether the kernel ran, and no line was stale.
    pub fn held(&self) -> bool {
        match self {
            Self::Invalid(_) => false,
            Self::Done(report) => report.accesses.iter().all(|row| row.stale.count() == 0),
        }
    }
}

/// The accesses of a kernel.
#[derive(Clone, Debug, Serialize)]
pub struct LinesReport {
    /// The device.
    pub device: DeviceLine,
    /// The threads.
    #[serde(flatten)]
    pub dispatch: Dispatch,
    /// The surfaces, in the order of the binding table.
    pub surfaces: Vec<SurfaceLine>,
    /// The accesses by instruction, surface, and kind.
    pub accesses: Vec<AccessRow>,
}

impl LinesReport {
    /// Returns the number of lines that were stale at an access of this kind.
    pub fn stale(&self, access: Access) -> usize {
        let rows = self.accesses.iter().filter(|row| row.access == access);
        let lines = rows.flat_map(|row| row.stale.iter().map(|line| (row.surface, line)));
        lines.collect::<BTreeSet<_>>().len()
    }
}

/// The threads of a kernel.
#[derive(Clone, Debug, Serialize)]
pub struct Dispatch {
    /// The kernel's file.
    pub kernel: String,
    /// Number of groups, of one thread each.
    pub groups: u32,
    /// Channels of a thread.
    pub channels: u32,
    /// The dwords in r1.
    pub constants: Vec<u32>,
}

impl From<&args::Lines> for Dispatch {
    fn from(args: &args::Lines) -> Self {
        Self {
            kernel: args.kernel.display().to_string(),
            groups: args.groups,
            channels: args.channels,
            constants: args.constants.clone(),
        }
    }
}

/// A surface.
#[derive(Clone, Debug, Serialize)]
pub struct SurfaceLine {
    /// Size in bytes.
    pub size: u64,
    /// The MOCS entry; null if the page table decides.
    pub mocs: Option<u8>,
    /// The entry's class.
    pub class: MocsClass,
    /// The caching mode.
    pub caching: CachingMode,
    /// The level of its object.
    pub level: CacheLevel,
    /// The lines that the CPU stored to before.
    pub dirty: LineSet,
}

impl SurfaceLine {
    /// Describes a surface.
    pub fn new(surface: &Surface, asked: &args::Surface) -> Self {
        let mut dirty = LineSet::default();
        dirty.add(asked.dirty);
        Self {
            size: surface.size,
            mocs: asked.mocs,
            class: surface.class,
            caching: surface.bo.caching(),
            level: surface.bo.level(),
            dirty,
        }
    }
}

/// The accesses of one kind to a surface by an instruction, in all threads.
#[derive(Clone, Debug, Serialize)]
pub struct AccessRow {
    /// The instruction's first byte in the kernel.
    pub at: usize,
    /// The instruction's text.
    pub text: String,
    /// The entry of the binding table.
    pub surface: u8,
    /// The kind.
    pub access: Access,
    /// Accessed bytes; one that is accessed twice counts twice.
    pub bytes: u64,
    /// Bytes behind the end of the surface, counted in the same way: they read as zeroes, and writes to them are dropped.
    pub outside: u64,
    /// The lines.
    pub lines: LineSet,
    /// The lines among them of which the CPU's cache had newer bytes, and the GPU accessed memory.
    pub stale: LineSet,
    /// What must be flushed after the CPU's cached stores, before this access.
    #[serde(flatten)]
    pub needs: Decision,
}

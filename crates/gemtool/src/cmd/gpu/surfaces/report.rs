//! The report about surfaces, and about a shader's accesses to them.

use std::collections::BTreeSet;

use gem_coherency::platform::Caps;
use gem_coherency::policy::pending::cached_path;
use gem_coherency::policy::{Decision, Path, needs_flush};
use gem_coherency::vocabulary::{Access, CacheLevel, CachingMode, MocsClass};
use gemtool::dispatch::{Surface, Touched, Watched};
use gemtool::line_set::LineSet;
use serde::Serialize;

use super::Asked;
use crate::cmd::gpu::eu::Line;

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
    pub fn new(surface: &Surface, asked: &Asked<'_>) -> Self {
        let mut dirty = LineSet::default();
        dirty.add(asked.settings.dirty);
        Self {
            size: surface.size,
            mocs: surface.entry,
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
    /// The instruction's first byte in the shader.
    pub at: usize,
    /// The instruction's text.
    pub text: String,
    /// The entry of the binding table.
    pub surface: u8,
    /// The kind.
    pub access: Access,
    /// Accessed bytes; one that is accessed twice counts twice.
    pub bytes: u64,
    /// Bytes after the end of the surface, counted in the same way: they read as zeroes, and writes to them are dropped.
    pub outside: u64,
    /// The lines.
    pub lines: LineSet,
    /// The lines among them of which the CPU's cache had newer bytes, and the GPU accessed memory.
    pub stale: LineSet,
    /// The flush that this access needs after the CPU's cached stores.
    #[serde(flatten)]
    pub needs: Decision,
}

/// Returns the accesses so far, by instruction.
pub fn rows(
    watched: &Watched<'_>,
    caps: Caps,
    surfaces: &[Surface],
    instructions: &[Line],
) -> Vec<AccessRow> {
    let row = |touched: &Touched| {
        let surface = surfaces.get(usize::from(touched.surface))?;
        let line = instructions.iter().find(|line| line.at == touched.at as usize)?;
        let path = Path::Gpu(surface.class);
        Some(AccessRow {
            at: line.at,
            text: line.text.clone(),
            surface: touched.surface,
            access: touched.access,
            bytes: touched.bytes,
            outside: touched.outside,
            lines: touched.lines.clone(),
            stale: touched.stale.clone(),
            needs: needs_flush(caps, surface.bo.level(), cached_path(caps), path, touched.access),
        })
    };
    watched.accesses().filter_map(row).collect()
}

/// Returns the number of lines that the accesses of a kind have in `of`, each line once.
pub fn count(rows: &[AccessRow], access: Access, of: impl Fn(&AccessRow) -> &LineSet) -> usize {
    let rows = rows.iter().filter(|row| row.access == access);
    let lines = rows.flat_map(|row| of(row).iter().map(|line| (row.surface, line)));
    lines.collect::<BTreeSet<_>>().len()
}

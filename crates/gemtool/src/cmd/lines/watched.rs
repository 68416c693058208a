//! Surfaces on a software device, whose log tells after each access which lines were stale.

use std::collections::BTreeMap;

use gem_coherency::bo::Bo;
use gem_coherency::error::Result as Done;
use gem_coherency::platform::Caps;
use gem_coherency::policy::pending::cached_path;
use gem_coherency::policy::{Path, needs_flush};
use gem_coherency::units::ByteRange;
use gem_coherency::vocabulary::{Access, MocsClass};
use gem_coherency_sim::Soft;
use intel_eu::execute::{self, Bus};

use super::report::AccessRow;
use crate::cmd::eu::Line;
use crate::cmd::line_set::LineSet;

/// A surface.
#[derive(Debug)]
pub struct Surface {
    /// Its memory, of at least its size.
    pub bo: Bo,
    /// Size in bytes.
    pub size: u64,
    /// The class of its MOCS entry.
    pub class: MocsClass,
}

/// The accesses to a surface by an instruction.
#[derive(Clone, Debug, Default)]
struct Touched {
    bytes: u64,
    outside: u64,
    lines: LineSet,
    stale: LineSet,
}

/// The surfaces of a kernel, and the accesses to them so far.
#[derive(Debug)]
pub struct Watched<'a> {
    soft: &'a Soft,
    surfaces: &'a [Surface],
    /// By instruction, surface, and kind of access.
    touched: BTreeMap<(u32, u8, Access), Touched>,
    /// The first access that could not be made.
    failed: Option<String>,
}

impl<'a> Watched<'a> {
    /// Watches the surfaces from now on.
    pub fn new(soft: &'a Soft, surfaces: &'a [Surface]) -> Self {
        soft.watch(true);
        Self { soft, surfaces, touched: BTreeMap::new(), failed: None }
    }

    /// Returns the first access that could not be made as an error.
    pub fn check(&mut self) -> Result<(), String> {
        self.failed.take().map_or(Ok(()), Err)
    }

    /// Returns the accesses by instruction.
    pub fn rows(self, caps: Caps, instructions: &[Line]) -> Vec<AccessRow> {
        let rows = self.touched.into_iter().filter_map(|((at, number, access), touched)| {
            let surface = self.surfaces.get(usize::from(number))?;
            let Touched { bytes, outside, lines, stale } = touched;
            let line = instructions.iter().find(|line| line.at == at as usize)?;
            Some(AccessRow {
                at: line.at,
                text: line.text.clone(),
                surface: number,
                access,
                bytes,
                outside,
                lines,
                stale,
                needs: needs_flush(
                    caps,
                    surface.bo.level(),
                    cached_path(caps),
                    Path::Gpu(surface.class),
                    access,
                ),
            })
        });
        rows.collect()
    }

    /// Makes an access of `len` bytes by `make`, which gets the offset and the number of those in the surface.
    fn access(
        &mut self,
        at: execute::Access,
        access: Access,
        len: usize,
        make: impl FnOnce(&Soft, &Surface, u64, usize) -> Done<()>,
    ) {
        let Some(surface) = self.surfaces.get(usize::from(at.surface)) else {
            let count = self.surfaces.len();
            let why =
                format!("it accesses surface {}, and there are {count}: give more by --surface", at.surface);
            self.failed.get_or_insert(format!("instruction at {:#x}: {why}", at.at));
            return;
        };
        let touched = self.touched.entry((at.at, at.surface, access)).or_default();
        let offset = u64::from(at.offset);
        let inside = surface.size.saturating_sub(offset).min(len as u64);
        touched.outside += len as u64 - inside;
        touched.bytes += inside;
        if inside == 0 {
            return;
        }
        let made = make(self.soft, surface, offset, inside as usize)
            .and_then(|()| ByteRange::within(offset, inside, surface.size));
        match made {
            Ok(range) => touched.lines.add(range.lines()),
            Err(error) => {
                self.failed.get_or_insert(format!("instruction at {:#x}: {error}", at.at));
            }
        }
        for found in self.soft.incoherent() {
            found.lines.into_iter().for_each(|lines| touched.stale.add(lines));
        }
    }
}

impl Bus for Watched<'_> {
    fn read(&mut self, at: execute::Access, bytes: &mut [u8]) {
        bytes.fill(0);
        self.access(at, Access::Read, bytes.len(), |soft, surface, offset, len| {
            let bytes = bytes.get_mut(..len).unwrap_or_default();
            soft.gpu_read(surface.bo.handle(), surface.class, offset, bytes)
        });
    }

    fn write(&mut self, at: execute::Access, bytes: &[u8]) {
        self.access(at, Access::Write, bytes.len(), |soft, surface, offset, len| {
            let bytes = bytes.get(..len).unwrap_or_default();
            soft.gpu_write(surface.bo.handle(), surface.class, offset, bytes)
        });
    }
}

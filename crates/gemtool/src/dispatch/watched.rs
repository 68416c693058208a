//! Surfaces on a software device, whose log tells after each access which lines were stale.

use std::collections::BTreeMap;

use gem_coherency::error::Result as Done;
use gem_coherency::object::Bo;
use gem_coherency::units::ByteRange;
use gem_coherency::vocabulary::{Access, MocsClass};
use gem_coherency_sim::{ShaderClock, SimDevice};
use intel_eu::execute::{self, Bus};

use super::Halt;
use crate::line_set::LineSet;

/// A surface.
#[derive(Debug)]
pub struct Surface {
    /// Its memory, of at least its size.
    pub bo: Bo,
    /// Size in bytes.
    pub size: u64,
    /// The MOCS entry; on graphics 8, the control bits; `None` if the page table decides.
    pub entry: Option<u8>,
    /// The entry's class.
    pub class: MocsClass,
}

/// The accesses of one kind to a surface by an instruction, in all threads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Touched {
    /// The instruction's first byte in the shader.
    pub at: u32,
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
}

/// The surfaces of a shader, and the accesses to them so far. The device is watched while this exists.
#[derive(Debug)]
pub struct Watched<'a> {
    soft: &'a SimDevice,
    surfaces: &'a [Surface],
    /// By instruction, surface, and kind of access.
    touched: BTreeMap<(u32, u8, Access), Touched>,
    /// The first access that could not be made.
    failed: Option<Halt>,
}

impl<'a> Watched<'a> {
    /// Watches the surfaces from now on.
    pub fn new(soft: &'a SimDevice, surfaces: &'a [Surface]) -> Self {
        soft.watch(true);
        // Accesses before the threads are not theirs.
        drop(soft.incoherent());
        Self { soft, surfaces, touched: BTreeMap::new(), failed: None }
    }

    /// Starts the clock of a shader of so many threads.
    pub(super) fn clock(&self, threads: u32) -> ShaderClock {
        self.soft.shader_clock(threads.into())
    }

    /// Returns the first access that could not be made as an error.
    pub(super) fn check(&mut self) -> Result<(), Halt> {
        self.failed.take().map_or(Ok(()), Err)
    }

    /// Returns the accesses, by instruction, surface and kind.
    pub fn accesses(&self) -> impl Iterator<Item = &Touched> {
        self.touched.values()
    }

    /// Makes an access of `len` bytes by `make`, which gets the offset and the number of those in the surface.
    fn access(
        &mut self,
        at: execute::Access,
        access: Access,
        len: usize,
        make: impl FnOnce(&SimDevice, &Surface, u64, usize) -> Done<()>,
    ) {
        let Some(surface) = self.surfaces.get(usize::from(at.surface)) else {
            let count = self.surfaces.len();
            self.failed.get_or_insert(Halt::NoSurface { at: at.at, surface: at.surface, count });
            return;
        };
        let touched = self.touched.entry((at.at, at.surface, access)).or_insert_with(|| Touched {
            at: at.at,
            surface: at.surface,
            access,
            bytes: 0,
            outside: 0,
            lines: LineSet::default(),
            stale: LineSet::default(),
        });
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
                self.failed.get_or_insert(Halt::Access { at: at.at, error });
            }
        }
        for found in self.soft.incoherent() {
            found.lines.into_iter().for_each(|lines| touched.stale.add(lines));
        }
    }
}

impl Drop for Watched<'_> {
    fn drop(&mut self) {
        self.soft.watch(false);
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

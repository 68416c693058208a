//! A device on which steps are made: the driver's or the software one, by the same requests and mappings.

use std::sync::Arc;

use gem_coherency::backend::{Addresses, Drm, ExecObject, Mapping, Relocation, Run};
use gem_coherency::cacheops::{CacheLines, LineOp};
use gem_coherency::error::{Error, Result};
use gem_coherency::platform::Machine;
use gem_coherency::units::{LINE_BYTES, LineRange, PAGE_BYTES};
use gem_coherency::vocabulary::{Access, Domains, Handle, MmapMode};
use gem_coherency_exercise::commands::{self, Builder, Bytes, Extent, Memory, Surface, shaders};

use super::random::past_llc;
use super::step::{BYTES, Domain, OBJECTS, Spot, Step};

/// The address of the first object in the context's address space, and the distance between two.
const FIRST: u64 = 1 << 24;
const DISTANCE: u64 = 64 << 10;

/// An object, and its mappings.
#[derive(Debug)]
struct Object {
    handle: Handle,
    wb: Mapping,
    /// Made when they are first used.
    wc: Option<Mapping>,
    gtt: Option<Mapping>,
}

/// The number of an object for the GPU: those of the steps come first.
type Slot = usize;
const SEEN: Slot = OBJECTS;
const BATCH: Slot = OBJECTS + 1;

/// A device with the objects that the steps access, one that shows what the GPU read, and one for batches.
#[derive(Debug)]
pub struct Device {
    drm: Arc<dyn Drm>,
    machine: Machine,
    objects: Vec<Object>,
}

impl Device {
    /// Creates the objects.
    pub fn new(drm: Arc<dyn Drm>, machine: Machine) -> Result<Self> {
        let objects = (0..=BATCH).map(|_| Object::new(&*drm)).collect::<Result<_>>()?;
        Ok(Self { drm, machine, objects })
    }

    /// Makes a step; returns the dword that it read.
    pub fn make(&mut self, step: Step, value: u32) -> Result<Option<u32>> {
        match step {
            Step::Load(spot, mode) => {
                let mut bytes = [0; 4];
                self.mapping(spot.object, mode)?.copy_out(spot.offset(), &mut bytes)?;
                return Ok(Some(u32::from_le_bytes(bytes)));
            }
            Step::Store(spot, mode) => {
                self.mapping(spot.object, mode)?.copy_in(spot.offset(), &value.to_le_bytes())?;
            }
            Step::Line(spot, op) => {
                let line = spot.line_offset() / LINE_BYTES;
                self.objects[spot.object].wb.perform(op, LineRange::new(line, line + 1))?;
            }
            Step::Fence => self.fence()?,
            Step::SetDomain(object, domain, access) => {
                let domain = match domain {
                    Domain::Cpu => Domains::CPU,
                    Domain::Gtt => Domains::GTT,
                    Domain::Wc => Domains::WC,
                };
                let write = if access == Access::Write { domain } else { Domains::empty() };
                self.drm.set_domain(self.objects[object].handle, domain, write)?;
            }
            Step::SetCaching(object, mode) => self.drm.set_caching(self.objects[object].handle, mode)?,
            Step::Pread(spot) => {
                let mut bytes = [0; 4];
                self.drm.extras()?.pread(self.objects[spot.object].handle, spot.offset(), &mut bytes)?;
                return Ok(Some(u32::from_le_bytes(bytes)));
            }
            Step::Pwrite(spot) => {
                let bytes = value.to_le_bytes();
                self.drm.extras()?.pwrite(self.objects[spot.object].handle, spot.offset(), &bytes)?;
            }
            Step::PwriteLine(spot) => {
                let bytes = value.to_le_bytes().repeat(LINE_BYTES as usize / 4);
                self.drm.extras()?.pwrite(self.objects[spot.object].handle, spot.line_offset(), &bytes)?;
            }
            Step::GpuRead(spot) => {
                self.copy((SEEN, spot.offset()), spot)?;
                return self.seen(spot.offset()).map(Some);
            }
            Step::GpuReadPastLlc(spot) => return self.read_past_llc(spot).map(Some),
            Step::GpuStore(spot) => self.store(spot, value)?,
            Step::GpuCopy(to, from) => self.copy((to.object, to.offset()), from)?,
            Step::Renew(object) => self.renew(object, value)?,
        }
        Ok(None)
    }

    /// Replaces an object by a new one, whose spots hold `value` in memory and in no cache.
    fn renew(&mut self, object: usize, value: u32) -> Result<()> {
        let new = Object::new(&*self.drm)?;
        self.drm.close(std::mem::replace(&mut self.objects[object], new).handle)?;
        let mapping = &self.objects[object].wb;
        for spot in Spot::of_object(object) {
            mapping.copy_in(spot.offset(), &value.to_le_bytes())?;
        }
        self.flush(object)
    }

    fn mapping(&mut self, object: usize, mode: MmapMode) -> Result<&Mapping> {
        let Object { handle, wb, wc, gtt } = &mut self.objects[object];
        let slot = match mode {
            MmapMode::Wc => wc,
            MmapMode::Gtt => gtt,
            MmapMode::Wb | MmapMode::Uc | MmapMode::Fixed => return Ok(wb),
        };
        match slot {
            Some(mapping) => Ok(mapping),
            None => Ok(slot.insert(self.drm.map(*handle, mode, BYTES)?)),
        }
    }

    /// Flushes all of an object, and waits for it.
    fn flush(&self, object: Slot) -> Result<()> {
        let mapping = &self.objects[object].wb;
        mapping.perform(LineOp::Flush, LineRange::new(0, BYTES / LINE_BYTES))?;
        mapping.drain()
    }

    fn fence(&self) -> Result<()> {
        self.objects.iter().try_for_each(|object| object.wb.drain())
    }

    /// The dword that the GPU copied to this offset of the object for it.
    fn seen(&self, offset: u64) -> Result<u32> {
        self.flush(SEEN)?;
        let mut bytes = [0; 4];
        self.objects[SEEN].wb.copy_out(offset, &mut bytes)?;
        Ok(u32::from_le_bytes(bytes))
    }

    fn store(&self, spot: Spot, value: u32) -> Result<()> {
        let mut builder = self.builder()?;
        if builder.store(0, spot.offset(), value).is_err() {
            // Batches of some generations cannot store dwords.
            let to = surface(0, spot.offset());
            builder.fill(to, DWORD, value).map_err(encoding)?;
        }
        self.submit(builder, &[(spot.object, Access::Write)])
    }

    fn copy(&self, (to, offset): (Slot, u64), from: Spot) -> Result<()> {
        let mut builder = self.builder()?;
        builder.copy(surface(0, offset), surface(1, from.offset()), DWORD).map_err(encoding)?;
        self.submit(builder, &[(to, Access::Write), (from.object, Access::Read)])
    }

    /// Copies two lines by a shader.
    fn read_past_llc(&self, spot: Spot) -> Result<u32> {
        let offset = spot.line_offset() / shaders::COPY_BYTES * shaders::COPY_BYTES;
        let from = Bytes { buffer: 1, offset, len: shaders::COPY_BYTES, mocs: past_llc(&self.machine) };
        let to = Bytes { buffer: 0, mocs: None, ..from };
        let shader = shaders::copy(&self.machine).map_err(encoding)?;
        let walker = commands::Walker { shader: &shader, surfaces: &[from, to], constants: &[], groups: 1 };
        let batch = commands::walker(&self.machine, &walker, 2).map_err(encoding)?;
        self.run(batch, &[(SEEN, Access::Write), (spot.object, Access::Read)])?;
        self.seen(spot.offset())
    }

    fn builder(&self) -> Result<Builder> {
        Builder::new(&self.machine).map_err(encoding)
    }

    fn submit(&self, mut builder: Builder, uses: &[(Slot, Access)]) -> Result<()> {
        builder.flush();
        self.run(builder.finish(), uses)
    }

    /// Runs a batch whose buffers are the objects of `uses`, then its own, and waits for it.
    fn run(&self, mut batch: commands::Batch, uses: &[(Slot, Access)]) -> Result<()> {
        let place = |slot: Slot| FIRST + slot as u64 * DISTANCE;
        let addresses: Vec<u64> = uses.iter().map(|&(slot, _)| place(slot)).chain([place(BATCH)]).collect();
        let relocations: Vec<_> = (batch.patches().iter())
            .map(|patch| Relocation {
                at: 4 * patch.word as u64,
                object: patch.buffer,
                delta: patch.delta as u32,
            })
            .collect();
        let pinned = self.machine.has_full_ppgtt();
        if pinned {
            batch = batch.at(&addresses);
        }
        let objects: Vec<_> = (uses.iter())
            .map(|&(slot, access)| ExecObject { handle: self.objects[slot].handle, access })
            .collect();
        let bytes = batch.to_bytes();
        let own = &self.objects[BATCH];
        own.wb.copy_in(0, &bytes)?;
        self.flush(BATCH)?;
        self.drm.extras()?.run(&Run {
            objects: &objects,
            batch: own.handle,
            len_bytes: bytes.len() as u32,
            engine: batch.engine(),
            addresses: if pinned {
                Addresses::Pinned(&addresses)
            } else {
                Addresses::Relocated(&relocations)
            },
        })?;
        self.drm.wait(own.handle, -1)
    }
}

impl Object {
    /// Creates an object and flushes it.
    fn new(drm: &dyn Drm) -> Result<Self> {
        let created = drm.create(BYTES)?;
        let wb = drm.map(created.handle, MmapMode::Wb, BYTES)?;
        for page in (0..BYTES).step_by(PAGE_BYTES as usize) {
            wb.copy_in(page, &[0])?;
        }
        wb.perform(LineOp::Flush, LineRange::new(0, BYTES / LINE_BYTES))?;
        wb.drain()?;
        Ok(Self { handle: created.handle, wb, wc: None, gtt: None })
    }
}

/// One dword.
const DWORD: Extent = Extent { width: 4, height: 1 };

fn surface(buffer: u32, offset: u64) -> Surface {
    Surface { buffer, offset, pitch: 4096, mocs: None, memory: Memory::System }
}

/// A batch that cannot be encoded is an error of this program.
fn encoding(error: gem_coherency_exercise::Error) -> Error {
    panic!("{error}")
}

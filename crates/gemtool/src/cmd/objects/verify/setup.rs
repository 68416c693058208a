//! The environment of the measurements: the device, and buffers beside the measured object.

use std::cell::Cell;

use gem_coherency::backend::{Addresses, ExecObject, Relocation, Run};
use gem_coherency::device::{AllocRequest, Device, Submission};
use gem_coherency::object::Bo;
use gem_coherency::platform::Caps;
use gem_coherency::vocabulary::{Access, MmapMode, MocsClass};
use gem_coherency_exercise::Result;
use gem_coherency_exercise::commands::{Batch, Builder, Bytes, Field, Memory, Surface, Walker, walker};
use gemtool::script::Target;

use super::paths::Mocs;
use crate::args::Via;

/// First address of batches that the library does not know of: far above those that the library assigns,
/// which are the lowest, and within the 31 bits of every address space.
pub(super) const FIRST_ADDRESS: u64 = 1 << 30;
/// Distance between addresses: the size of the largest pages.
pub(super) const STEP: u64 = 2 << 20;
/// Number of addresses.
const PLACES: u64 = 256;

/// Buffers that the GPU reads or writes beside the object.
#[derive(Debug)]
pub struct Buffers {
    /// Source of copies into the object.
    pub staging: Bo,
    /// Destination of copies out of the object.
    pub scratch: Bo,
}

impl Buffers {
    fn new(device: &Device, size: u64) -> Result<Self> {
        let alloc = || device.alloc(AllocRequest::new(size));
        Ok(Self { staging: alloc()?, scratch: alloc()? })
    }
}

/// The device and the buffers.
#[derive(Debug)]
pub struct Setup {
    /// The device.
    pub target: Target,
    /// Size of the object in bytes.
    pub size: u64,
    /// Buffers of the library's batches.
    pub tracked: Buffers,
    /// Buffers of batches that the library does not know of; they have other addresses.
    pub untracked: Buffers,
    /// Copies can name a MOCS entry.
    copies_name_mocs: bool,
    places: Cell<u64>,
}

impl Setup {
    /// Allocates buffers for objects of `size` bytes.
    ///
    /// # Errors
    /// The errors of allocating a BO.
    pub fn new(target: Target, size: u64) -> Result<Self> {
        let device = target.device();
        let (tracked, untracked) = (Buffers::new(device, size)?, Buffers::new(device, size)?);
        let copies_name_mocs =
            Builder::new(device.machine()).is_ok_and(|builder| builder.dialect().names_mocs(Field::Copy));
        Ok(Self { tracked, untracked, size, copies_name_mocs, places: Cell::new(0), target })
    }

    /// Returns the setting of a path in a measurement with the setting `mocs`: the page table's if it can select none.
    pub fn mocs(&self, via: Via, mocs: Mocs) -> Mocs {
        match via {
            Via::GpuShader => mocs,
            Via::GpuBlit if self.copies_name_mocs => mocs,
            Via::GpuBlit
            | Via::GpuStore
            | Via::CpuWb
            | Via::CpuWc
            | Via::CpuGtt
            | Via::CpuFixed
            | Via::Transfer => Mocs::PAGE_TABLE,
        }
    }

    /// Returns a batch of stores, fills and copies that `write` writes.
    ///
    /// # Errors
    /// The errors of writing it.
    pub fn blits(&self, write: impl FnOnce(&mut Builder) -> Result<()>) -> Result<Batch> {
        let mut builder = Builder::new(self.device().machine())?;
        write(&mut builder)?;
        builder.flush();
        Ok(builder.finish())
    }

    /// Returns a batch of a shader, of which buffer 0 is the object and 1 the other one.
    ///
    /// # Errors
    /// The errors of encoding it.
    pub fn shader(&self, shader: &[u8], surfaces: [Bytes; 2], groups: u32) -> Result<Batch> {
        let what = Walker { shader, surfaces: &surfaces, constants: &[], groups };
        walker(self.device().machine(), &what, 2)
    }

    /// Returns the device.
    pub fn device(&self) -> &Device {
        self.target.device()
    }

    /// Returns an address that stays unused for a while.
    fn address(&self) -> u64 {
        let place = self.places.get();
        self.places.set((place + 1) % PLACES);
        FIRST_ADDRESS + place * STEP
    }

    /// Runs a batch over `object` (buffer 0) without the library's knowledge, and waits for the GPU. The
    /// library prepares only `other` (buffer 1) and the batch itself.
    ///
    /// # Errors
    /// The errors of preparing and running the batch.
    pub fn run(
        &self,
        object: &Bo,
        access: Access,
        other: Option<(&Bo, Access)>,
        mut written: Batch,
    ) -> Result<()> {
        let device = self.device();
        let machine = device.machine();
        let batch = device.alloc(AllocRequest::new(4 * written.words().len() as u64))?;
        if !machine.caps.contains(Caps::DISCRETE) {
            // A write-back mapping is also correct for a kernel that reads the batch through the cache.
            batch.map(MmapMode::Wb)?;
        }
        let mut objects = vec![ExecObject { handle: object.handle(), access }];
        objects.extend(other.map(|(bo, access)| ExecObject { handle: bo.handle(), access }));
        let places: Vec<u64> = (0..=objects.len()).map(|_| self.address()).collect();
        let pinned = machine.has_full_ppgtt();
        let requested = written.patches().iter().map(|patch| Relocation {
            at: 4 * patch.word as u64,
            object: patch.buffer,
            delta: patch.delta as u32,
        });
        let relocations: Vec<_> = requested.collect();
        if pinned {
            written = written.at(&places);
        }
        let bytes = written.to_bytes();
        batch.upload(0, &bytes, gem_coherency::object::Upload::Once)?;
        let page_table = |bo, access| Submission { bo, access, mocs: MocsClass::PageTable };
        let mut known = vec![page_table(&batch, Access::Read)];
        known.extend(other.map(|(bo, access)| page_table(bo, access)));
        let run = Run {
            objects: &objects,
            batch: batch.handle(),
            len_bytes: bytes.len() as u32,
            engine: written.engine(),
            addresses: match pinned {
                true => Addresses::Pinned(&places),
                false => Addresses::Relocated(&relocations),
            },
        };
        device.submit_with(&known, |_| device.drm().extras()?.run(&run))?;
        Ok(batch.wait(None)?)
    }
}

/// Returns a piece of buffer `buffer` in the builder's form.
pub fn surface(buffer: u32, offset: u64, mocs: Option<u8>) -> Surface {
    Surface { buffer, offset, pitch: 4096, mocs, memory: Memory::System }
}

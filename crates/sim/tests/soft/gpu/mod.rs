//! A device with three buffers at fixed addresses of the GPU: where batches are tried out.

mod batches;
mod coverage;
mod draws;
mod execute;
mod hangs;
mod pipelines;
mod real_gpu;
mod registers;
mod walkers;

use gem_coherency::Result;
use gem_coherency::backend::{Addresses, Created, Drm, ExecObject, Extras, Mapping, Run};
use gem_coherency::cacheops::{CacheLines as _, LineOp};
use gem_coherency::platform::EngineClass;
use gem_coherency::units::LineRange;
use gem_coherency::vocabulary::{Access, Handle, MmapMode};
use gem_coherency_sim::SimDevice;

use crate::{errno, sim};

/// The addresses of the buffers.
pub const TARGET: u32 = 0x10_0000;
pub const SOURCE: u32 = 0x20_0000;
pub const BATCH: u32 = 0x40_0000;
/// Bytes of each.
pub const SIZE: u64 = 0x1_0000;

/// MI_BATCH_BUFFER_END.
pub const END: u32 = 0x0500_0000;

/// A buffer object and a mapping of it.
pub struct Buffer {
    pub bo: Created,
    map: Mapping,
}

impl Buffer {
    #[track_caller]
    pub fn new(device: &SimDevice) -> Self {
        let bo = device.create(SIZE).unwrap();
        let is_wb = errno(device.map(bo.handle, MmapMode::Wb, SIZE)).is_none();
        let mode = if is_wb { MmapMode::Wb } else { MmapMode::Fixed };
        let map = device.map(bo.handle, mode, SIZE).unwrap();
        let buffer = Self { bo, map };
        buffer.flush();
        buffer
    }

    pub fn handle(&self) -> Handle {
        self.bo.handle
    }

    /// Writes through the CPU's cache.
    #[track_caller]
    pub fn store(&self, offset: u64, words: &[u32]) {
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        self.map.copy_in(offset, &bytes).unwrap();
    }

    /// Writes all lines back, and drops them.
    #[track_caller]
    pub fn flush(&self) {
        self.map.perform(LineOp::Flush, LineRange::new(0, SIZE / 64)).unwrap();
    }

    /// Writes to memory.
    #[track_caller]
    pub fn put(&self, offset: u64, words: &[u32]) {
        self.store(offset, words);
        self.flush();
    }

    /// Returns the word in memory, or in a cache that the GPU is coherent with.
    #[track_caller]
    pub fn word(&self, offset: u64) -> u32 {
        self.flush();
        let mut bytes = [0; 4];
        self.map.copy_out(offset, &mut bytes).unwrap();
        u32::from_le_bytes(bytes)
    }
}

/// The device.
pub struct Gpu {
    pub device: SimDevice,
    pub target: Buffer,
    pub source: Buffer,
    pub batch: Buffer,
}

impl Gpu {
    #[track_caller]
    pub fn new(name: &str) -> Self {
        let device = sim(name);
        let (target, source, batch) = (Buffer::new(&device), Buffer::new(&device), Buffer::new(&device));
        Self { device, target, source, batch }
    }

    /// Submits what is in the batch's buffer.
    pub fn submit(&self, engine: EngineClass, dwords: usize) -> Result<()> {
        let objects = [
            ExecObject { handle: self.target.handle(), access: Access::Write },
            ExecObject { handle: self.source.handle(), access: Access::Read },
        ];
        self.device.run(&Run {
            objects: &objects,
            batch: self.batch.handle(),
            len_bytes: dwords.next_multiple_of(2) as u32 * 4,
            engine,
            addresses: Addresses::Pinned(&[TARGET.into(), SOURCE.into(), BATCH.into()]),
        })
    }

    /// Runs a batch of these commands on the copy engine, and waits for it.
    pub fn run(&self, words: &[u32]) -> Result<()> {
        self.run_on(EngineClass::Copy, words)
    }

    /// Submits a batch for the copy engine.
    #[track_caller]
    pub fn run_later(&self, words: &[u32]) {
        self.batch.put(0, words);
        self.submit(EngineClass::Copy, words.len()).unwrap();
    }

    /// The same on any engine.
    pub fn run_on(&self, engine: EngineClass, words: &[u32]) -> Result<()> {
        self.batch.put(0, words);
        self.submit(engine, words.len())?;
        self.device.wait(self.batch.handle(), -1)
    }
}

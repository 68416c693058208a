//! A device that counts the lines that are flushed and the kernel requests that are made.

use std::os::fd::{BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use gem_coherency::backend::mapping::{Counted, SoftMemory};
use gem_coherency::backend::{
    Advice, Busy, Created, DriverVersion, Drm, ExecObject, Extras as _, Mapping, MemoryRegion, OpenCounts,
    Param, Retained,
};
use gem_coherency::cacheops::{CacheLines as _, LineOp};
use gem_coherency::units::{ByteRange, LINE_BYTES, LineRange};
use gem_coherency::vocabulary::{Domains, KernelVersion};
use gem_coherency::{CachingMode, Handle, MmapMode, Result};
use gem_coherency_sim::SimDevice;

/// The cost of a frame.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cost {
    /// Lines that userspace flushes, invalidates or writes back.
    pub own_lines: u64,
    /// Lines that the kernel flushes, during requests and batches.
    pub kernel_lines: u64,
    /// Requests about coherency: SET_DOMAIN, SW_FINISH, SET_CACHING, GET_CACHING, WAIT, BUSY, PREAD, PWRITE.
    pub requests: u64,
}

/// A software device that counts.
#[derive(Debug)]
pub struct Meter {
    soft: Arc<SimDevice>,
    lines: Arc<AtomicU64>,
    requests: AtomicU64,
    mappings: Arc<AtomicU64>,
}

impl Meter {
    /// Counts the operations on `soft`.
    pub fn new(soft: Arc<SimDevice>) -> Self {
        Self { soft, lines: Arc::default(), requests: AtomicU64::new(0), mappings: Arc::default() }
    }

    /// Returns the cost since the last call.
    pub fn take(&self) -> Cost {
        let flushes = self.soft.take_kernel_flushes();
        Cost {
            own_lines: self.lines.swap(0, Relaxed),
            kernel_lines: flushes.iter().map(|flush| flush.bytes.div_ceil(LINE_BYTES)).sum(),
            requests: self.requests.swap(0, Relaxed),
        }
    }

    /// Makes a request that counts.
    fn counted(&self) -> &SimDevice {
        self.requests.fetch_add(1, Relaxed);
        &self.soft
    }

    /// GEM_SW_FINISH.
    pub fn sw_finish(&self, handle: Handle) -> Result<()> {
        self.counted().sw_finish(handle)
    }

    /// GEM_PWRITE.
    pub fn pwrite(&self, handle: Handle, offset: u64, data: &[u8]) -> Result<()> {
        self.counted().pwrite(handle, offset, data)
    }

    /// Counts the lines of accesses through `mapping`.
    fn metered(&self, handle: Handle, mapping: Mapping) -> Mapping {
        let (mode, len) = (mapping.mode(), mapping.len());
        let memory = Arc::new(Metered { mapping, lines: Arc::clone(&self.lines) });
        Mapping::from_soft(handle, memory, mode, len, Counted::new(&self.mappings))
    }
}

/// A mapping whose lines are counted when they are flushed.
#[derive(Debug)]
struct Metered {
    mapping: Mapping,
    lines: Arc<AtomicU64>,
}

impl SoftMemory for Metered {
    fn as_ptr(&self) -> *mut u8 {
        self.mapping.as_ptr()
    }

    fn store(&self, offset: u64, data: &[u8]) -> Result<()> {
        self.mapping.copy_in(offset, data)
    }

    fn store_non_temporal(&self, offset: u64, data: &[u8]) -> Result<()> {
        // Lines that are stored to in part are stored through the cache and written back.
        let range = ByteRange::within(offset, data.len() as u64, self.mapping.len())?;
        if self.mapping.mode() == MmapMode::Wb {
            self.lines.fetch_add(range.partial_lines().count() as u64, Relaxed);
        }
        self.mapping.copy_non_temporal(offset, data)
    }

    fn load(&self, offset: u64, data: &mut [u8]) -> Result<()> {
        self.mapping.copy_out(offset, data)
    }

    fn lines(&self, lines: LineRange, op: LineOp) -> Result<()> {
        self.lines.fetch_add(lines.count(), Relaxed);
        self.mapping.perform(op, lines)
    }

    fn drain(&self) -> Result<()> {
        self.mapping.drain()
    }
}

impl Drm for Meter {
    fn map(&self, handle: Handle, mode: MmapMode, size_bytes: u64) -> Result<Mapping> {
        Ok(self.metered(handle, self.soft.map(handle, mode, size_bytes)?))
    }

    fn set_caching(&self, handle: Handle, mode: CachingMode) -> Result<()> {
        self.counted().set_caching(handle, mode)
    }

    fn caching(&self, handle: Handle) -> Result<CachingMode> {
        self.counted().caching(handle)
    }

    fn set_domain(&self, handle: Handle, read: Domains, write: Domains) -> Result<()> {
        self.counted().set_domain(handle, read, write)
    }

    fn busy(&self, handle: Handle) -> Result<Busy> {
        self.counted().busy(handle)
    }

    fn wait(&self, handle: Handle, timeout_ns: i64) -> Result<()> {
        self.counted().wait(handle, timeout_ns)
    }

    fn name(&self) -> &str {
        self.soft.name()
    }

    fn file(&self) -> Option<BorrowedFd<'_>> {
        None
    }

    fn kernel(&self) -> KernelVersion {
        self.soft.kernel()
    }

    fn version(&self) -> Result<DriverVersion> {
        self.soft.version()
    }

    fn param(&self, param: Param) -> Result<i32> {
        self.soft.param(param)
    }

    fn memory_regions(&self) -> Result<Vec<MemoryRegion>> {
        self.soft.memory_regions()
    }

    fn create(&self, size_bytes: u64) -> Result<Created> {
        self.soft.create(size_bytes)
    }

    fn create_with_pat(&self, size_bytes: u64, pat_index: u32) -> Result<Created> {
        self.soft.create_with_pat(size_bytes, pat_index)
    }

    fn close(&self, handle: Handle) -> Result<()> {
        self.soft.close(handle)
    }

    fn madvise(&self, handle: Handle, advice: Advice) -> Result<Retained> {
        self.soft.madvise(handle, advice)
    }

    fn export(&self, handle: Handle) -> Result<OwnedFd> {
        self.soft.export(handle)
    }

    fn import(&self, dma_buf: BorrowedFd<'_>) -> Result<Created> {
        self.soft.import(dma_buf)
    }

    fn execute(&self, objects: &[ExecObject]) -> Result<()> {
        self.soft.execute(objects)
    }

    fn open_counts(&self) -> OpenCounts {
        self.soft.open_counts()
    }
}

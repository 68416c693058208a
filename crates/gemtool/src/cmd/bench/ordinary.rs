//! A device whose BOs are ordinary memory of this process, so that flush instructions act on real caches.
//!
//! Requests go to the software i915; only mappings differ: they are ordinary pages, treated as the kernel's.
//! So, except for the requests, all that the library does to a BO here is what it does on a real device.

use std::os::fd::{BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use gem_coherency::Errno;
use gem_coherency::bo::Bo;
use gem_coherency::device::{AllocRequest, Device};
use gem_coherency::drm::display::Display;
use gem_coherency::drm::mapping::Counted;
use gem_coherency::drm::{
    Advice, Busy, Created, DriverVersion, Drm, ExecObject, Mapping, MemoryRegion, OpenCounts, Param,
    Placement, Retained, Run,
};
use gem_coherency::vocabulary::{Access, CachingMode, Domains, Handle, KernelVersion, MmapMode};
use gem_coherency::{Error, Result};
use gem_coherency_sim::Soft;
use memmap2::MmapOptions;

use crate::failure::Failure;

/// The platform: its GPU does not snoop the CPU's cache, so the CPU's stores must be flushed.
const PLATFORM: &str = "sim:glk";

/// A software device with ordinary mappings.
#[derive(Debug)]
struct Ordinary {
    soft: Soft,
    open: Arc<AtomicU64>,
}

/// Opens such a device.
///
/// # Errors
/// Those of opening a device.
pub fn device() -> Result<Device, Failure> {
    let soft = Soft::open(PLATFORM)?;
    Ok(Device::from_drm(Arc::new(Ordinary { soft, open: Arc::default() }))?)
}

/// Allocates a BO of `size` bytes that is mapped write-back and requires flushes.
///
/// # Errors
/// Those of allocating and mapping a BO.
pub fn bo(device: &Device, size: u64) -> Result<Bo, Failure> {
    let bo = device.alloc(AllocRequest::new(size).caching(CachingMode::None))?;
    bo.map(MmapMode::Wb)?;
    // Every line of a new BO is dirty: the kernel's zeroes.
    bo.flush()?;
    Ok(bo)
}

impl Drm for Ordinary {
    fn map(&self, handle: Handle, mode: MmapMode, size_bytes: u64) -> Result<Mapping> {
        let refused = |errno| Error::Ioctl { request: "mmap", errno };
        let len = usize::try_from(size_bytes).map_err(|_| refused(Errno::ENOMEM))?;
        let pages = MmapOptions::new().len(len).map_anon();
        let pages = pages.map_err(|error| refused(error.raw_os_error().map_or(Errno::ENOMEM, Errno::new)))?;
        Ok(Mapping::from_kernel(handle, pages.into(), mode, Counted::new(&self.open)))
    }
    fn param(&self, param: Param) -> Result<i32> {
        self.soft.param(param)
    }
    fn name(&self) -> &str {
        self.soft.name()
    }
    fn kernel(&self) -> KernelVersion {
        self.soft.kernel()
    }
    fn version(&self) -> Result<DriverVersion> {
        self.soft.version()
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
    fn create_in(&self, size_bytes: u64, placements: &[Placement]) -> Result<Created> {
        self.soft.create_in(size_bytes, placements)
    }
    fn close(&self, handle: Handle) -> Result<()> {
        self.soft.close(handle)
    }
    fn set_caching(&self, handle: Handle, mode: CachingMode) -> Result<()> {
        self.soft.set_caching(handle, mode)
    }
    fn caching(&self, handle: Handle) -> Result<CachingMode> {
        self.soft.caching(handle)
    }
    fn map_legacy(&self, handle: Handle, mode: MmapMode, size_bytes: u64) -> Result<Mapping> {
        self.soft.map_legacy(handle, mode, size_bytes)
    }
    fn set_domain(&self, handle: Handle, read: Domains, write: Domains) -> Result<()> {
        self.soft.set_domain(handle, read, write)
    }
    fn sw_finish(&self, handle: Handle) -> Result<()> {
        self.soft.sw_finish(handle)
    }
    fn pread(&self, handle: Handle, offset: u64, data: &mut [u8]) -> Result<()> {
        self.soft.pread(handle, offset, data)
    }
    fn pwrite(&self, handle: Handle, offset: u64, data: &[u8]) -> Result<()> {
        self.soft.pwrite(handle, offset, data)
    }
    fn busy(&self, handle: Handle) -> Result<Busy> {
        self.soft.busy(handle)
    }
    fn wait(&self, handle: Handle, timeout_ns: i64) -> Result<()> {
        self.soft.wait(handle, timeout_ns)
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
    fn begin_dma_buf_access(&self, dma_buf: BorrowedFd<'_>, access: Access) -> Result<()> {
        self.soft.begin_dma_buf_access(dma_buf, access)
    }
    fn end_dma_buf_access(&self, dma_buf: BorrowedFd<'_>, access: Access) -> Result<()> {
        self.soft.end_dma_buf_access(dma_buf, access)
    }
    fn execute(&self, objects: &[ExecObject]) -> Result<()> {
        self.soft.execute(objects)
    }
    fn run(&self, run: &Run<'_>) -> Result<()> {
        self.soft.run(run)
    }

    fn hangs(&self) -> Result<u32> {
        self.soft.hangs()
    }

    fn display(&self) -> &dyn Display {
        self.soft.display()
    }

    fn open_counts(&self) -> OpenCounts {
        self.soft.open_counts()
    }
}

#[cfg(test)]
mod tests {
    use gem_coherency::device::Submission;
    use gem_coherency::policy::Verdict;
    use gem_coherency::vocabulary::MocsClass;

    use super::*;

    #[test]
    fn only_written_lines_are_flushed() {
        let device = device().unwrap();
        let bo = bo(&device, 8192).unwrap();
        bo.flush().unwrap();
        let mut write = bo.write(0, 8192).unwrap();
        write.write_at(64, &[1]).unwrap();
        write.write_at(5000, &[1; 100]).unwrap();
        write.finish();
        let submission = Submission { bo: &bo, access: Access::Read, mocs: MocsClass::PageTable };
        let report = device.submit_with(&[submission], |reports| Ok(reports[0])).unwrap();
        assert_eq!((report.decision.verdict, report.lines), (Verdict::Flush, 3));
    }
}

//! The typed requests, with the kernel's checks in the kernel's order.

use std::os::fd::{BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use gem_coherency::Errno;
use memmap2::MmapOptions;

use crate::kernel::injected_faults::Needs;
use crate::kernel::limits::SYSTEM_BYTES;
use crate::kernel::mappings::window::Window;
use crate::kernel::objects::object::Object;
use crate::kernel::objects::{prime, transfer};
use crate::refuse::refuse;
use crate::requests;
use crate::sync::progress::Patience;
use crate::{Maps, SimDevice};
use gem_coherency::backend::display::Display;
use gem_coherency::backend::mapping::Counted;
use gem_coherency::backend::{
    Advice, Busy, Created, DriverVersion, Drm, ExecObject, Extras, Mapping, MemoryRegion, OpenCounts, Param,
    Placement, Retained, Run,
};
use gem_coherency::error::{Error, Result};
use gem_coherency::platform::Call;
use gem_coherency::policy::kernel::Event;
use gem_coherency::vocabulary::{Access, CachingMode, Domains, Handle, KernelVersion, MmapMode};
use gem_coherency_uapi::dma_buf::{
    DMA_BUF_IOCTL_SYNC, DMA_BUF_SYNC_END, DMA_BUF_SYNC_READ, DMA_BUF_SYNC_RW, DMA_BUF_SYNC_START,
};
use gem_coherency_uapi::drm::{DRM_CLOEXEC, DRM_IOCTL_PRIME_FD_TO_HANDLE, DRM_RDWR};
use gem_coherency_uapi::i915::{
    DRM_IOCTL_I915_GEM_MMAP, DRM_IOCTL_I915_GEM_MMAP_OFFSET, DRM_IOCTL_I915_GEM_PREAD,
    DRM_IOCTL_I915_GEM_PWRITE, I915_MMAP_WC, drm_i915_gem_wait,
};

impl SimDevice {
    /// Refuses a call that the platform refuses whatever its arguments are; traces one that it accepts.
    pub(crate) fn check(&self, request: &'static str, call: Call) -> Result<()> {
        match self.system.machine.refusal(call) {
            None => {
                self.system.trace.add_call(call);
                Ok(())
            }
            Some(refusal) => {
                tracing::debug!(request, errno = %refusal.errno, why = refusal.why, "refused");
                refuse(request, refusal.errno)
            }
        }
    }

    /// Gives a new object its handle.
    pub(crate) fn named(&self, request: &'static str, object: Arc<Object>) -> Result<Created> {
        let size_bytes = object.size();
        let Some(handle) = self.handles().insert(Arc::clone(&object)) else {
            return refuse(request, Errno::ENOSPC);
        };
        object.state().first_handle.get_or_insert(handle);
        tracing::debug!(request, handle = handle.get(), bytes = size_bytes);
        Ok(Created { handle, size_bytes })
    }

    /// Creates the mapping of an object, after all checks.
    fn mapping(&self, window: Window, handle: Handle, mode: MmapMode, size_bytes: u64) -> Result<Mapping> {
        if self.lookup("mmap", handle)?.size() > SYSTEM_BYTES {
            // The kernel maps it and kills the process at the first touch.
            return refuse("mmap", Errno::ENOMEM);
        }
        let counted = Counted::new(&self.mappings);
        match self.maps {
            Maps::Objects => Ok(Mapping::from_soft(handle, Arc::new(window), mode, size_bytes, counted)),
            Maps::OrdinaryMemory => {
                let refused = |errno| Error::Ioctl { request: "mmap", errno };
                let len = usize::try_from(size_bytes).map_err(|_| refused(Errno::ENOMEM))?;
                let pages = MmapOptions::new()
                    .len(len)
                    .map_anon()
                    .map_err(|error| refused(error.raw_os_error().map_or(Errno::ENOMEM, Errno::new)))?;
                Ok(Mapping::from_kernel(handle, pages.into(), mode, counted))
            }
        }
    }

    /// Applies an event to an object for a request; a change of its level waits until the GPU is done with the object.
    pub(crate) fn event(
        &self,
        request: &'static str,
        handle: u32,
        event: Event,
        patience: &Patience,
    ) -> Result<()> {
        let object = self.find(request, handle)?;
        if object.changes_level(event) {
            object.wait_for(request, Access::Write, patience)?;
        }
        object.happen(&mut object.state(), request, event).map(drop)
    }
}

impl Drm for SimDevice {
    fn name(&self) -> &str {
        &self.name
    }

    fn file(&self) -> Option<BorrowedFd<'_>> {
        None
    }

    fn kernel(&self) -> KernelVersion {
        self.system.machine.kernel
    }

    fn version(&self) -> Result<DriverVersion> {
        self.version_ioctl()
    }

    fn param(&self, param: Param) -> Result<i32> {
        match self.reported {
            Some((reported, value)) if reported == param => Ok(value),
            _ => self.getparam_ioctl(param as i32),
        }
    }

    fn memory_regions(&self) -> Result<Vec<MemoryRegion>> {
        self.memory_regions_query()
    }

    fn create(&self, size_bytes: u64) -> Result<Created> {
        self.create_ioctl(size_bytes)
    }

    fn create_with_pat(&self, size_bytes: u64, pat_index: u32) -> Result<Created> {
        self.create_with_pat_ioctl(size_bytes, pat_index)
    }

    fn close(&self, handle: Handle) -> Result<()> {
        self.close_ioctl(handle.get())
    }

    fn set_caching(&self, handle: Handle, mode: CachingMode) -> Result<()> {
        self.set_caching_ioctl(handle.get(), requests::caching_number(mode), &Patience::Blocks)
    }

    fn caching(&self, handle: Handle) -> Result<CachingMode> {
        self.get_caching_ioctl(handle.get())
    }

    fn map(&self, handle: Handle, mode: MmapMode, size_bytes: u64) -> Result<Mapping> {
        self.system.enter(DRM_IOCTL_I915_GEM_MMAP_OFFSET.name, Needs::Memory)?;
        let offset = self.mmap_offset_ioctl(handle.get(), requests::mmap_number(mode))?;
        if size_bytes == 0 {
            return refuse("mmap", Errno::EINVAL);
        }
        let window = self.mmap_file(size_bytes, offset)?;
        self.mapping(window, handle, mode, size_bytes)
    }

    fn set_domain(&self, handle: Handle, read: Domains, write: Domains) -> Result<()> {
        self.set_domain_ioctl(None, handle.get(), read.bits(), write.bits(), &Patience::Blocks)
    }

    fn busy(&self, handle: Handle) -> Result<Busy> {
        self.busy_ioctl(handle.get()).map(Busy)
    }

    fn wait(&self, handle: Handle, timeout_ns: i64) -> Result<()> {
        let args = &mut drm_i915_gem_wait { bo_handle: handle.get(), flags: 0, timeout_ns };
        self.wait_ioctl(args, &Patience::Blocks)
    }

    fn madvise(&self, handle: Handle, advice: Advice) -> Result<Retained> {
        self.madvise_ioctl(handle.get(), requests::madvise_number(advice))
    }

    fn export(&self, handle: Handle) -> Result<OwnedFd> {
        prime::open(self.handle_to_dma_buf_ioctl(handle.get(), DRM_CLOEXEC | DRM_RDWR)?)
    }

    fn import(&self, dma_buf: BorrowedFd<'_>) -> Result<Created> {
        let request = DRM_IOCTL_PRIME_FD_TO_HANDLE.name;
        self.system.enter(request, Needs::Memory)?;
        self.dma_buf_to_handle(prime::find(dma_buf, request, Errno::EINVAL)?.dma_buf())
    }

    fn execute(&self, objects: &[ExecObject]) -> Result<()> {
        self.execute_ioctl(objects)
    }

    fn extras(&self) -> Result<&dyn Extras> {
        Ok(self)
    }

    fn display(&self) -> Result<&dyn Display> {
        Ok(self)
    }

    fn open_counts(&self) -> OpenCounts {
        if !self.system.owner.is_here() {
            return OpenCounts::default();
        }
        OpenCounts {
            handles: self.handles().len(),
            // Relaxed: a statistic; it publishes no other data.
            mappings: self.mappings.load(Ordering::Relaxed),
        }
    }
}

impl Extras for SimDevice {
    fn create_in(&self, size_bytes: u64, placements: &[Placement]) -> Result<Created> {
        self.create_in_ioctl(size_bytes, placements)
    }

    fn create_userptr(&self, size_bytes: u64) -> Result<(Created, [Mapping; 2])> {
        let (created, window) = self.userptr_ioctl(size_bytes)?;
        let again = window.part(0);
        let mapping = |window| self.mapping(window, created.handle, MmapMode::Wb, size_bytes);
        Ok((created, [mapping(window)?, mapping(again)?]))
    }

    fn map_legacy(&self, handle: Handle, mode: MmapMode, size_bytes: u64) -> Result<Mapping> {
        let request = DRM_IOCTL_I915_GEM_MMAP.name;
        let flags = match mode {
            MmapMode::Wb => 0,
            MmapMode::Wc => I915_MMAP_WC,
            MmapMode::Uc | MmapMode::Gtt | MmapMode::Fixed => return refuse(request, Errno::EINVAL),
        };
        let (object, mode) = self.map_legacy_ioctl(handle.get(), flags, 0, size_bytes)?;
        if size_bytes == 0 {
            return refuse(request, Errno::EINVAL);
        }
        self.mapping(Window::of_file(&object, mode, 0), handle, mode, size_bytes)
    }

    fn sw_finish(&self, handle: Handle) -> Result<()> {
        self.sw_finish_ioctl(handle.get())
    }

    fn pread(&self, handle: Handle, offset: u64, mut data: &mut [u8]) -> Result<()> {
        let request = DRM_IOCTL_I915_GEM_PREAD.name;
        match self.transfer_ioctl(request, handle.get(), offset, data.len() as u64, None)? {
            None => Ok(()),
            Some((object, range)) => transfer::pread(&object, range, &mut data, &Patience::Blocks),
        }
    }

    fn pwrite(&self, handle: Handle, offset: u64, mut data: &[u8]) -> Result<()> {
        let request = DRM_IOCTL_I915_GEM_PWRITE.name;
        match self.transfer_ioctl(request, handle.get(), offset, data.len() as u64, None)? {
            None => Ok(()),
            Some((object, range)) => transfer::pwrite(&object, range, &mut data, &Patience::Blocks),
        }
    }

    fn begin_dma_buf_access(&self, dma_buf: BorrowedFd<'_>, access: Access) -> Result<()> {
        let direction = match access {
            Access::Read => DMA_BUF_SYNC_READ,
            Access::Write => DMA_BUF_SYNC_RW,
        };
        let found = prime::find(dma_buf, DMA_BUF_IOCTL_SYNC.name, Errno::ENOTTY)?;
        found.sync(DMA_BUF_SYNC_START | direction, &Patience::Blocks)
    }

    fn end_dma_buf_access(&self, dma_buf: BorrowedFd<'_>, access: Access) -> Result<()> {
        let direction = match access {
            Access::Read => DMA_BUF_SYNC_READ,
            Access::Write => DMA_BUF_SYNC_RW,
        };
        let found = prime::find(dma_buf, DMA_BUF_IOCTL_SYNC.name, Errno::ENOTTY)?;
        found.sync(DMA_BUF_SYNC_END | direction, &Patience::Blocks)
    }

    fn run(&self, run: &Run<'_>) -> Result<()> {
        self.run_ioctl(run)
    }

    fn hangs(&self) -> Result<u32> {
        self.hangs_ioctl()
    }
}

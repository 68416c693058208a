//! The other agents and the rest of the machine: what no request of the trait reaches.
//!
//! They are for tests and demonstrations: a read by the GPU or the display shows what that agent
//! would see.

use nix::errno::Errno;

use super::Soft;
use super::faults::{Fault, Needs};
use super::gpu::{GpuFault, GpuHang};
use super::log::KernelFlush;
use super::object::Object;
use super::requests::refuse;
#[cfg(doc)]
use gem_coherency::drm::Drm;
use gem_coherency::drm::{Created, Placement};
use gem_coherency::error::{Error, Result};
use gem_coherency::policy::kernel::{Event, Snapshot};
use gem_coherency::uapi::drm_display::{DRM_IOCTL_MODE_ADDFB2, DRM_IOCTL_MODE_DIRTYFB, DRM_IOCTL_MODE_RMFB};
use gem_coherency::vocabulary::{Handle, MocsClass};
use gem_coherency_hierarchy::Route;

impl Soft {
    /// Creates an object in local memory; as [`Drm::create_in`] with [`Placement::LOCAL`].
    ///
    /// # Errors
    /// EINVAL where there is none; otherwise as [`Drm::create`].
    pub fn create_local(&self, size_bytes: u64) -> Result<Created> {
        self.create_in_ioctl(size_bytes, &[Placement::LOCAL])
    }

    /// Reads as the GPU does with a MOCS entry of this class.
    ///
    /// The object is bound first, which brings its pages in.
    ///
    /// # Errors
    /// ENOENT, ENOMEM, EFAULT for a purged object and for a process's memory that no request brought
    /// in yet; [`Error::RangeOutOfBounds`].
    pub fn gpu_read(&self, handle: Handle, mocs: MocsClass, offset: u64, data: &mut [u8]) -> Result<()> {
        self.read_on(handle, "GPU read", Route::Gpu(mocs), offset, data)
    }

    /// Writes as the GPU does with a MOCS entry of this class.
    ///
    /// # Errors
    /// As [`Self::gpu_read`].
    pub fn gpu_write(&self, handle: Handle, mocs: MocsClass, offset: u64, data: &[u8]) -> Result<()> {
        let object = self.lookup("GPU write", handle)?;
        let mut state = object.state();
        object.happen(&mut state, "GPU write", Event::Acquire)?;
        let terms = object.system().terms(state.snapshot.level);
        object.write(terms, Route::Gpu(mocs), offset, data)
    }

    /// Reads as the display engine does.
    ///
    /// # Errors
    /// As [`Self::gpu_read`].
    pub fn display_read(&self, handle: Handle, offset: u64, data: &mut [u8]) -> Result<()> {
        self.read_on(handle, "display read", Route::Display, offset, data)
    }

    fn read_on(
        &self,
        handle: Handle,
        call: &'static str,
        route: Route,
        offset: u64,
        data: &mut [u8],
    ) -> Result<()> {
        let object = self.lookup(call, handle)?;
        let mut state = object.state();
        object.happen(&mut state, call, Event::Acquire)?;
        let terms = object.system().terms(state.snapshot.level);
        object.read(terms, route, offset, data)
    }

    /// Makes the object a framebuffer (ADDFB2), whatever its size, and the display; without an id.
    ///
    /// # Errors
    /// ENOENT; ENODEV.
    pub fn set_framebuffer(&self, handle: Handle) -> Result<()> {
        let call = DRM_IOCTL_MODE_ADDFB2.name;
        self.system.enter(call, Needs::Nothing)?;
        self.lookup(call, handle)?.add_framebuffer(call)
    }

    /// Makes the object a framebuffer no longer (RMFB), if it was no other; it leaves the screen.
    ///
    /// # Errors
    /// ENOENT; ENODEV.
    pub fn remove_framebuffer(&self, handle: Handle) -> Result<()> {
        let call = DRM_IOCTL_MODE_RMFB.name;
        self.system.enter(call, Needs::Nothing)?;
        self.lookup(call, handle)?.remove_framebuffer(call)
    }

    /// Shows the object: a mode set, a flip or a plane update.
    ///
    /// # Errors
    /// EINVAL for what is no framebuffer, and for system memory of a discrete device; ENOENT; ENODEV.
    pub fn pin_display(&self, handle: Handle) -> Result<()> {
        self.display(handle, "DRM_IOCTL_MODE_PAGE_FLIP", Event::PinDisplay)
    }

    /// Shows something else.
    ///
    /// # Errors
    /// ENOENT; ENODEV.
    pub fn unpin_display(&self, handle: Handle) -> Result<()> {
        self.display(handle, "DRM_IOCTL_MODE_PAGE_FLIP", Event::UnpinDisplay)
    }

    /// Says that the framebuffer was written (DIRTYFB).
    ///
    /// # Errors
    /// ENOENT, for what is no framebuffer, too; ENODEV.
    pub fn dirty_fb(&self, handle: Handle) -> Result<()> {
        self.display(handle, DRM_IOCTL_MODE_DIRTYFB.name, Event::DirtyFb)
    }

    fn display(&self, handle: Handle, call: &'static str, event: Event) -> Result<()> {
        self.system.enter(call, Needs::Nothing)?;
        let object = self.lookup(call, handle)?;
        let mut state = object.state();
        object.happen(&mut state, call, event)?;
        state.bound |= state.snapshot.pinned;
        Ok(())
    }

    /// Sends the machine to sleep (S3).
    ///
    /// # Errors
    /// None that the kernel gives.
    pub fn suspend(&self) -> Result<()> {
        self.everywhere("suspend", |_| Event::Suspend)
    }

    /// Sends the machine to hibernation (S4): contents that nobody needs are gone afterwards.
    ///
    /// # Errors
    /// As [`Self::suspend`].
    pub fn hibernate(&self) -> Result<()> {
        self.system.shrink();
        self.everywhere("hibernate", |_| Event::Hibernate)
    }

    /// Wakes the machine up.
    ///
    /// # Errors
    /// As [`Self::suspend`].
    pub fn resume(&self) -> Result<()> {
        self.everywhere("resume", |bound| Event::Resume { bound })
    }

    /// Lets an event happen to every object, with one wbinvd for all.
    fn everywhere(&self, call: &'static str, event: impl Fn(bool) -> Event) -> Result<()> {
        let mut wbinvd = None;
        for object in self.system.all() {
            let mut state = object.state();
            let event = event(state.bound);
            object.happen_without_wbinvd(&mut state, call, event, &mut wbinvd)?;
        }
        if let Some(rule) = wbinvd {
            self.system.wbinvd(call, rule);
        }
        Ok(())
    }

    /// Makes `fault` happen at the request that follows the next `after` that it can hit.
    pub fn inject(&self, fault: Fault, after: u64) {
        self.system.faults.inject(fault, after);
    }

    /// How often a request was interrupted and restarted.
    pub fn restarts(&self) -> u64 {
        self.system.faults.restarts()
    }

    /// Whether bytes that nobody flushed or invalidated are sure to be missed: the caches do nothing unasked,
    /// and not every agent sees every byte at once.
    pub fn shows_what_is_forgotten(&self) -> bool {
        self.system.caches_are_idle()
    }

    /// Lets the shrinker take the contents of every object that is marked as not needed.
    pub fn shrink(&self) {
        self.system.shrink();
    }

    /// Swaps the object's pages out, as memory that runs short does: they are released with the kernel's flush, then
    /// the CPU saves what it sees. Pages that are on screen, in a busy batch or attached elsewhere stay, and so does
    /// everything that is no shmem object.
    ///
    /// # Errors
    /// ENOENT.
    pub fn swap_out(&self, handle: Handle) -> Result<()> {
        self.lookup("shrinker", handle)?.swap_out()
    }

    /// Stops the GPU, so that what is submitted stays busy, or lets it go on.
    ///
    /// Batches that were submitted meanwhile run before it returns, in their order.
    pub fn stall_gpu(&self, stalled: bool) {
        self.system.gpu.stall(stalled, &self.system);
    }

    /// Every access of a batch to an address where nothing is bound, oldest first; the last 65,536 of them.
    pub fn gpu_faults(&self) -> Vec<GpuFault> {
        self.system.gpu.fault_log.faults().iter().copied().collect()
    }

    /// Takes the accesses to nothing since the last time, oldest first.
    pub fn take_gpu_faults(&self) -> Vec<GpuFault> {
        self.system.gpu.fault_log.faults().drain(..).collect()
    }

    /// Every batch that did not come to its end, oldest first; the last 65,536 of them.
    pub fn gpu_hangs(&self) -> Vec<GpuHang> {
        self.system.gpu.fault_log.hangs().iter().copied().collect()
    }

    /// Takes the batches that did not come to their end since the last time, oldest first.
    pub fn take_gpu_hangs(&self) -> Vec<GpuHang> {
        self.system.gpu.fault_log.hangs().drain(..).collect()
    }

    /// Says whether the device is runtime-awake, as it is at first; PWRITE takes another way then.
    pub fn set_awake(&self, awake: bool) {
        // Relaxed: a setting, which publishes nothing.
        self.system.awake.store(awake, std::sync::atomic::Ordering::Relaxed);
    }

    /// Every flush that the kernel did, oldest first; the last 65,536 of them.
    pub fn kernel_flushes(&self) -> Vec<KernelFlush> {
        self.system.log.all()
    }

    /// Takes the flushes that the kernel did since the last time, oldest first.
    pub fn take_kernel_flushes(&self) -> Vec<KernelFlush> {
        self.system.log.take()
    }

    /// How many CPU accesses a real device would have answered with SIGBUS; they were errors.
    pub fn bus_errors(&self) -> u64 {
        // Relaxed: a statistic.
        self.system.bus_errors.load(std::sync::atomic::Ordering::Relaxed)
    }

    /// How many objects there are, by whatever they are held: names, mappings, dma-bufs; for finding leaks.
    pub fn objects_alive(&self) -> u64 {
        super::prime::forget_closed();
        self.system.all().len() as u64
    }

    /// Bytes of the objects that have pages, of the machine's memory; for finding leaks.
    pub fn bytes_in_use(&self) -> u64 {
        super::prime::forget_closed();
        self.system.bytes_in_use()
    }

    /// The object's caching state as the kernel keeps it.
    ///
    /// # Errors
    /// ENOENT.
    pub fn snapshot(&self, handle: Handle) -> Result<Snapshot> {
        Ok(self.lookup("snapshot", handle)?.state().snapshot)
    }

    /// The object that a request names by number.
    pub(super) fn find(&self, request: &'static str, handle: u32) -> Result<std::sync::Arc<Object>> {
        match Handle::new(handle) {
            Some(handle) => self.lookup(request, handle),
            None => refuse(request, Errno::ENOENT),
        }
    }

    /// The object of that name.
    pub(super) fn lookup(&self, request: &'static str, handle: Handle) -> Result<std::sync::Arc<Object>> {
        self.handles().get(handle).ok_or(Error::Ioctl { request, errno: Errno::ENOENT })
    }
}

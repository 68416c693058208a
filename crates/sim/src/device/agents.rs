//! The other agents and the rest of the machine: everything that the trait's requests do not cover.
//!
//! These functions are for tests and demonstrations: a read by the GPU or the display returns what that agent
//! would see.

use std::sync::Arc;

use gem_coherency::Errno;

use crate::SimDevice;
use crate::gpu::real_gpu::{Operand, RealGpu};
use crate::gpu::{GpuFault, GpuHang, GpuTimes, ShaderClock};
use crate::kernel::injected_faults::{InjectedFault, Needs};
use crate::kernel::objects::object::Object;
use crate::observe::epochs::StoreEpochs;
use crate::observe::history::{LineStates, Recorded};
use crate::observe::incoherent::{DirtyAtSubmission, Incoherent, MadeStale};
use crate::observe::log::KernelFlush;
use crate::observe::refusals::RefusedRequest;
use crate::refuse::refuse;
#[cfg(doc)]
use gem_coherency::backend::Drm;
use gem_coherency::backend::{Created, Placement};
use gem_coherency::error::{Error, Result};
use gem_coherency::policy::kernel::{Event, Snapshot};
use gem_coherency::vocabulary::{Handle, MocsClass};
use gem_coherency::xe::CpuCaching;
use gem_coherency_memory_model::Route;
use gem_coherency_uapi::drm_display::{DRM_IOCTL_MODE_ADDFB2, DRM_IOCTL_MODE_DIRTYFB, DRM_IOCTL_MODE_RMFB};

impl SimDevice {
    /// Creates an object in local memory, like [`create_in`](gem_coherency::backend::Extras::create_in) with [`Placement::LOCAL`].
    ///
    /// # Errors
    /// EINVAL without local memory; otherwise as [`Drm::create`].
    pub fn create_local(&self, size_bytes: u64) -> Result<Created> {
        self.create_in_ioctl(size_bytes, &[Placement::LOCAL])
    }

    /// Reads as the GPU does with a MOCS entry of this class.
    ///
    /// Binds the object first, which brings its pages in.
    ///
    /// # Errors
    /// ENOENT; ENOMEM; EFAULT for a purged object and for userptr memory that no request has pinned yet;
    /// [`Error::RangeOutOfBounds`].
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
        let ctx = object.access_context(&state);
        object.write(ctx, Route::Gpu(mocs), offset, data)
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
        let ctx = object.access_context(&state);
        object.read(ctx, route, offset, data)
    }

    /// Makes the object a framebuffer (ADDFB2) without checking its size or the display, and without an id.
    ///
    /// # Errors
    /// ENOENT; ENODEV.
    pub fn set_framebuffer(&self, handle: Handle) -> Result<()> {
        let call = DRM_IOCTL_MODE_ADDFB2.name;
        self.system.enter(call, Needs::Nothing)?;
        self.lookup(call, handle)?.add_framebuffer(call)
    }

    /// Drops the object's framebuffer (RMFB); with its last one, the object leaves the screen.
    ///
    /// # Errors
    /// ENOENT; ENODEV.
    pub fn remove_framebuffer(&self, handle: Handle) -> Result<()> {
        let call = DRM_IOCTL_MODE_RMFB.name;
        self.system.enter(call, Needs::Nothing)?;
        self.lookup(call, handle)?.remove_framebuffer(call)
    }

    /// Shows the object, as a mode set, a flip or a plane update does.
    ///
    /// # Errors
    /// EINVAL for an object that is not a framebuffer and for system memory on a discrete device; ENOENT;
    /// ENODEV.
    pub fn pin_display(&self, handle: Handle) -> Result<()> {
        self.display(handle, "DRM_IOCTL_MODE_PAGE_FLIP", Event::PinDisplay)
    }

    /// Takes the object off the screen.
    ///
    /// # Errors
    /// ENOENT; ENODEV.
    pub fn unpin_display(&self, handle: Handle) -> Result<()> {
        self.display(handle, "DRM_IOCTL_MODE_PAGE_FLIP", Event::UnpinDisplay)
    }

    /// Reports a CPU write to the framebuffer (DIRTYFB).
    ///
    /// # Errors
    /// ENOENT, also for an object that is not a framebuffer; ENODEV.
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

    /// Suspends the machine to RAM (S3).
    ///
    /// # Errors
    /// Never fails on a real kernel.
    pub fn suspend(&self) -> Result<()> {
        self.everywhere("suspend", |_| Event::Suspend)
    }

    /// Hibernates the machine (S4); contents marked as not needed are lost.
    ///
    /// # Errors
    /// As [`Self::suspend`].
    pub fn hibernate(&self) -> Result<()> {
        self.system.shrink();
        self.everywhere("hibernate", |_| Event::Hibernate)
    }

    /// Resumes the machine.
    ///
    /// # Errors
    /// As [`Self::suspend`].
    pub fn resume(&self) -> Result<()> {
        self.everywhere("resume", |bound| Event::Resume { bound })
    }

    /// Applies an event to every object, with one wbinvd for all.
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

    /// Makes `fault` hit the request after the next `after` ones that it could hit.
    pub fn inject(&self, fault: InjectedFault, after: u64) {
        self.system.injected_faults.inject(fault, after);
    }

    /// Returns how many requests were interrupted and restarted.
    pub fn restarts(&self) -> u64 {
        self.system.injected_faults.restarts()
    }

    /// Returns whether bytes that were not flushed or invalidated are certain to be missed: the adversary is
    /// off and the machine is not simulated as fully coherent.
    pub fn shows_what_is_forgotten(&self) -> bool {
        self.system.hardware.caches_are_idle()
    }

    /// Makes the shrinker purge every object that is marked as not needed.
    pub fn shrink(&self) {
        self.system.shrink();
    }

    /// Swaps the object's pages out, as under memory pressure.
    ///
    /// The pages are released with the kernel's flush, then the CPU saves what it sees. Does nothing for
    /// pages that are on screen, in a busy batch or attached elsewhere, or for objects that are not in shmem.
    ///
    /// # Errors
    /// ENOENT.
    pub fn swap_out(&self, handle: Handle) -> Result<()> {
        self.lookup("shrinker", handle)?.swap_out()
    }

    /// Stalls the GPU, so that submissions stay busy, or resumes it.
    ///
    /// When resumed, it runs the queued batches in order before this function returns.
    pub fn stall_gpu(&self, stalled: bool) {
        self.gpu.stall(stalled);
    }

    /// Sets the times after which batches are ended.
    pub fn set_gpu_times(&self, times: GpuTimes) {
        self.gpu.engines.set_times(times);
    }

    /// Ends the shaders that run on the device, and those that are started from now on, because nobody waits for them.
    pub fn stop_shaders(&self) {
        self.gpu.engines.stop_shaders();
    }

    /// Starts the clock of a shader of so many threads, which the caller executes.
    pub fn shader_clock(&self, threads: u64) -> ShaderClock {
        self.gpu.engines.shader_clock(threads)
    }

    /// Returns the batches' accesses to unbound addresses, oldest first; at most the last 65,536.
    pub fn gpu_faults(&self) -> Vec<GpuFault> {
        self.gpu.engines.fault_log.faults().iter().copied().collect()
    }

    /// Returns and clears the list of accesses to unbound addresses, oldest first.
    pub fn take_gpu_faults(&self) -> Vec<GpuFault> {
        self.gpu.engines.fault_log.faults().drain(..).collect()
    }

    /// Returns the batches that did not complete, oldest first; at most the last 65,536.
    pub fn gpu_hangs(&self) -> Vec<GpuHang> {
        self.gpu.engines.fault_log.hangs().iter().copied().collect()
    }

    /// Returns and clears the list of batches that did not complete, oldest first.
    pub fn take_gpu_hangs(&self) -> Vec<GpuHang> {
        self.gpu.engines.fault_log.hangs().drain(..).collect()
    }

    /// Sets whether the device is runtime-awake, as it is initially; this selects the copy path of PWRITE.
    pub fn set_awake(&self, awake: bool) {
        // Relaxed: a setting; it publishes no other data.
        self.system.hardware.awake.store(awake, std::sync::atomic::Ordering::Relaxed);
    }

    /// Returns the kernel's flushes, oldest first; at most the last 65,536.
    pub fn kernel_flushes(&self) -> Vec<KernelFlush> {
        self.system.log.all()
    }

    /// Returns and clears the list of the kernel's flushes, oldest first.
    pub fn take_kernel_flushes(&self) -> Vec<KernelFlush> {
        self.system.log.take()
    }

    /// Numbers the objects that are created from now on from `first` on, so that those of several devices differ. Without
    /// this, a device's first object is number 1. A number up to those that were given changes nothing.
    pub fn number_objects_from(&self, first: u64) {
        self.system.number_objects_from(first);
    }

    /// Lets a real GPU run the batches from now on, besides the simulated one; its results count. A second one changes
    /// nothing. The device has to run batches at once (`gpu=instant`).
    pub fn set_real_gpu(&self, real_gpu: Arc<dyn RealGpu>) {
        // Fails if there is one.
        let _ = self.gpu.real_gpu.set(real_gpu);
    }

    /// Returns the object of a handle of this file, as a real GPU uses it.
    ///
    /// # Errors
    /// ENOENT.
    pub fn operand(&self, handle: Handle) -> Result<Operand> {
        Ok(Operand { object: self.lookup("operand", handle)?, address: 0, flags: 0, pad_to: 0 })
    }

    /// Tells the device of programs' stores to write-combining mappings, so that it logs those that a batch reads before they are drained. A second
    /// call changes nothing.
    pub fn set_store_epochs(&self, epochs: Arc<dyn StoreEpochs>) {
        self.system.epochs.set(epochs);
    }

    /// Switches the log of incoherent accesses on or off. It is off at first, because it compares bytes at every access.
    pub fn watch(&self, on: bool) {
        self.system.incoherent.switch(on);
    }

    /// Returns and clears the incoherent accesses while the device was watched, oldest first. Accesses by programs to
    /// [`Views`](crate::Views), and through raw pointers, are not among them.
    pub fn incoherent(&self) -> Vec<Incoherent> {
        self.system.incoherent.take_accesses()
    }

    /// Returns and clears the objects that had dirty lines when a batch began to run while the device was watched, after
    /// the kernel's flushes; without objects whose dirty lines the GPU sees.
    pub fn dirty_at_submission(&self) -> Vec<DirtyAtSubmission> {
        self.system.incoherent.take_submissions()
    }

    /// Returns and clears the lines that became stale while the device was watched, of objects whose cached bytes a mapping
    /// shows, oldest first. A write that makes them stale is no mistake; a load before an invalidate is.
    pub fn made_stale(&self) -> Vec<MadeStale> {
        self.system.incoherent.take_stale()
    }

    /// Finds, by comparison, what programs in other processes have stored past the CPU's cache since [`Self::note_stale_lines`], to objects that
    /// they also map WB: through the aperture, and through WC mappings. Before a request of such a program.
    ///
    /// A CPU with self-snoop drops its lines at a store through a WC mapping: the WB mapping shows the bytes from now on. Other lines are stale:
    /// while the device is watched they are returned, as [`Self::made_stale`] does.
    pub fn stores_past_the_cache(&self) -> Vec<MadeStale> {
        self.system.stores_past_the_cache()
    }

    /// Notes the lines that are stale, after a request, which may have written to memory.
    pub fn note_stale_lines(&self) {
        self.system.note_stale_lines();
    }

    /// Returns and clears the number of ranges of lines that [`Self::incoherent`], [`Self::dirty_at_submission`] and
    /// [`Self::made_stale`] had no room for: each has room for 65,536.
    pub fn incoherent_dropped(&self) -> u64 {
        self.system.incoherent.take_dropped()
    }

    /// Switches the recording of what happens to the lines of objects of up to 16 MiB on or off. It is off at first,
    /// because it compares the bytes of whole objects; the device must be watched, too.
    pub fn record(&self, on: bool) {
        self.system.incoherent.history.switch(on);
    }

    /// Returns and clears what happened while the device recorded it, oldest first; at most 16,384 events. Accesses to an
    /// object on one route are one event until this call.
    pub fn recorded(&self) -> Vec<Recorded> {
        self.system.incoherent.history.take()
    }

    /// Returns the states of an object's lines now; `None` if nothing is recorded of the object, or it is gone.
    pub fn line_states(&self, object: u64) -> Option<LineStates> {
        self.system.object(object)?.recorded_states()
    }

    /// Returns and clears the requests of xe that a rule of caching refused, oldest first; at most 4,096.
    pub fn refused_requests(&self) -> Vec<RefusedRequest> {
        self.system.refusals.take()
    }

    /// Returns how the CPU maps an object of xe; `None` for an import, an object of i915, and one that is gone.
    pub fn cpu_caching(&self, object: u64) -> Option<CpuCaching> {
        self.system.object(object)?.xe.as_ref()?.created.caching
    }

    /// Returns whether the object with a number exists.
    pub fn has_object(&self, object: u64) -> bool {
        self.system.object(object).is_some()
    }

    /// Returns the number that programs' mappings of an imported object's memory have: that of the other device's object, or of
    /// memory of no device. `None` for other objects.
    pub fn exported_as(&self, object: u64) -> Option<u64> {
        self.system.object(object)?.exported_as()
    }

    /// Returns how many CPU accesses would have raised SIGBUS on a real device; here they return errors.
    pub fn bus_errors(&self) -> u64 {
        // Relaxed: a statistic.
        self.system.accounting.bus_errors.load(std::sync::atomic::Ordering::Relaxed)
    }

    /// Returns how many objects exist, whether held by handles, mappings or dma-bufs; for finding leaks.
    pub fn objects_alive(&self) -> u64 {
        crate::kernel::objects::prime::forget_closed();
        self.system.all().len() as u64
    }

    /// Returns how many bytes of the machine's memory objects' pages take; for finding leaks.
    pub fn bytes_in_use(&self) -> u64 {
        crate::kernel::objects::prime::forget_closed();
        self.system.accounting.bytes_in_use()
    }

    /// Returns how many objects have pages that the kernel can purge or swap out, and their bytes (`i915_gem_objects`).
    pub fn shrinkable(&self) -> (u64, u64) {
        self.system.accounting.shrinkable()
    }

    /// Returns the object's caching state as the kernel tracks it.
    ///
    /// # Errors
    /// ENOENT.
    pub fn snapshot(&self, handle: Handle) -> Result<Snapshot> {
        Ok(self.lookup("snapshot", handle)?.state().snapshot)
    }

    /// Finds the object of a request's handle number.
    pub(crate) fn find(&self, request: &'static str, handle: u32) -> Result<Arc<Object>> {
        match Handle::new(handle) {
            Some(handle) => self.lookup(request, handle),
            None => refuse(request, Errno::ENOENT),
        }
    }

    /// Finds the object of a handle.
    pub(crate) fn lookup(&self, request: &'static str, handle: Handle) -> Result<Arc<Object>> {
        self.handles().get(handle).ok_or(Error::Ioctl { request, errno: Errno::ENOENT })
    }
}

//! An open device: its properties, and the BOs on it.
//!
//! ```
//! use gem_coherency::device::{AllocRequest, Device, Submission};
//! use gem_coherency::vocabulary::{Access, CachingMode, MocsClass};
//!
//! # gem_coherency_sim::link();
//! let device = Device::open("sim:glk")?;
//! let bo = device.alloc(AllocRequest::new(4096).caching(CachingMode::None))?;
//! let mut write = bo.write(0, 4096)?;
//! write.fill(b"pattern!")?;
//! write.finish();
//! device.submit(&[Submission { bo: &bo, access: Access::Read, mocs: MocsClass::PageTable }])?;
//! let released = bo.release()?;
//! assert_eq!(device.open_counts().handles, 0);
//! # let _ = released;
//! # Ok::<(), gem_coherency::Error>(())
//! ```

mod about;
mod adopt;
mod alloc;
mod barrier;
mod spec;
mod submit;

pub use crate::backend::PciBarrier;
pub use crate::object::shared::ReuseStats;
pub use crate::object::shared::WaitedBy;
pub use about::{MapModeInfo, Quirk};
pub use adopt::{AdoptRequest, Contents};
pub use alloc::AllocRequest;
pub use spec::{DeviceSpec, OpenSoft, link_soft};
pub use submit::{Prepared, Submission};

use std::os::fd::AsFd;
use std::sync::Arc;

use crate::backend::node;
use crate::backend::{DriverVersion, Drm, ExecObject, MemoryRegion, OpenCounts};
use crate::engine::FlushReport;
use crate::error::{Result, room};
use crate::fork::Confined;
use crate::object::bo::Bo;
use crate::object::shared::{Extensions, Reuse, SharedDevice};
use crate::platform::{self, CONSERVATIVE, Machine};
use crate::policy::DecisionTable;
use crate::policy::kernel::KernelRules;
use crate::tracking::{Registry, Submissions};
use crate::vocabulary::{Handle, MocsClass};
use gem_coherency_policy::{Unknown, xe};

/// `I915_MEMORY_CLASS_SYSTEM`: the memory of objects without a placement.
const CLASS_SYSTEM: u16 = 0;

/// An open device. Clones are the same device.
///
/// It belongs to the process that opened it. In a child of fork(2), fallible functions of the device and its
/// BOs fail with [`crate::Error::OtherProcess`], and nothing is closed, kept, written or waited for. The child may
/// drop the values, which leaves the parent's unchanged. It must open its own devices.
#[derive(Clone, Debug)]
pub struct Device {
    shared: Arc<Confined<SharedDevice>>,
}

impl Device {
    /// Opens the device that `spec` names: a path, or `sim:...` if a software device is linked
    /// ([`link_soft`]).
    ///
    /// # Errors
    /// [`crate::OpenError::BadDeviceSpec`]; those of [`node::open`] for a path, and of [`Device::from_drm`].
    pub fn open(spec: &str) -> Result<Self> {
        Self::from_drm(match spec.parse()? {
            DeviceSpec::Path(path) => node::open(path)?,
            DeviceSpec::SimDevice(name) => spec::open_soft(&name)?,
        })
    }

    /// Opens the first node of i915 or xe; never a software device.
    ///
    /// # Errors
    /// [`crate::OpenError::NoDevice`]; those of [`Device::from_drm`].
    pub fn open_first() -> Result<Self> {
        Self::from_drm(node::open(node::find().first()?)?)
    }

    /// Takes an open device and asks it for its facts.
    ///
    /// # Errors
    /// [`Unknown::DeviceId`], [`Unknown::DrivenByXe`]; to use such a device, call [`Device::with_conservative_platform`].
    /// [`Unknown::KernelWithoutRules`]; CHIPSET_ID's.
    pub fn from_drm(drm: Arc<dyn Drm>) -> Result<Self> {
        let machine = match drm.xe() {
            Some(device) => device.machine(),
            None => Machine::from_facts(&about::facts(drm.as_ref())?, drm.kernel())?,
        };
        Self::new(drm, machine)
    }

    /// Takes an open device whose PCI ID may be unknown. For an unknown one, nothing is treated as coherent:
    /// every write is flushed and every read invalidates first.
    ///
    /// # Errors
    /// Those of [`Device::from_drm`] except for the unknown PCI ID.
    pub fn with_conservative_platform(drm: Arc<dyn Drm>) -> Result<Self> {
        if drm.xe().is_some() {
            return Self::from_drm(drm);
        }
        let facts = about::facts(drm.as_ref())?;
        let machine = match Machine::from_facts(&facts, drm.kernel()) {
            Err(unknown @ (Unknown::DeviceId { .. } | Unknown::DrivenByXe { .. })) => {
                tracing::warn!(%unknown, "nothing is treated as coherent");
                CONSERVATIVE.machine(drm.kernel(), false)
            }
            known => known?,
        };
        Self::new(drm, machine)
    }

    fn new(drm: Arc<dyn Drm>, machine: Machine) -> Result<Self> {
        let rules = KernelRules::of(drm.kernel())?;
        for disagreement in machine.disagreements() {
            tracing::warn!(%disagreement, "the device's value is used");
        }
        // Linux 5.10 does not report it; then it checks sizes alone.
        let regions = drm.memory_regions().unwrap_or_default();
        let system = regions.iter().find(|region| region.class == CLASS_SYSTEM);
        let memory_bytes = system.map(|region| region.probed_bytes);
        let largest_region_bytes = regions.iter().map(|region| region.probed_bytes).max();
        tracing::debug!(name = drm.name(), platform = machine.platform.name, kernel = %machine.kernel, "device");
        Ok(Self {
            shared: Arc::new(Confined::new(SharedDevice {
                drm,
                machine,
                rules,
                decisions: DecisionTable::of(machine.caps),
                is_conservative: machine.platform == &CONSERVATIVE,
                registry: Registry::default(),
                reuse: Reuse::new(),
                submissions: Submissions::default(),
                extensions: Extensions::default(),
                memory_bytes,
                largest_region_bytes,
            })),
        })
    }

    /// Returns the platform, the kernel, and the platform's capabilities under it.
    pub fn machine(&self) -> &Machine {
        &self.shared.machine
    }

    /// Returns the rules of xe for the device; `None` if i915 drives it.
    pub fn xe(&self) -> Option<xe::Device> {
        self.drm().xe()
    }

    /// Returns the rules of the device's kernel.
    pub fn rules(&self) -> &KernelRules {
        &self.shared.rules
    }

    /// Returns the device's raw requests, whose effects are not tracked.
    pub fn drm(&self) -> &dyn Drm {
        self.shared.drm.as_ref()
    }

    /// Returns the driver's name and version.
    ///
    /// # Errors
    /// VERSION's.
    pub fn version(&self) -> Result<DriverVersion> {
        self.drm().version()
    }

    /// Returns the memory regions for objects.
    ///
    /// # Errors
    /// QUERY's.
    pub fn memory_regions(&self) -> Result<Vec<MemoryRegion>> {
        self.drm().memory_regions()
    }

    /// Returns every map mode, and whether the platform has it.
    pub fn map_modes(&self) -> Vec<MapModeInfo> {
        about::map_modes(self.machine())
    }

    /// Returns the surprising properties of the device.
    pub fn quirks(&self) -> Vec<Quirk> {
        about::quirks(self.machine(), self.rules())
    }

    /// Returns how MOCS entry `index` treats the LLC. On graphics 8, which has no entries, `index` is the MOCS field of a command.
    pub fn mocs_class(&self, index: u8) -> MocsClass {
        platform::mocs_class(self.machine(), index)
    }

    /// Returns the value of type `T` that belongs to the device, made by `make` at the first call. It is for crates
    /// that keep state of their own for each device; the value is dropped with the device.
    pub fn extension<T: Send + Sync + 'static>(&self, make: impl FnOnce() -> T) -> Arc<T> {
        self.shared.extensions.get_or_make(make)
    }

    /// Returns the numbers of open objects and mappings of the device.
    pub fn open_counts(&self) -> OpenCounts {
        self.drm().open_counts()
    }

    /// Excludes from reuse the BOs of a submission by the caller's own ioctl on xe, where no request tells whether its batch has ended.
    fn leave_waits_to_caller(&self, submissions: &[Submission<'_>]) {
        if self.shared.is_xe() {
            submissions.iter().for_each(|one| one.bo.shared().leave_wait_to_caller());
        }
    }

    /// Returns whether `bo` was opened on this device.
    pub fn owns(&self, bo: &Bo) -> bool {
        Arc::ptr_eq(&self.shared, &bo.shared().device)
    }

    /// Checks that this process opened the device.
    ///
    /// # Errors
    /// [`crate::Error::OtherProcess`].
    pub fn check_process(&self) -> Result<()> {
        self.shared.check()
    }

    /// Creates a BO, or reuses one that was kept ([`Device::set_reuse_limit`]).
    ///
    /// A new BO reads as zeroes. A reused one holds arbitrary bytes of its earlier lifetimes on this device:
    /// its contents are undefined until they are written.
    ///
    /// # Errors
    /// - [`crate::Error::BadSize`]: 0 bytes, or more than an object can have; [`crate::Error::NoMemory`]: more than the
    ///   memory, or no memory for tracking the BO;
    /// - [`crate::Error::NotAvailable`]: the platform refuses the caching mode;
    /// - [`crate::Error::Ioctl`]: those of GEM_CREATE and the requests after it; those of [`Bo::map`], if the
    ///   request has a map mode. No handle is left open.
    pub fn alloc(&self, request: AllocRequest) -> Result<Bo> {
        let bo = alloc::alloc(&self.shared, request)?;
        if let Some(mode) = request.map {
            bo.map(mode)?;
        }
        Ok(bo)
    }

    /// Creates a dumb buffer (CREATE_DUMB) for a framebuffer with 32 bits per pixel; it is a BO like others.
    ///
    /// # Errors
    /// Those of CREATE_DUMB.
    pub fn alloc_dumb(&self, width: u32, height: u32) -> Result<Bo> {
        alloc::alloc_dumb(&self.shared, width, height)
    }

    /// Sets how many bytes of BOs are kept for reuse from now on; 0, the initial value, keeps nothing.
    ///
    /// When its last clone is dropped, a BO is kept if it was allocated after this call, nothing else can
    /// know it (it was never exported or imported, and [`Bo::never_reuse`] was not called), it is not on
    /// screen, and its contents exist. Meanwhile the kernel may purge its memory ([`Bo::dont_need`]).
    /// [`Device::alloc`] then rounds sizes up to their class: four for each power of two, up to 64 MiB.
    ///
    /// BOs beyond the limit are closed, the longest unused first. A submission that finds the GPU wedged
    /// (EIO) sets the limit to 0: such a GPU may still write to BOs that were released.
    pub fn set_reuse_limit(&self, bytes: u64) {
        if self.shared.is_here() {
            self.shared.reuse.set_limit(&self.shared, bytes);
        }
    }

    /// Sets the age at which unused BOs are closed: after this many further allocations. The default is 1024.
    pub fn set_reuse_age(&self, allocations: u64) {
        if self.shared.is_here() {
            self.shared.reuse.set_max_age(&self.shared, allocations);
        }
    }

    /// Closes every BO that is kept for reuse. Call it when memory is short, or from a timer.
    pub fn trim(&self) {
        if self.shared.is_here() {
            self.shared.reuse.trim(&self.shared);
        }
    }

    /// Returns the reuse-cache statistics since the device was opened.
    pub fn reuse_stats(&self) -> ReuseStats {
        match self.shared.is_here() {
            true => self.shared.reuse.stats(),
            false => ReuseStats::default(),
        }
    }

    /// Tracks a buffer object that the caller created, maps and closes: dirty and stale lines, submissions, scanout.
    ///
    /// The object is any that has a handle in this device's file: of CREATE_EXT, USERPTR or an import. Release the BO
    /// before the handle is closed and the mapping unmapped; lines that are dirty then are forgotten, so call
    /// [`Bo::flush`] first if the object lives on. The library sees only what passes through the BO: report stores by
    /// other mappings and APIs ([`Bo::mark_written`]), other writers of memory ([`Bo::mark_stale`]) and batches
    /// ([`Bo::gpu_wrote`], [`Device::begin_submit`]). A level is changed with [`Bo::set_caching`].
    ///
    /// If the handle was adopted before and its BO still exists, returns that one. What is pending stays; the request's
    /// contents are ignored. Its mapping is used if the BO has none, or one that bypasses the cache while this one is
    /// write-back: stores by either mapping are then flushed. Its readers join those that were named before.
    ///
    /// # Errors
    /// [`crate::Error::BadSize`]: no whole pages, more than the device has memory, or another size than the mapping's;
    /// [`crate::Error::HandleInUse`]: the library created or imported the object; [`crate::Error::AdoptedOtherwise`];
    /// [`crate::Error::NoMemory`].
    pub fn adopt(&self, request: AdoptRequest) -> Result<Bo> {
        adopt::adopt(&self.shared, request)
    }

    /// Returns the BO of a handle in this device's file; `None` if it has none, and in a child of fork(2).
    pub fn bo_by_handle(&self, handle: Handle) -> Option<Bo> {
        let is_here = self.shared.is_here();
        self.shared.registry.find(handle).filter(|_| is_here).map(Bo::from_shared)
    }

    /// Opens the BO of a dma-buf; returns the same BO if it is open on this device already.
    ///
    /// The state of the CPU's caches is unknown for a buffer from elsewhere. Its lines are treated as dirty
    /// and stale, so they are flushed and invalidated once where required. A buffer of another device cannot
    /// be mapped; the kernel writes the caches back for it.
    ///
    /// # Errors
    /// Those of PRIME_FD_TO_HANDLE: EBADF; EINVAL for a file that is not a dma-buf.
    pub fn import(&self, dma_buf: impl AsFd) -> Result<Bo> {
        alloc::import(&self.shared, dma_buf.as_fd())
    }

    /// Makes memory and caches current for the GPU's accesses (flushes, invalidates, drains), calls
    /// `execbuf`, and records the GPU's writes.
    ///
    /// This is for a driver with its own execbuf: `execbuf` makes the submitting ioctl. It gets the reports
    /// of what was flushed, one per submission, in order. While it runs, no BO can be closed or change its
    /// caching. The ioctl must be made inside of it: if a write is recorded first and submitted later, a
    /// reader that waits for the GPU in between misses the write.
    ///
    /// After EIO nothing is kept for reuse ([`Device::set_reuse_limit`]). On a device of xe no request tells whether the batch has ended: wait for it
    /// before the next access; its BOs are not reused.
    ///
    /// ```
    /// use gem_coherency::device::{AllocRequest, Device, Submission};
    /// use gem_coherency::vocabulary::{Access, MocsClass};
    ///
    /// # gem_coherency_sim::link();
    /// let device = Device::open("sim:jsl")?;
    /// let bo = device.alloc(AllocRequest::new(4096))?;
    /// bo.write(0, 4)?.write_at(0, b"data")?;
    /// let read = Submission { bo: &bo, access: Access::Read, mocs: MocsClass::BypassLlc };
    /// let lines = device.submit_with(&[read], |reports| {
    ///     // The driver's own EXECBUFFER2; an io::Error of it becomes one of the library with `?`.
    ///     Ok(reports[0].lines)
    /// })?;
    /// assert_eq!(lines, 1);
    /// # Ok::<(), gem_coherency::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`crate::Error::Closed`], [`crate::Error::Purged`], [`crate::Error::DontNeed`], [`crate::Error::LevelChanging`] about a BO;
    /// [`crate::Error::OtherDevice`]; those of mapping a BO that must be flushed. Then `execbuf` was not called, and
    /// lines that were not flushed stay dirty. The error of `execbuf`.
    pub fn submit_with<T>(
        &self,
        submissions: &[Submission<'_>],
        execbuf: impl FnOnce(&[FlushReport]) -> Result<T>,
    ) -> Result<T> {
        self.leave_waits_to_caller(submissions);
        submit::bracket(&self.shared, submissions, execbuf)
    }

    /// Begins a submission like [`Device::submit_with`], for callers that cannot make the ioctl in a closure.
    /// Call [`Prepared::end`] after the ioctl.
    ///
    /// # Errors
    /// As [`Device::submit_with`].
    pub fn begin_submit(&self, submissions: &[Submission<'_>]) -> Result<Prepared> {
        self.leave_waits_to_caller(submissions);
        Prepared::begin(&self.shared, submissions)
    }

    /// Submits an empty batch over the BOs, like [`Device::submit_with`]; returns what was flushed for each.
    ///
    /// # Errors
    /// Those of [`Device::submit_with`] and of EXECBUFFER2: EIO if the GPU is wedged.
    pub fn submit(&self, submissions: &[Submission<'_>]) -> Result<Vec<FlushReport>> {
        let objects: Vec<ExecObject> = submit::exec_objects(submissions)?;
        submit::bracket(&self.shared, submissions, |reports| {
            let mut copies = room("reports", reports.len())?;
            copies.extend_from_slice(reports);
            self.drm().execute(&objects).map(|()| copies)
        })
    }
}

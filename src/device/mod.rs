//! An open device: what it is, and the BOs on it.
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
mod addresses;
mod alloc;
mod reuse;
mod spec;
mod submit;

pub use about::{MapModeInfo, Quirk};
pub(crate) use addresses::{Address, Addresses};
pub use alloc::AllocRequest;
pub(crate) use alloc::created_level;
pub(crate) use reuse::Key;
pub use reuse::ReuseStats;
pub use spec::{DeviceSpec, OpenSoft, link_soft};
pub use submit::{Prepared, Submission};

use std::os::fd::AsFd;
use std::sync::Arc;

use crate::access::FlushReport;
use crate::bo::{self, Bo};
use crate::drm::node::{self, Node};
use crate::drm::{DriverVersion, Drm, ExecObject, MemoryRegion, OpenCounts};
use crate::error::{Error, Result};
use crate::fork::Confined;
use crate::platform::{self, CONSERVATIVE, Call, Caps, Machine};
use crate::policy::Answers;
use crate::policy::kernel::KernelRules;
use crate::tracking::Registry;
use crate::vocabulary::MocsClass;
use gem_coherency_rules::Unknown;
use reuse::Reuse;

/// `I915_MEMORY_CLASS_SYSTEM`: where objects without a placement live.
const CLASS_SYSTEM: u16 = 0;

/// An open device; clones are the same device.
///
/// It belongs to the process that opened it. In a child of fork(2) everything about it and its BOs that can fail is
/// [`Error::OtherProcess`], and nothing is closed, kept, written or waited for; values may be dropped, and the parent's stay
/// as they are. The child opens devices of its own.
#[derive(Clone, Debug)]
pub struct Device {
    shared: Arc<Confined<Shared>>,
}

/// What the BOs of a device share.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) drm: Arc<dyn Drm>,
    pub(crate) machine: Machine,
    pub(crate) rules: KernelRules,
    /// What the driver-side rules say about this hardware.
    pub(crate) answers: Answers,
    /// Whether the PCI id is unknown: then nothing is treated as coherent.
    is_conservative: bool,
    /// Maps each GEM handle to its BO.
    pub(crate) registry: Registry<Arc<Confined<bo::Shared>>>,
    pub(crate) reuse: Reuse,
    /// Tracks the free GPU addresses.
    pub(crate) addresses: Addresses,
    /// Bytes of the memory that objects live in, if the device says.
    memory_bytes: Option<u64>,
}

impl Shared {
    /// What the platform can do.
    pub(crate) fn caps(&self) -> Caps {
        self.machine.caps
    }

    /// Whether the PCI id is unknown, so that nothing is taken to be coherent.
    pub(crate) fn is_conservative(&self) -> bool {
        self.is_conservative
    }

    /// Says of a refusal of `call` why the platform refuses, if that is the reason.
    pub(crate) fn explain(&self, call: Call, what: impl FnOnce() -> String, error: Error) -> Error {
        match (&error, self.machine.refusal(call)) {
            (Error::Ioctl { errno, .. }, Some(refusal)) if *errno == refusal.errno => Error::NotAvailable {
                what: what(),
                platform: self.machine.platform.name,
                why: refusal.why,
                errno: refusal.errno,
            },
            _ => error,
        }
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        self.reuse.trim(self);
    }
}

impl Device {
    /// Opens the device that `spec` names: a path, or `sim:...` where a software device is linked ([`link_soft`]).
    ///
    /// # Errors
    /// [`crate::OpenError::BadDeviceSpec`]; as [`Node::open`] for a path, and as [`Device::from_drm`].
    pub fn open(spec: &str) -> Result<Self> {
        Self::from_drm(match spec.parse()? {
            DeviceSpec::Path(path) => Arc::new(Node::open(path)?),
            DeviceSpec::Soft(name) => spec::open_soft(&name)?,
        })
    }

    /// Opens the first node of i915; never a software device.
    ///
    /// # Errors
    /// [`crate::OpenError::NoDevice`], and as [`Device::from_drm`].
    pub fn open_first() -> Result<Self> {
        Self::from_drm(Arc::new(Node::open(node::find().first()?)?))
    }

    /// Takes an open device, and asks it what it is.
    ///
    /// # Errors
    /// [`Unknown::DeviceId`]: a caller who wants to go on all the same takes
    /// [`Device::with_conservative_platform`]. [`Unknown::KernelTooOld`]; what CHIPSET_ID answers.
    pub fn from_drm(drm: Arc<dyn Drm>) -> Result<Self> {
        let facts = about::facts(drm.as_ref())?;
        let machine = Machine::from_facts(&facts, drm.kernel())?;
        Self::new(drm, machine)
    }

    /// Takes an open device, whose PCI id need not be known: then nothing is taken to be coherent,
    /// every write is flushed and every read invalidates first.
    ///
    /// # Errors
    /// As [`Device::from_drm`], but for the unknown id.
    pub fn with_conservative_platform(drm: Arc<dyn Drm>) -> Result<Self> {
        let facts = about::facts(drm.as_ref())?;
        let machine = match Machine::from_facts(&facts, drm.kernel()) {
            Err(Unknown::DeviceId { id }) => {
                tracing::warn!(id, "unknown PCI ID: nothing is treated as coherent");
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
        // Kernels before 5.8 do not say, and then sizes are left to them.
        let memory_bytes = drm.memory_regions().ok().and_then(|regions| {
            regions.iter().find(|region| region.class == CLASS_SYSTEM).map(|region| region.probed_bytes)
        });
        tracing::debug!(name = drm.name(), platform = machine.platform.name, kernel = %machine.kernel, "device");
        Ok(Self {
            shared: Arc::new(Confined::new(Shared {
                drm,
                machine,
                rules,
                answers: Answers::of(machine.caps),
                is_conservative: machine.platform == &CONSERVATIVE,
                registry: Registry::default(),
                reuse: Reuse::new(),
                addresses: Addresses::new(&machine),
                memory_bytes,
            })),
        })
    }

    /// The platform, the kernel, and what the platform can do under it.
    pub fn machine(&self) -> &Machine {
        &self.shared.machine
    }

    /// The rules of the device's kernel.
    pub fn rules(&self) -> &KernelRules {
        &self.shared.rules
    }

    /// The device's requests themselves; what they do is not tracked.
    pub fn drm(&self) -> &dyn Drm {
        self.shared.drm.as_ref()
    }

    /// Which driver answers.
    ///
    /// # Errors
    /// VERSION's.
    pub fn version(&self) -> Result<DriverVersion> {
        self.drm().version()
    }

    /// Where objects can live.
    ///
    /// # Errors
    /// QUERY's.
    pub fn memory_regions(&self) -> Result<Vec<MemoryRegion>> {
        self.drm().memory_regions()
    }

    /// Every map mode, and whether the platform has it.
    pub fn map_modes(&self) -> Vec<MapModeInfo> {
        about::map_modes(self.machine())
    }

    /// What surprises about the device.
    pub fn quirks(&self) -> Vec<Quirk> {
        about::quirks(self.machine(), self.rules())
    }

    /// What MOCS entry `index` means for coherency.
    pub fn mocs_class(&self, index: u8) -> MocsClass {
        platform::mocs_class(self.machine(), index)
    }

    /// Objects and mappings that are open on the device.
    pub fn open_counts(&self) -> OpenCounts {
        self.drm().open_counts()
    }

    /// Returns whether `bo` was opened on this device.
    pub fn owns(&self, bo: &Bo) -> bool {
        Arc::ptr_eq(&self.shared, &bo.shared().device)
    }

    /// Checks that this process opened the device.
    ///
    /// # Errors
    /// [`Error::OtherProcess`].
    pub fn check_process(&self) -> Result<()> {
        self.shared.check()
    }

    /// Creates a BO, or takes one that was kept for reuse ([`Device::set_reuse_limit`]).
    ///
    /// A new BO reads as zeroes. One that is reused holds bytes of its earlier life on this device, any
    /// of them: then the contents are undefined until they are written.
    ///
    /// # Errors
    /// - [`Error::BadSize`]: 0 bytes, or more than can be; [`Error::NoMemory`]: more than there is memory, or no memory to
    ///   keep account of it;
    /// - [`Error::NotAvailable`]: the platform refuses the caching mode;
    /// - [`Error::Ioctl`]: what GEM_CREATE and the requests after it answer; as [`Bo::map`], if the request names a mode. No
    ///   handle is left open.
    pub fn alloc(&self, request: AllocRequest) -> Result<Bo> {
        let bo = alloc::alloc(&self.shared, request)?;
        if let Some(mode) = request.map {
            bo.map(mode)?;
        }
        Ok(bo)
    }

    /// Creates a dumb buffer (CREATE_DUMB) of a picture with 32 bits per pixel; it is a BO like others.
    ///
    /// # Errors
    /// What CREATE_DUMB returns.
    pub fn alloc_dumb(&self, width: u32, height: u32) -> Result<Bo> {
        alloc::alloc_dumb(&self.shared, width, height)
    }

    /// Keeps up to `bytes` bytes of BOs for reuse, from now on; 0, as in the beginning, keeps nothing.
    ///
    /// A BO whose last clone goes is kept if it was allocated since, nobody else can know it (it was
    /// never exported or imported, nor said to be one for [`Bo::never_reuse`]), it is not on screen, and
    /// its contents are there. While it waits the kernel may take its memory ([`Bo::dont_need`]).
    /// [`Device::alloc`] then rounds sizes up to their class: four for each power of two, up to 64 MiB.
    ///
    /// What is too much is closed, the longest unused first. A submission that finds the GPU wedged
    /// (EIO) sets the limit to 0: such a GPU may still write to BOs that were released.
    pub fn set_reuse_limit(&self, bytes: u64) {
        if self.shared.is_here() {
            self.shared.reuse.set_limit(&self.shared, bytes);
        }
    }

    /// Closes BOs that are kept for reuse once `allocations` more were made without a use for them:
    /// 1024 unless said otherwise.
    pub fn set_reuse_age(&self, allocations: u64) {
        if self.shared.is_here() {
            self.shared.reuse.set_max_age(&self.shared, allocations);
        }
    }

    /// Closes every BO that is kept for reuse; for when memory is short, or the caller's timer says so.
    pub fn trim(&self) {
        if self.shared.is_here() {
            self.shared.reuse.trim(&self.shared);
        }
    }

    /// What became of BOs and of wishes for them since the device was opened.
    pub fn reuse_stats(&self) -> ReuseStats {
        match self.shared.is_here() {
            true => self.shared.reuse.stats(),
            false => ReuseStats::default(),
        }
    }

    /// Opens the BO behind a dma-buf; the same BO if it is open on this device already.
    ///
    /// Nobody knows what the CPU's caches hold of a buffer that comes from elsewhere: its lines are
    /// taken to be dirty and stale, so they are flushed and invalidated once where that matters. A
    /// buffer of another device cannot be mapped, and the kernel writes the caches back for it.
    ///
    /// # Errors
    /// What PRIME_FD_TO_HANDLE answers: EBADF, EINVAL for a file that is no dma-buf.
    pub fn import(&self, dma_buf: impl AsFd) -> Result<Bo> {
        alloc::import(&self.shared, dma_buf.as_fd())
    }

    /// Makes memory and caches right for the GPU's accesses (flushes, invalidates, drains), calls `execbuf`, and
    /// notes what the GPU writes.
    ///
    /// For a driver with an execbuf of its own: `execbuf` makes the ioctl that submits. It is given what was
    /// flushed, one report per submission, in order. While it runs, no BO can be closed or change its caching.
    /// The ioctl belongs inside: a write that is announced and submitted later is missed by a reader that waits
    /// for the GPU in between.
    ///
    /// After EIO nothing is kept for reuse any longer ([`Device::set_reuse_limit`]).
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
    /// [`Error::Closed`], [`Error::Purged`], [`Error::DontNeed`], [`Error::LevelChanging`] about a BO;
    /// [`Error::OtherDevice`]; what mapping answers, if a BO must be mapped to be flushed. Then `execbuf` was not
    /// called, and lines that were not flushed stay dirty. What `execbuf` returns.
    pub fn submit_with<T>(
        &self,
        submissions: &[Submission<'_>],
        execbuf: impl FnOnce(&[FlushReport]) -> Result<T>,
    ) -> Result<T> {
        submit::bracket(&self.shared, submissions, execbuf).map(|(value, _)| value)
    }

    /// Begins what [`Device::submit_with`] brackets, for callers whose ioctl is no closure; [`Prepared::end`] follows the ioctl.
    ///
    /// # Errors
    /// As [`Device::submit_with`].
    pub fn begin_submit(&self, submissions: &[Submission<'_>]) -> Result<Prepared> {
        submit::begin(&self.shared, submissions)
    }

    /// Submits an empty batch over the BOs, as [`Device::submit_with`] does; returns what was flushed for each.
    ///
    /// # Errors
    /// As [`Device::submit_with`], and EXECBUFFER2's: EIO if the GPU is wedged.
    pub fn submit(&self, submissions: &[Submission<'_>]) -> Result<Vec<FlushReport>> {
        let objects: Vec<ExecObject> = submit::exec_objects(submissions)?;
        let ((), reports) = submit::bracket(&self.shared, submissions, |_| self.drm().execute(&objects))?;
        Ok(reports)
    }
}

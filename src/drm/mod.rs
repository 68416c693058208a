//! The uAPI boundary: typed requests to one open device.
//!
//! Two implementations answer them: [`node`], an open `/dev/dri` file, and a software
//! i915 (`gem-coherency-sim`). Everything above this layer runs unchanged on both. Errors keep the errno; requests that
//! a signal interrupts are restarted.

pub mod display;
#[doc(hidden)]
pub mod execbuffer;
pub mod mapping;
pub mod node;

use std::fmt;
use std::os::fd::{BorrowedFd, OwnedFd};

use serde::Serialize;

use display::Display;
pub use mapping::Mapping;

use crate::error::Result;
use crate::platform::EngineClass;
use crate::vocabulary::{Access, CachingMode, Domains, Handle, KernelVersion, MmapMode};

/// What DRM_IOCTL_VERSION says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DriverVersion {
    /// The driver's name: `i915`.
    pub name: String,
    /// Major, minor, patch level.
    pub version: (i32, i32, i32),
    /// The driver's date.
    pub date: String,
    /// The driver's one-line description.
    pub description: String,
}

/// A new object: its name and the size the kernel rounded to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Created {
    /// The object's name.
    pub handle: Handle,
    /// Its size, in bytes.
    pub size_bytes: u64,
}

/// GETPARAM ids (`I915_PARAM_*`) that this crate asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(i32)]
pub enum Param {
    /// The PCI device id.
    ChipsetId = 4,
    /// Whether CPU and GPU share the LLC.
    HasLlc = 17,
    /// Whether the level WT exists.
    HasWt = 27,
    /// Version of GEM_MMAP.
    MmapVersion = 30,
    /// PCI revision.
    Revision = 32,
    /// Version of MMAP_GTT and MMAP_OFFSET.
    MmapGttVersion = 40,
    /// Whether writes through the aperture need only a barrier.
    MmapGttCoherent = 52,
}

impl Param {
    /// The header's name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::ChipsetId => "CHIPSET_ID",
            Self::HasLlc => "HAS_LLC",
            Self::HasWt => "HAS_WT",
            Self::MmapVersion => "MMAP_VERSION",
            Self::Revision => "REVISION",
            Self::MmapGttVersion => "MMAP_GTT_VERSION",
            Self::MmapGttCoherent => "MMAP_GTT_COHERENT",
        }
    }
}

/// A memory region (`drm_i915_memory_region_info`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct MemoryRegion {
    /// `I915_MEMORY_CLASS_*`: 0 system, 1 device.
    pub class: u16,
    /// Which of its class.
    pub instance: u16,
    /// Size, in bytes.
    pub probed_bytes: u64,
}

impl MemoryRegion {
    /// The region's name, for [`Drm::create_in`].
    pub const fn placement(&self) -> Placement {
        Placement { class: self.class, instance: self.instance }
    }
}

/// A memory region's name (`drm_i915_gem_memory_class_instance`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct Placement {
    /// `I915_MEMORY_CLASS_*`: 0 system, 1 device.
    pub class: u16,
    /// Which of its class.
    pub instance: u16,
}

impl Placement {
    /// System memory.
    pub const SYSTEM: Self = Self { class: 0, instance: 0 };
    /// The memory of a discrete device.
    pub const LOCAL: Self = Self { class: 1, instance: 0 };
}

/// What madvise asks for (`I915_MADV_*`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Advice {
    /// The contents are needed.
    WillNeed,
    /// The kernel may take the contents back.
    DontNeed,
}

/// Whether the contents survived until madvise was asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Retained {
    /// They did.
    Yes,
    /// They are gone; the object stays purged.
    Purged,
}

/// What GEM_BUSY reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Busy(pub u32);

/// One object of a submission.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExecObject {
    /// The object.
    pub handle: Handle,
    /// Whether the batch writes it (`EXEC_OBJECT_WRITE`).
    pub access: Access,
}

/// An address that a batch wants of an object, at a place of the batch (`drm_i915_gem_relocation_entry`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Relocation {
    /// Where in the batch the address goes, in bytes; a multiple of 4.
    pub at: u64,
    /// Which of [`Run::objects`].
    pub object: u32,
    /// What is added to the object's address.
    pub delta: u32,
}

/// Who says where the objects of a batch lie in the GPU's address space.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Addresses<'a> {
    /// The caller (`EXEC_OBJECT_PINNED`): the addresses of the objects in order, and last the batch's.
    Pinned(&'a [u64]),
    /// The kernel, which puts them into the batch.
    Relocated(&'a [Relocation]),
}

/// A batch that lies in an object, to be run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run<'a> {
    /// What the batch reads and writes, each once, without the batch.
    pub objects: &'a [ExecObject],
    /// The object that holds the batch, from its first byte on.
    pub batch: Handle,
    /// Bytes of the batch, a multiple of 8.
    pub len_bytes: u32,
    /// Which engine runs it.
    pub engine: EngineClass,
    /// Where everything lies.
    pub addresses: Addresses<'a>,
}

/// Objects and mappings that are still open on a device; for finding leaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize)]
pub struct OpenCounts {
    /// GEM handles.
    pub handles: u64,
    /// CPU mappings.
    pub mappings: u64,
}

/// One open device file, or the software that answers like one.
///
/// A method is one request; its first sentence names the ioctl. Every request fails with
/// [`crate::Error::Ioctl`] and the kernel's errno: ENOENT for an unknown handle (EINVAL from
/// `close`), ENODEV when the device is unplugged or lacks the request.
pub trait Drm: Send + Sync + fmt::Debug {
    /// The device's name: a path, or `sim:...`.
    fn name(&self) -> &str;

    /// The kernel whose rules the device follows.
    fn kernel(&self) -> KernelVersion;

    /// VERSION: which driver answers.
    fn version(&self) -> Result<DriverVersion>;

    /// GETPARAM: one fact; EINVAL for an unknown id, ENODEV for one without a value.
    fn param(&self, param: Param) -> Result<i32>;

    /// QUERY(MEMORY_REGIONS): where objects can live.
    fn memory_regions(&self) -> Result<Vec<MemoryRegion>>;

    /// GEM_CREATE: an object of at least `size_bytes`; EINVAL for 0 and wrap-around, E2BIG, ENOMEM.
    fn create(&self, size_bytes: u64) -> Result<Created>;

    /// GEM_CREATE_EXT with SET_PAT: an object whose PAT index never changes; ENODEV before 12.70.
    fn create_with_pat(&self, size_bytes: u64, pat_index: u32) -> Result<Created>;

    /// GEM_CREATE_EXT with MEMORY_REGIONS: an object that lives in one of these, the first that has
    /// room; its size is rounded up to pages of all of them. EINVAL for none, one that the device
    /// lacks, and one that is named twice.
    fn create_in(&self, size_bytes: u64, placements: &[Placement]) -> Result<Created>;

    /// GEM_CLOSE: gives the name back.
    fn close(&self, handle: Handle) -> Result<()>;

    /// GEM_SET_CACHING: changes the object's level.
    ///
    /// Never returns for an object on screen whose level would change: [`crate::bo`] refuses that.
    fn set_caching(&self, handle: Handle, mode: CachingMode) -> Result<()>;

    /// GEM_GET_CACHING: the mode that the object's level reads back as.
    fn caching(&self, handle: Handle) -> Result<CachingMode>;

    /// GEM_MMAP_OFFSET and mmap(2): maps the whole object.
    fn map(&self, handle: Handle, mode: MmapMode, size_bytes: u64) -> Result<Mapping>;

    /// GEM_MMAP, the legacy way: maps the whole object WB, or WC.
    fn map_legacy(&self, handle: Handle, mode: MmapMode, size_bytes: u64) -> Result<Mapping>;

    /// GEM_SET_DOMAIN: the kernel waits, flushes and invalidates for the domain.
    fn set_domain(&self, handle: Handle, read: Domains, write: Domains) -> Result<()>;

    /// GEM_SW_FINISH: the kernel flushes the object if it is a framebuffer.
    fn sw_finish(&self, handle: Handle) -> Result<()>;

    /// GEM_PREAD: copies out of the object.
    fn pread(&self, handle: Handle, offset: u64, data: &mut [u8]) -> Result<()>;

    /// GEM_PWRITE: copies into the object.
    fn pwrite(&self, handle: Handle, offset: u64, data: &[u8]) -> Result<()>;

    /// GEM_BUSY: which engines still use the object.
    fn busy(&self, handle: Handle) -> Result<Busy>;

    /// GEM_WAIT: waits until the object is idle; ETIME after `timeout_ns` (negative: for ever).
    fn wait(&self, handle: Handle, timeout_ns: i64) -> Result<()>;

    /// GEM_MADVISE: says whether the contents are needed, and learns whether they are still there.
    ///
    /// An object that has no pages is purged at once by [`Advice::DontNeed`].
    fn madvise(&self, handle: Handle, advice: Advice) -> Result<Retained>;

    /// PRIME_HANDLE_TO_FD: a dma-buf of the object.
    fn export(&self, handle: Handle) -> Result<OwnedFd>;

    /// PRIME_FD_TO_HANDLE: the object behind a dma-buf; the same handle for the same object.
    fn import(&self, dma_buf: BorrowedFd<'_>) -> Result<Created>;

    /// DMA_BUF_IOCTL_SYNC with START: the exporter makes the bytes right for the CPU.
    fn begin_dma_buf_access(&self, dma_buf: BorrowedFd<'_>, access: Access) -> Result<()>;

    /// DMA_BUF_IOCTL_SYNC with END: the CPU is done, with what it said when it began.
    fn end_dma_buf_access(&self, dma_buf: BorrowedFd<'_>, access: Access) -> Result<()>;

    /// EXECBUFFER2: runs an empty batch over the objects, so that the kernel hands them to the GPU.
    ///
    /// The implementation brings a batch of its own (MI_BATCH_BUFFER_END) and waits for nothing.
    fn execute(&self, objects: &[ExecObject]) -> Result<()>;

    /// EXECBUFFER2: runs a batch of the caller's, in the default context; waits for nothing.
    ///
    /// EINVAL for an engine that the platform lacks, for relocations where the kernel takes none, and for
    /// addresses that are not whole pages; ENOSPC if the objects do not fit; EIO on a wedged GPU, and after
    /// too many hangs; a batch that hangs is found out later ([`Drm::hangs`]).
    fn run(&self, run: &Run<'_>) -> Result<()>;

    /// GET_RESET_STATS: how many batches of the default context have hung the GPU.
    fn hangs(&self) -> Result<u32>;

    /// The requests about what is shown.
    fn display(&self) -> &dyn Display;

    /// What is open now, without what `execute` brings.
    fn open_counts(&self) -> OpenCounts;
}

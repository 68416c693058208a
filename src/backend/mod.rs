//! The uAPI boundary: typed requests to one open device.
//!
//! [`Drm`] has the requests that the library makes, [`Display`] those of displays, [`Extras`] those that only tools and
//! tests make. [`node`] has two implementations, open `/dev/dri` files of i915 and of xe; a software i915 is another (`gem-coherency-sim`).
//! Everything above this layer runs unchanged on both. Errors keep the errno; requests interrupted by a signal
//! are restarted.

pub mod display;
pub mod execbuffer;
mod extras;
pub mod mapping;
pub mod node;

use std::fmt;
use std::os::fd::{BorrowedFd, OwnedFd};

use display::Display;
pub use extras::{Addresses, Extras, Relocation, Run};
pub(crate) use mapping::MappedLines;
pub use mapping::{Mapping, PciBarrier};

use gem_coherency_policy::{Errno, xe};

use crate::error::{Error, Result};
use crate::vocabulary::{Access, CachingMode, Domains, Handle, KernelVersion, MmapMode};

/// The result of DRM_IOCTL_VERSION.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct DriverVersion {
    /// The driver's name: `i915`, `xe`.
    pub name: String,
    /// Major, minor, patch level.
    pub version: (i32, i32, i32),
    /// The driver's date.
    pub date: String,
    /// The driver's one-line description.
    pub description: String,
}

/// A new object: its handle and its size as rounded by the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Created {
    /// The object's handle.
    pub handle: Handle,
    /// The size in bytes.
    pub size_bytes: u64,
}

/// The GETPARAM ids (`I915_PARAM_*`) that this crate uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(i32)]
pub enum Param {
    /// The PCI device ID.
    ChipsetId = 4,
    /// CPU and GPU share the LLC.
    HasLlc = 17,
    /// The level WT exists.
    HasWt = 27,
    /// Version of GEM_MMAP.
    MmapVersion = 30,
    /// PCI revision.
    Revision = 32,
    /// Version of MMAP_GTT and MMAP_OFFSET.
    MmapGttVersion = 40,
    /// Writes through the aperture need only a barrier.
    MmapGttCoherent = 52,
}

impl Param {
    /// Returns the name in the header.
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
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct MemoryRegion {
    /// `I915_MEMORY_CLASS_*`: 0 system, 1 device.
    pub class: u16,
    /// Its number within its class.
    pub instance: u16,
    /// Size, in bytes.
    pub probed_bytes: u64,
}

impl MemoryRegion {
    /// Returns the region's identifier, for [`Extras::create_in`].
    pub const fn placement(&self) -> Placement {
        Placement { class: self.class, instance: self.instance }
    }
}

/// The identifier of a memory region (`drm_i915_gem_memory_class_instance`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Placement {
    /// `I915_MEMORY_CLASS_*`: 0 system, 1 device.
    pub class: u16,
    /// Its number within its class.
    pub instance: u16,
}

impl Placement {
    /// System memory.
    pub const SYSTEM: Self = Self { class: 0, instance: 0 };
    /// The memory of a discrete device.
    pub const LOCAL: Self = Self { class: 1, instance: 0 };
}

/// The advice of GEM_MADVISE (`I915_MADV_*`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Advice {
    /// The contents are needed.
    WillNeed,
    /// The contents are not needed; the kernel may purge them.
    DontNeed,
}

/// The state of the contents, as GEM_MADVISE reports it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Retained {
    /// The contents exist.
    Yes,
    /// The contents were purged; the object stays purged.
    Purged,
}

/// The result of GEM_BUSY.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Busy(pub u32);

/// An object of a submission.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExecObject {
    /// The object.
    pub handle: Handle,
    /// Write if the batch writes the object (`EXEC_OBJECT_WRITE`).
    pub access: Access,
}

/// Numbers of open objects and mappings of a device, for finding leaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct OpenCounts {
    /// GEM handles.
    pub handles: u64,
    /// CPU mappings.
    pub mappings: u64,
}

/// An open device file, real or of a software device.
///
/// A method makes one request; its first sentence names the ioctl. Every request fails with
/// [`crate::Error::Ioctl`] and the kernel's errno: ENOENT for an unknown handle (EINVAL from `close`); ENODEV
/// if the device is unplugged or lacks the request.
pub trait Drm: Send + Sync + fmt::Debug {
    /// Returns the device's name: a path, or `sim:...`.
    fn name(&self) -> &str;

    /// Returns the device's open file; `None` for a software device.
    fn file(&self) -> Option<BorrowedFd<'_>>;

    /// Returns the kernel version whose rules the device follows.
    fn kernel(&self) -> KernelVersion;

    /// Returns the device of xe, whose rules differ; `None`, the default, for one of i915.
    fn xe(&self) -> Option<xe::Device> {
        None
    }

    /// VERSION: returns the driver's name and version.
    fn version(&self) -> Result<DriverVersion>;

    /// GETPARAM: returns a parameter; EINVAL for an unknown id, ENODEV for one without a value.
    fn param(&self, param: Param) -> Result<i32>;

    /// QUERY(MEMORY_REGIONS): lists the memory regions for objects.
    fn memory_regions(&self) -> Result<Vec<MemoryRegion>>;

    /// GEM_CREATE: creates an object of at least `size_bytes`; EINVAL for 0 and wrap-around, E2BIG, ENOMEM.
    fn create(&self, size_bytes: u64) -> Result<Created>;

    /// GEM_CREATE_EXT with SET_PAT: creates an object with a fixed PAT index; ENODEV before 12.70.
    fn create_with_pat(&self, size_bytes: u64, pat_index: u32) -> Result<Created>;

    /// Creates an object whose caching is `mode`, for good; ENODEV, the default, where SET_CACHING or a PAT index selects it.
    fn create_cached(&self, size_bytes: u64, mode: CachingMode) -> Result<Created> {
        let _ = (size_bytes, mode);
        Err(Error::Ioctl { request: "an object of a caching mode", errno: Errno::ENODEV })
    }

    /// Notes how an object of the caller's was created under xe. The default does nothing: i915 is asked.
    fn learn(&self, handle: Handle, object: xe::Object) {
        let _ = (handle, object);
    }

    /// Returns how an open object was created under xe; `None`, the default, for an unknown one, and under i915.
    fn known(&self, handle: Handle) -> Option<xe::Object> {
        let _ = handle;
        None
    }

    /// Forgets an object of the caller's, without closing it. The default does nothing.
    fn forget(&self, handle: Handle) -> Result<()> {
        let _ = handle;
        Ok(())
    }

    /// GEM_CLOSE: closes the handle.
    fn close(&self, handle: Handle) -> Result<()>;

    /// GEM_SET_CACHING: changes the object's level.
    ///
    /// Never returns for an object on screen whose level would change: [`crate::object::bo`] refuses such a change.
    fn set_caching(&self, handle: Handle, mode: CachingMode) -> Result<()>;

    /// GEM_GET_CACHING: returns the mode as which the object's level reads back.
    fn caching(&self, handle: Handle) -> Result<CachingMode>;

    /// GEM_MMAP_OFFSET and mmap(2): maps the whole object.
    fn map(&self, handle: Handle, mode: MmapMode, size_bytes: u64) -> Result<Mapping>;

    /// MMAP_OFFSET with PCI_BARRIER and mmap(2), of xe: maps the barrier page; ENODEV, the default, under i915.
    fn pci_barrier(&self) -> Result<PciBarrier> {
        Err(Error::Ioctl { request: "the barrier page", errno: Errno::ENODEV })
    }

    /// GEM_SET_DOMAIN: the kernel waits, flushes and invalidates for the domain.
    fn set_domain(&self, handle: Handle, read: Domains, write: Domains) -> Result<()>;

    /// GEM_BUSY: returns which engines still use the object.
    fn busy(&self, handle: Handle) -> Result<Busy>;

    /// GEM_WAIT: waits until the object is idle; ETIME after `timeout_ns` (negative: no timeout).
    fn wait(&self, handle: Handle, timeout_ns: i64) -> Result<()>;

    /// GEM_MADVISE: sets whether the contents are needed; returns whether they still exist.
    ///
    /// [`Advice::DontNeed`] purges an object without pages at once.
    fn madvise(&self, handle: Handle, advice: Advice) -> Result<Retained>;

    /// PRIME_HANDLE_TO_FD: exports the object as a dma-buf.
    fn export(&self, handle: Handle) -> Result<OwnedFd>;

    /// PRIME_FD_TO_HANDLE: imports a dma-buf; the same object always gets the same handle.
    fn import(&self, dma_buf: BorrowedFd<'_>) -> Result<Created>;

    /// EXECBUFFER2: runs an empty batch over the objects, so that the kernel hands them to the GPU.
    ///
    /// The implementation has a batch of its own (MI_BATCH_BUFFER_END). Does not wait.
    fn execute(&self, objects: &[ExecObject]) -> Result<()>;

    /// Returns the requests that the library does not make; ENODEV, the default, for a device without them.
    fn extras(&self) -> Result<&dyn Extras> {
        Err(Error::Ioctl { request: "a request of backend::Extras", errno: Errno::ENODEV })
    }

    /// Returns the display requests; ENODEV, the default, for a device without a display.
    fn display(&self) -> Result<&dyn Display> {
        Err(Error::Ioctl { request: "a request of backend::Display", errno: Errno::ENODEV })
    }

    /// Returns the open objects and mappings, without the batch object of `execute`.
    fn open_counts(&self) -> OpenCounts;
}

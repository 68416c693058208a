//! An object's caching state as the kernel tracks it.

use crate::vocabulary::{CacheLevel, Coherency, Domains, words};

words! {
    /// The source of an object's pages.
    Backing, "backing" {
        /// Ordinary system memory (GEM_CREATE on integrated devices).
        Shmem = "shmem",
        /// The caller's memory.
        Userptr = "userptr",
        /// Another device's dma-buf.
        Import = "import",
        /// Local memory of a discrete device, or system memory that migrates to and from it.
        Local = "local",
        /// System memory only, on a discrete device.
        LocalSystem = "local-system",
        /// Memory reserved by the firmware.
        Stolen = "stolen",
        /// The kernel's own objects: rings, scratch, page tables; not zeroed.
        Internal = "internal",
        /// A physically contiguous copy, for cursors of the oldest displays.
        Phys = "phys",
    }
}

impl Backing {
    /// Returns whether the CPU can flush the pages by address (`I915_BO_FLAG_STRUCT_PAGE`).
    pub const fn has_struct_pages(self) -> bool {
        match self {
            Self::Shmem | Self::Userptr | Self::LocalSystem | Self::Internal => true,
            Self::Import | Self::Local | Self::Stolen | Self::Phys => false,
        }
    }
}

/// An object's state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Snapshot {
    /// The source of the pages.
    pub backing: Backing,
    /// `cache_level`, or the level that the PAT index stands for.
    pub level: CacheLevel,
    /// The PAT index, if userspace chose it at creation (`pat_set_by_user`).
    pub user_pat: Option<u8>,
    /// `cache_coherent`.
    pub coherent: Coherency,
    /// `cache_dirty`.
    pub dirty: bool,
    /// `read_domains`.
    pub read_domains: Domains,
    /// `write_domain`: empty or one domain.
    pub write_domain: Domains,
    /// Pages are present.
    pub pages: bool,
    /// The object is a framebuffer.
    pub framebuffer: bool,
    /// The display engine shows the object.
    pub pinned: bool,
    /// `I915_BO_ALLOC_USER`: userspace may see the pages, so they are zeroed first.
    pub user: bool,
}

/// The way in which an object is created.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Creation {
    /// GEM_CREATE, GEM_CREATE_EXT without PAT, CREATE_DUMB.
    User,
    /// GEM_CREATE_EXT with SET_PAT.
    UserWithPat(u8),
    /// GEM_USERPTR.
    Userptr,
    /// PRIME_FD_TO_HANDLE of another device's buffer.
    Import,
    /// An internal object of the kernel.
    Internal,
    /// Stolen memory.
    Stolen,
    /// An object that became a physically contiguous copy.
    Phys,
    /// GEM_CREATE_EXT with a placement in local memory.
    Local,
}

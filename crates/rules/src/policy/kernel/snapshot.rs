//! An object's caching state as the kernel keeps it.

use crate::vocabulary::{CacheLevel, Coherency, Domains, words};

words! {
    /// What an object's pages come from.
    Backing, "backing" {
        /// Ordinary system memory (GEM_CREATE on integrated devices).
        Shmem = "shmem",
        /// The caller's own memory.
        Userptr = "userptr",
        /// Another device's dma-buf.
        Import = "import",
        /// Local memory of a discrete device, or system memory that moves with it.
        Local = "local",
        /// System memory only, of a discrete device.
        LocalSystem = "local-system",
        /// Memory that firmware set aside.
        Stolen = "stolen",
        /// The kernel's own objects: rings, scratch, page tables; not zeroed.
        Internal = "internal",
        /// A physically contiguous copy, for cursors of the oldest displays.
        Phys = "phys",
    }
}

impl Backing {
    /// Whether the CPU can flush the pages by address (`I915_BO_FLAG_STRUCT_PAGE`).
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
    /// What the pages come from.
    pub backing: Backing,
    /// `cache_level`, or the level that the PAT index means.
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
    /// Whether pages are present.
    pub pages: bool,
    /// Whether it is a framebuffer.
    pub framebuffer: bool,
    /// Whether the display engine shows it.
    pub pinned: bool,
    /// `I915_BO_ALLOC_USER`: userspace may see it, so it must be zeroed first.
    pub user: bool,
}

/// How an object comes to be.
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
    /// The kernel's own.
    Internal,
    /// Stolen memory.
    Stolen,
    /// An object that became a physically contiguous copy.
    Phys,
    /// GEM_CREATE_EXT with a placement in local memory.
    Local,
}

//! The requests that tools and tests make, and the library does not.

use std::fmt;
use std::os::fd::BorrowedFd;

use gem_coherency_policy::{Errno, xe};

use super::{Created, ExecObject, Mapping, Placement};
use crate::error::{Error, Result};
use crate::platform::EngineClass;
use crate::vocabulary::{Access, Handle, MmapMode};

/// An object's address to be written into a batch (`drm_i915_gem_relocation_entry`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Relocation {
    /// The offset in the batch in bytes, a multiple of 4.
    pub at: u64,
    /// The object's index in [`Run::objects`].
    pub object: u32,
    /// The offset that is added to the object's address.
    pub delta: u32,
}

/// The way in which the objects of a batch get their GPU addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Addresses<'a> {
    /// The caller chooses them (`EXEC_OBJECT_PINNED`): the addresses of the objects in order, then the
    /// batch's.
    Pinned(&'a [u64]),
    /// The kernel chooses them and writes them into the batch.
    Relocated(&'a [Relocation]),
}

/// A batch in an object, to be run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run<'a> {
    /// The objects that the batch reads and writes, each once, without the batch itself.
    pub objects: &'a [ExecObject],
    /// The object that holds the batch, which starts at its first byte.
    pub batch: Handle,
    /// The size of the batch in bytes, a multiple of 8.
    pub len_bytes: u32,
    /// The engine that runs it.
    pub engine: EngineClass,
    /// The GPU addresses.
    pub addresses: Addresses<'a>,
}

/// The requests of an open device file that the library does not make.
///
/// Methods and errors are as those of [`Drm`](super::Drm).
pub trait Extras: Send + Sync + fmt::Debug {
    /// GEM_CREATE_EXT with MEMORY_REGIONS: creates an object in one of these regions, the first with room;
    /// its size is rounded up to a multiple of the page sizes of all. EINVAL for an empty list, a region that
    /// the device lacks, and a duplicate.
    fn create_in(&self, size_bytes: u64, placements: &[Placement]) -> Result<Created>;

    /// GEM_CREATE of xe: creates an object as `create` says, with the kernel's own answer: no check is made before it. ENODEV, the default, under
    /// i915.
    fn create_by(&self, create: &xe::Create) -> Result<Created> {
        let _ = create;
        Err(Error::Ioctl { request: "DRM_IOCTL_XE_GEM_CREATE", errno: Errno::ENODEV })
    }

    /// VM_BIND of xe: binds all of an object at an address below 2^46, by the PAT index of every batch that names it there ([`Self::run`]), until it
    /// is closed, or something else is bound there. The kernel's own answer: no check is made before it. ENODEV, the default, under i915.
    fn bind(&self, handle: Handle, address: u64, pat_index: u16) -> Result<()> {
        let _ = (handle, address, pat_index);
        Err(Error::Ioctl { request: "DRM_IOCTL_XE_VM_BIND", errno: Errno::ENODEV })
    }

    /// mmap(2) of anonymous memory, and GEM_USERPTR: creates an object of new pages of this process.
    ///
    /// Returns two write-back mappings of the pages, so that one can be adopted; the pages are unmapped with the last one,
    /// which has to exist as long as the object is used. ENODEV where the GPU cannot look the CPU's caches up; EINVAL for 0
    /// and for a part of a page; E2BIG, ENOMEM.
    fn create_userptr(&self, size_bytes: u64) -> Result<(Created, [Mapping; 2])>;

    /// GEM_MMAP, the legacy request: maps the whole object WB or WC.
    fn map_legacy(&self, handle: Handle, mode: MmapMode, size_bytes: u64) -> Result<Mapping>;

    /// GEM_SW_FINISH: the kernel flushes the object if it is a framebuffer.
    fn sw_finish(&self, handle: Handle) -> Result<()>;

    /// GEM_PREAD: copies out of the object.
    fn pread(&self, handle: Handle, offset: u64, data: &mut [u8]) -> Result<()>;

    /// GEM_PWRITE: copies into the object.
    fn pwrite(&self, handle: Handle, offset: u64, data: &[u8]) -> Result<()>;

    /// DMA_BUF_IOCTL_SYNC with START: begins a CPU access; the exporter makes the bytes current for the CPU.
    fn begin_dma_buf_access(&self, dma_buf: BorrowedFd<'_>, access: Access) -> Result<()>;

    /// DMA_BUF_IOCTL_SYNC with END: ends a CPU access; `access` must be the same as at its beginning.
    fn end_dma_buf_access(&self, dma_buf: BorrowedFd<'_>, access: Access) -> Result<()>;

    /// EXECBUFFER2, or VM_BIND and EXEC: runs a batch of the caller's in the default context. Does not wait. Under xe an object that no
    /// [`Self::bind`] bound is bound at its address by the index of its caching mode.
    ///
    /// EINVAL for an engine that the platform lacks, for relocations where the kernel accepts none, and for
    /// addresses that are not page-aligned; ENOSPC if the objects do not fit; EIO on a wedged GPU, and after
    /// too many hangs. A hang of the batch itself is reported later ([`Extras::hangs`]).
    fn run(&self, run: &Run<'_>) -> Result<()>;

    /// GET_RESET_STATS, or EXEC_QUEUE_GET_PROPERTY: returns how many batches of the default context hung the GPU; under xe, how many queues are banned
    /// for it.
    fn hangs(&self) -> Result<u32>;
}

//! An open `/dev/dri` file of the i915 driver, or of xe ([`XeNode`]).
//!
//! [`open()`] opens a path or reports what is wrong with it; [`find`] searches for a suitable path. A
//! [`Node`] implements the requests of [`Drm`] and [`Extras`] by the kernel's own, one ioctl per method.
//!
//! # Safety
//! The requests are made in `request`, `facts`, `objects`, `access`, `submit`, `display` and `xe` below this
//! module.
//! A request's struct has the size its code carries (`uapi` asserts both), its fields are integers,
//! and every address in it is that of memory borrowed for the call. Files and mappings that the
//! kernel returns are owned at once.
#![allow(unsafe_code)]

mod access;
mod card;
mod display;
mod facts;
mod objects;
mod open;
mod request;
mod submit;
mod xe;

use std::collections::HashSet;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use card::Card;
use display::DisplayNode;
pub use open::{Found, find, find_in, open, open_fd};
pub use xe::XeNode;

use crate::backend::display::Display;
use crate::backend::mapping::Mapping;
use crate::backend::{
    Advice, Busy, Created, DriverVersion, Drm, ExecObject, Extras, MemoryRegion, OpenCounts, Param,
    Placement, Retained, Run,
};
use crate::error::{Error, Result};
use crate::sync::{Mutex, MutexGuard};
use crate::vocabulary::{Access, CachingMode, Domains, Handle, KernelVersion, MmapMode};
use gem_coherency_uapi::dma_buf::{DMA_BUF_SYNC_END, DMA_BUF_SYNC_START};

/// An open i915 device file; closing it closes every handle that is still open on it.
///
/// [`OpenCounts`] do not include the batch object of [`Drm::execute`]. In a child of fork(2) every request
/// fails with [`crate::Error::OtherProcess`].
#[derive(Debug)]
pub struct Node {
    card: Card,
    /// The open handles. A set, because importing may return the same handle again.
    handles: Mutex<HashSet<Handle>>,
    batch: submit::Batch,
    close_errors: AtomicU64,
}

impl Node {
    /// Returns how often the kernel refused to close a handle.
    pub fn close_errors(&self) -> u64 {
        // Relaxed: a statistic; it publishes no other data.
        self.close_errors.load(Ordering::Relaxed)
    }

    /// Returns the file, for a request; see [`Card::fd`].
    fn fd(&self) -> Result<BorrowedFd<'_>> {
        self.card.fd()
    }

    fn handles(&self) -> MutexGuard<'_, HashSet<Handle>> {
        self.handles.lock()
    }

    /// Records a new handle.
    fn counted(&self, created: Created) -> Created {
        self.handles().insert(created.handle);
        created
    }

    /// Closes a handle and counts a refusal.
    fn close(&self, handle: Handle) -> Result<()> {
        let fd = self.fd()?;
        objects::close(fd, handle).inspect_err(|_| {
            // Relaxed: as in `close_errors`.
            self.close_errors.fetch_add(1, Ordering::Relaxed);
        })
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        if !self.card.owner.is_here() {
            // Closes only this process's copy of the file.
            return;
        }
        let left = self.handles().len();
        let batch = self.batch.take().map(|handle| self.close(handle));
        tracing::debug!(
            name = self.card.name,
            handles = left,
            batch = batch.map(|result| result.is_ok()),
            close_errors = self.close_errors(),
            "close"
        );
    }
}

impl Drm for Node {
    fn name(&self) -> &str {
        &self.card.name
    }

    fn file(&self) -> Option<BorrowedFd<'_>> {
        Some(self.card.file())
    }

    fn kernel(&self) -> KernelVersion {
        self.card.kernel
    }

    fn version(&self) -> Result<DriverVersion> {
        facts::version(self.fd()?)
    }

    fn param(&self, param: Param) -> Result<i32> {
        facts::param(self.fd()?, param as i32)
    }

    fn memory_regions(&self) -> Result<Vec<MemoryRegion>> {
        facts::memory_regions(self.fd()?)
    }

    fn create(&self, size_bytes: u64) -> Result<Created> {
        objects::create(self.fd()?, size_bytes).map(|created| self.counted(created))
    }

    fn create_with_pat(&self, size_bytes: u64, pat_index: u32) -> Result<Created> {
        objects::create_with_pat(self.fd()?, size_bytes, pat_index).map(|created| self.counted(created))
    }

    fn close(&self, handle: Handle) -> Result<()> {
        self.card.owner.check()?;
        // Removed first: after the close the kernel may return the same handle to another thread.
        let was_open = self.handles().remove(&handle);
        self.close(handle).inspect_err(|_| {
            if was_open {
                self.handles().insert(handle);
            }
        })
    }

    fn set_caching(&self, handle: Handle, mode: CachingMode) -> Result<()> {
        objects::set_caching(self.fd()?, handle, mode)
    }

    fn caching(&self, handle: Handle) -> Result<CachingMode> {
        objects::caching(self.fd()?, handle)
    }

    fn map(&self, handle: Handle, mode: MmapMode, size_bytes: u64) -> Result<Mapping> {
        let offset = access::mmap_offset(self.fd()?, handle, mode)?;
        self.card.map(handle, mode, offset, size_bytes)
    }

    fn set_domain(&self, handle: Handle, read: Domains, write: Domains) -> Result<()> {
        access::set_domain(self.fd()?, handle, read, write)
    }

    fn busy(&self, handle: Handle) -> Result<Busy> {
        access::busy(self.fd()?, handle)
    }

    fn wait(&self, handle: Handle, timeout_ns: i64) -> Result<()> {
        access::wait(self.fd()?, handle, timeout_ns)
    }

    fn madvise(&self, handle: Handle, advice: Advice) -> Result<Retained> {
        objects::madvise(self.fd()?, handle, advice)
    }

    fn export(&self, handle: Handle) -> Result<OwnedFd> {
        objects::export(self.fd()?, handle)
    }

    fn import(&self, dma_buf: BorrowedFd<'_>) -> Result<Created> {
        let handle = objects::import(self.fd()?, dma_buf)?;
        let is_new = self.handles().insert(handle);
        let size_bytes = objects::dma_buf_size(dma_buf).inspect_err(|_| {
            if is_new {
                // An error of closing is counted; the caller gets the error of the size.
                let _ = self.close(handle);
            }
        })?;
        Ok(Created { handle, size_bytes })
    }

    fn execute(&self, objects: &[ExecObject]) -> Result<()> {
        let fd = self.fd()?;
        submit::execute(fd, objects, self.batch.handle(fd)?)
    }

    fn extras(&self) -> Result<&dyn Extras> {
        Ok(self)
    }

    fn display(&self) -> Result<&dyn Display> {
        Ok(self)
    }

    fn open_counts(&self) -> OpenCounts {
        self.card.open_counts(|| self.handles().len())
    }
}

impl DisplayNode for Node {
    fn card(&self) -> &Card {
        &self.card
    }

    fn record_dumb(&self, created: Created) {
        self.counted(created);
    }

    fn no_framebuffer(&self, _: Handle, error: Error) -> Error {
        error
    }
}

impl Extras for Node {
    fn create_in(&self, size_bytes: u64, placements: &[Placement]) -> Result<Created> {
        objects::create_in(self.fd()?, size_bytes, placements).map(|created| self.counted(created))
    }

    fn create_userptr(&self, size_bytes: u64) -> Result<(Created, [Mapping; 2])> {
        let pages = Arc::new(access::mmap_anonymous(size_bytes)?);
        let created =
            objects::userptr(self.fd()?, &pages, size_bytes).map(|created| self.counted(created))?;
        let mapping = || Mapping::from_own_pages(created.handle, Arc::clone(&pages), self.card.counted());
        Ok((created, [mapping(), mapping()]))
    }

    fn map_legacy(&self, handle: Handle, mode: MmapMode, size_bytes: u64) -> Result<Mapping> {
        let pages = access::mmap_legacy(self.fd()?, handle, mode, size_bytes)?;
        Ok(Mapping::from_legacy(handle, pages, mode, self.card.counted()))
    }

    fn sw_finish(&self, handle: Handle) -> Result<()> {
        access::sw_finish(self.fd()?, handle)
    }

    fn pread(&self, handle: Handle, offset: u64, data: &mut [u8]) -> Result<()> {
        access::pread(self.fd()?, handle, offset, data)
    }

    fn pwrite(&self, handle: Handle, offset: u64, data: &[u8]) -> Result<()> {
        access::pwrite(self.fd()?, handle, offset, data)
    }

    fn begin_dma_buf_access(&self, dma_buf: BorrowedFd<'_>, access: Access) -> Result<()> {
        objects::sync(dma_buf, DMA_BUF_SYNC_START, access)
    }

    fn end_dma_buf_access(&self, dma_buf: BorrowedFd<'_>, access: Access) -> Result<()> {
        objects::sync(dma_buf, DMA_BUF_SYNC_END, access)
    }

    fn run(&self, run: &Run<'_>) -> Result<()> {
        submit::run(self.fd()?, run)
    }

    fn hangs(&self) -> Result<u32> {
        submit::hangs(self.fd()?)
    }
}

//! A CPU mapping of a buffer object, through which all of its bytes are accessed.
//!
//! # Safety
//! No reference to mapped memory is ever created, because the GPU, another thread or another process may
//! write it at any time; bytes are accessed by copies that may race with each other ([`cacheops::copy_in`]).
//! Every pointer is derived from a range that was checked against the mapping's length, and the memory stays
//! mapped until the `Mapping` is dropped, or until what `Mapping::detach` returned is, whose caller excludes accesses.
#![allow(unsafe_code)]

mod bytes;
mod lines;
mod pages;

use std::ptr::{NonNull, null_mut};
use std::sync::Arc;
use std::sync::atomic::{AtomicPtr, Ordering};

use gem_coherency_policy::Errno;
use memmap2::MmapRaw;

use crate::cacheops::{self, LineOp};
use crate::error::{Error, Result};
use crate::sync::{Mutex, MutexGuard};
use crate::tracking::Remap;
use crate::units::{ByteRange, LINE_BYTES};
use crate::vocabulary::{Handle, MmapMode};
pub use bytes::SharedBytes;
pub(crate) use lines::MappedLines;
pub use pages::{Counted, LegacyPages, PciBarrier, SoftMemory};
use pages::{KernelPages, Memory, Pages};

/// The bytes that an access uses.
#[derive(Clone, Debug)]
enum Bytes {
    /// The first of the kernel's pages.
    Kernel(*mut u8),
    /// Those of the software device.
    Soft(Arc<dyn SoftMemory>),
}

/// The pages that [`Mapping::detach`] took.
#[derive(Debug)]
pub(crate) struct Detached {
    _pages: Option<Pages>,
}

/// A mapping of a whole buffer object in this process's address space; unmapped when dropped.
///
/// Threads may copy in and out concurrently with each other and with the GPU: every byte read was stored by
/// some agent. Guards do not order accesses among themselves; callers whose ranges overlap must do so.
#[derive(Debug)]
pub struct Mapping {
    /// The object, as traces name it.
    handle: Handle,
    mode: MmapMode,
    len: u64,
    /// The address of the kernel's pages, so that an access takes no lock; null if `pages` has none.
    first: AtomicPtr<u8>,
    /// `None` after [`Mapping::detach`].
    pages: Mutex<Option<Pages>>,
}

impl Mapping {
    /// Creates a mapping from pages that mmap(2) mapped.
    pub fn from_kernel(handle: Handle, pages: MmapRaw, mode: MmapMode, counted: Counted) -> Self {
        let len = pages.len() as u64;
        Self::new(handle, Memory::Kernel(KernelPages::Offset(pages)), mode, len, counted)
    }

    /// Creates a mapping from pages that GEM_MMAP mapped.
    pub fn from_legacy(handle: Handle, pages: LegacyPages, mode: MmapMode, counted: Counted) -> Self {
        let len = pages.len();
        Self::new(handle, Memory::Kernel(KernelPages::Legacy(pages)), mode, len, counted)
    }

    /// Creates a write-back mapping from pages of this process of which an object was made (USERPTR).
    pub fn from_own_pages(handle: Handle, pages: Arc<MmapRaw>, counted: Counted) -> Self {
        let len = pages.len() as u64;
        Self::new(handle, Memory::Kernel(KernelPages::Own(pages)), MmapMode::Wb, len, counted)
    }

    /// Creates a mapping from `len` bytes at `first` that the caller mapped in `mode`, and unmaps itself
    /// ([`crate::device::AdoptRequest::mapped`]).
    ///
    /// # Safety
    /// They are all bytes of object `handle`, from a page's start, mapped for reading and writing in this mode, until
    /// the `Mapping` is dropped or unmapped. No reference to them exists.
    pub unsafe fn of_caller(handle: Handle, first: NonNull<u8>, len: u64, mode: MmapMode) -> Self {
        let counted = Counted::new(&Arc::default());
        Self::new(handle, Memory::Kernel(KernelPages::Callers(first)), mode, len, counted)
    }

    /// Creates a mapping of `len` bytes of a software device.
    pub fn from_soft(
        handle: Handle,
        memory: Arc<dyn SoftMemory>,
        mode: MmapMode,
        len: u64,
        counted: Counted,
    ) -> Self {
        Self::new(handle, Memory::Soft(memory), mode, len, counted)
    }

    fn new(handle: Handle, memory: Memory, mode: MmapMode, len: u64, counted: Counted) -> Self {
        let first = AtomicPtr::new(match &memory {
            Memory::Kernel(pages) => pages.first(),
            Memory::Soft(_) => null_mut(),
        });
        Self { handle, mode, len, first, pages: Mutex::new(Some(Pages { memory, _counted: counted })) }
    }

    fn pages(&self) -> MutexGuard<'_, Option<Pages>> {
        self.pages.lock()
    }

    /// Returns the bytes; fails after [`Mapping::detach`].
    #[inline]
    fn bytes(&self) -> Result<Bytes> {
        // Relaxed: the slot of the mapping ([`crate::tracking::Mappings`]) publishes the pages.
        let first = self.first.load(Ordering::Relaxed);
        if first.is_null() { self.soft_bytes() } else { Ok(Bytes::Kernel(first)) }
    }

    fn soft_bytes(&self) -> Result<Bytes> {
        match &*self.pages() {
            Some(Pages { memory: Memory::Soft(memory), .. }) => Ok(Bytes::Soft(Arc::clone(memory))),
            Some(Pages { memory: Memory::Kernel(_), .. }) | None => {
                Err(Error::Ioctl { request: "page fault", errno: Errno::EFAULT })
            }
        }
    }

    /// Takes the pages, which are unmapped, or left to the caller who mapped them, when the result is dropped. Accesses
    /// fail until [`Remap::remap`].
    ///
    /// # Safety
    /// No function of this `Mapping` or of its [`MappedLines`] accesses the bytes when the result is dropped.
    pub(crate) unsafe fn detach(&self) -> Detached {
        // Relaxed: as in `bytes`.
        self.first.store(null_mut(), Ordering::Relaxed);
        Detached { _pages: self.pages().take() }
    }

    /// Returns the mode of the mapping.
    #[inline]
    pub fn mode(&self) -> MmapMode {
        self.mode
    }

    /// Returns the size in bytes.
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Returns whether the mapping is empty; never true for an object.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns the address of the memory; null after [`crate::object::bo::Bo::unmap`].
    ///
    /// Stores through the pointer are not tracked: mark them with [`crate::object::bo::Bo::mark_written`].
    pub fn as_ptr(&self) -> *mut u8 {
        match self.bytes() {
            Ok(Bytes::Kernel(first)) => first,
            Ok(Bytes::Soft(memory)) => memory.as_ptr(),
            Err(_) => null_mut(),
        }
    }

    /// Copies `data` to `offset`.
    ///
    /// # Errors
    /// [`crate::Error::RangeOutOfBounds`] if the range exceeds the mapping; on a software device,
    /// [`crate::Error::Ioctl`] naming `page fault` where a real device raises SIGBUS. The copy may then be
    /// partially done.
    #[inline]
    pub fn copy_in(&self, offset: u64, data: &[u8]) -> Result<()> {
        let range = ByteRange::within(offset, data.len() as u64, self.len)?;
        match self.bytes()? {
            // SAFETY:
            // - destination: `range` lies within `self.len` bytes that stay mapped writable;
            // - no reference to mapped memory exists.
            Bytes::Kernel(first) => unsafe {
                cacheops::copy_in(first.add(range.offset() as usize), data);
            },
            Bytes::Soft(memory) => memory.store(range.offset(), data)?,
        }
        Ok(())
    }

    /// Copies `data` to `offset`, if these are pages of the kernel; returns whether they are.
    #[inline(always)]
    pub fn copy_to_pages(&self, offset: u64, data: &[u8]) -> bool {
        // Relaxed: as in `bytes`.
        let first = self.first.load(Ordering::Relaxed);
        let is_within = offset.checked_add(data.len() as u64).is_some_and(|end| end <= self.len);
        if first.is_null() || !is_within {
            return false;
        }
        // SAFETY: as in `copy_in`.
        unsafe { cacheops::copy_in(first.add(offset as usize), data) }
        true
    }

    /// Copies `data` to `offset` by non-temporal stores ([`cacheops::copy_non_temporal`]). It is in memory once
    /// this thread has called [`Mapping::publish`], and no line of it is dirty.
    ///
    /// # Errors
    /// [`crate::Error::RangeOutOfBounds`] if the range exceeds the mapping; on a software device,
    /// [`crate::Error::Ioctl`] naming `page fault` where a real device raises SIGBUS. The copy may then be
    /// partially done.
    #[inline]
    pub fn copy_non_temporal(&self, offset: u64, data: &[u8]) -> Result<()> {
        let range = ByteRange::within(offset, data.len() as u64, self.len)?;
        match self.bytes()? {
            // SAFETY:
            // - destination: `range` lies within `self.len` bytes that stay mapped writable;
            // - no reference to mapped memory exists.
            Bytes::Kernel(first) => unsafe {
                cacheops::copy_non_temporal(first.add(range.offset() as usize), data);
            },
            Bytes::Soft(memory) => memory.store_non_temporal(range.offset(), data)?,
        }
        Ok(())
    }

    /// Copies `data` to `offset` through the CPU's caches and writes its lines back
    /// ([`cacheops::copy_through`]). It is in memory once this thread has called [`Mapping::publish`].
    ///
    /// # Errors
    /// [`crate::Error::RangeOutOfBounds`] if the range exceeds the mapping; on a software device,
    /// [`crate::Error::Ioctl`] naming `page fault` where a real device raises SIGBUS. The copy may then be
    /// partially done.
    pub fn copy_through(&self, offset: u64, data: &[u8]) -> Result<()> {
        let range = ByteRange::within(offset, data.len() as u64, self.len)?;
        match self.bytes()? {
            // SAFETY: as in `copy_non_temporal`.
            Bytes::Kernel(first) => unsafe {
                cacheops::copy_through(first.add(range.offset() as usize), data);
            },
            Bytes::Soft(memory) => {
                memory.store(range.offset(), data)?;
                memory.lines(range.lines(), LineOp::WriteBack)?;
            }
        }
        Ok(())
    }

    /// Orders bytes copied by non-temporal stores or through the caches before any later store, so that an agent notified by
    /// such a store finds them in memory.
    ///
    /// # Errors
    /// As [`Mapping::drain`].
    #[inline]
    pub fn publish(&self) -> Result<()> {
        match self.bytes()? {
            Bytes::Kernel(_) => {
                cacheops::fence_for(LineOp::WriteBack);
                Ok(())
            }
            Bytes::Soft(memory) => memory.drain(),
        }
    }

    /// Orders loads through this mapping after earlier flushes, except loads that hit the cache.
    pub fn fence_loads(&self) {
        match self.mode {
            MmapMode::Wc | MmapMode::Uc | MmapMode::Gtt | MmapMode::Fixed => {
                tracing::trace!(handle = self.handle.get(), "fence loads");
                cacheops::fence();
            }
            MmapMode::Wb => {}
        }
    }

    /// Returns whether streaming loads are worthwhile: they read write-combining memory by whole lines.
    fn streams(&self, len: usize) -> bool {
        match self.mode {
            MmapMode::Wc | MmapMode::Gtt | MmapMode::Fixed => len as u64 >= LINE_BYTES,
            MmapMode::Wb | MmapMode::Uc => false,
        }
    }

    /// Copies `data.len()` bytes from `offset` into `data`.
    ///
    /// # Errors
    /// [`crate::Error::RangeOutOfBounds`] if the range exceeds the mapping; on a software device,
    /// [`crate::Error::Ioctl`] naming `page fault` where a real device raises SIGBUS. The copy may then be
    /// partially done.
    pub fn copy_out(&self, offset: u64, data: &mut [u8]) -> Result<()> {
        let range = ByteRange::within(offset, data.len() as u64, self.len)?;
        self.fence_loads();
        match self.bytes()? {
            // SAFETY: the source: `range` lies within `self.len` bytes that stay mapped readable.
            Bytes::Kernel(first) if self.streams(data.len()) => unsafe {
                cacheops::load_streaming(data, first.add(range.offset() as usize));
            },
            // SAFETY: as above.
            Bytes::Kernel(first) => unsafe {
                cacheops::copy_out(data, first.add(range.offset() as usize));
            },
            Bytes::Soft(memory) => memory.load(range.offset(), data)?,
        }
        Ok(())
    }

    /// Drains the write-combining buffers, so that stores through a WC or GTT mapping leave the CPU.
    ///
    /// # Errors
    /// On a software device, out of memory for a store that leaves the CPU now.
    pub fn drain(&self) -> Result<()> {
        match self.bytes()? {
            Bytes::Kernel(_) => {
                cacheops::fence();
                Ok(())
            }
            Bytes::Soft(memory) => memory.drain(),
        }
    }
}

impl Remap for Mapping {
    /// Takes over the pages, unless it has some, which may be in use, or they are of another length.
    fn remap(&self, new: Self) {
        let mut pages = self.pages();
        if pages.is_none() && new.len == self.len {
            *pages = new.pages().take();
            // Relaxed: as in `bytes`.
            self.first.store(new.first.load(Ordering::Relaxed), Ordering::Relaxed);
        }
    }
}

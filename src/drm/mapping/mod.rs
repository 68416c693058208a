//! A CPU mapping of a buffer object, through which all of its bytes are accessed.
//!
//! # Safety
//! No reference to mapped memory is ever created, because the GPU, another thread or another process may
//! write it at any time; bytes are accessed by copies that may race with each other ([`cacheops::copy_in`]).
//! Every pointer is derived from a range that was checked against the mapping's length, and the memory stays
//! mapped as long as the `Mapping` exists.
#![allow(unsafe_code)]

mod bytes;

use std::fmt;
use std::ptr::NonNull;
use std::sync::Arc;

use memmap2::MmapRaw;
use nix::sys::mman::munmap;

use crate::cacheops::{self, CacheLines, LineOp};
use crate::error::Result;
use crate::units::{ByteRange, LINE_BYTES, LineRange, Lines, PAGE_BYTES};
use crate::vocabulary::{Handle, MmapMode};
pub use bytes::SharedBytes;

/// Memory of a software device as one mapping mode shows it.
///
/// The caller has checked offsets against the object's size. An access fails where a page fault of a real
/// device would raise SIGBUS, also if memory runs out; it may then be partially done.
pub trait SoftMemory: Send + Sync + fmt::Debug {
    /// Returns the address of the bytes, for callers that use raw pointers.
    fn as_ptr(&self) -> *mut u8;
    /// Stores `data` at `offset`, as the CPU does through this mapping.
    ///
    /// # Errors
    /// Those of a page fault.
    fn store(&self, offset: u64, data: &[u8]) -> Result<()>;
    /// Stores `data` at `offset` around the CPU's caches, like [`cacheops::copy_around`]: the bytes may still
    /// be in the write-combining buffers.
    ///
    /// # Errors
    /// Those of a page fault.
    fn store_around(&self, offset: u64, data: &[u8]) -> Result<()>;
    /// Loads `data` from `offset`, as the CPU does through this mapping.
    ///
    /// # Errors
    /// Those of a page fault.
    fn load(&self, offset: u64, data: &mut [u8]) -> Result<()>;
    /// Performs `op` on every line of `lines`.
    ///
    /// # Errors
    /// Those of a page fault.
    fn lines(&self, lines: LineRange, op: LineOp) -> Result<()>;
    /// Drains the write-combining buffers of this mapping.
    ///
    /// # Errors
    /// Those of a page fault.
    fn drain(&self) -> Result<()>;
}

/// Pages that GEM_MMAP mapped at an address chosen by the kernel; unmapped when dropped.
#[derive(Debug)]
pub struct LegacyPages {
    first: NonNull<u8>,
    len: u64,
}

// SAFETY: the address is the process's, not a thread's, and bytes are reached by copies only.
unsafe impl Send for LegacyPages {}
// SAFETY: as for `Send`.
unsafe impl Sync for LegacyPages {}

impl LegacyPages {
    /// Takes ownership of the `len` bytes at `address`; `None` for address 0, where nothing is mapped.
    ///
    /// # Safety
    /// The bytes are mapped for reading and writing, from a page's start, and no one else unmaps them.
    pub unsafe fn new(address: u64, len: u64) -> Option<Self> {
        let first = NonNull::new(std::ptr::with_exposed_provenance_mut(address as usize))?;
        Some(Self { first, len })
    }
}

impl Drop for LegacyPages {
    fn drop(&mut self) {
        // SAFETY:
        // - the range: mapped, and this value's alone, by the contract of `new`;
        // - uses of it: they borrow the `Mapping` that holds this value.
        // It cannot fail on a range that is mapped; if it did, the pages would stay until exit.
        let _ = unsafe { munmap(self.first.cast(), self.len as usize) };
    }
}

/// The kernel's pages, by how they were mapped.
#[derive(Debug)]
enum KernelPages {
    /// By mmap(2) on the device file.
    Offset(MmapRaw),
    /// By GEM_MMAP.
    Legacy(LegacyPages),
    /// By the caller, who unmaps them.
    Callers(NonNull<u8>),
}

// SAFETY: the address is the process's, not a thread's, and bytes are reached by copies only.
unsafe impl Send for KernelPages {}
// SAFETY: as for `Send`.
unsafe impl Sync for KernelPages {}

impl KernelPages {
    fn first(&self) -> *mut u8 {
        match self {
            Self::Offset(pages) => pages.as_mut_ptr(),
            Self::Legacy(pages) => pages.first.as_ptr(),
            Self::Callers(first) => first.as_ptr(),
        }
    }
}

/// The memory that a mapping keeps alive.
#[derive(Debug)]
enum Memory {
    /// The kernel's pages.
    Kernel(KernelPages),
    /// Bytes of the software device.
    Soft(Arc<dyn SoftMemory>),
}

/// A mapping of a whole buffer object in this process's address space; unmapped when dropped.
///
/// Threads may copy in and out concurrently with each other and with the GPU: every byte read was stored by
/// some agent. Guards do not order accesses among themselves; callers whose ranges overlap must do so.
#[derive(Debug)]
pub struct Mapping {
    /// The object, as traces name it.
    handle: Handle,
    memory: Memory,
    mode: MmapMode,
    len: u64,
    /// Counts the mapping while it exists, for finding leaks.
    _counted: Counted,
}

/// Counts one mapping of a device while it exists.
#[derive(Debug)]
pub struct Counted(Arc<std::sync::atomic::AtomicU64>);

impl Counted {
    /// Adds one to `open` until dropped.
    pub fn new(open: &Arc<std::sync::atomic::AtomicU64>) -> Self {
        // Relaxed: a statistic; it publishes no other data.
        open.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        Self(Arc::clone(open))
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        // Relaxed: as in `new`.
        self.0.fetch_sub(1, std::sync::atomic::Ordering::Relaxed);
    }
}

impl Mapping {
    /// Creates a mapping from pages that mmap(2) mapped.
    pub fn from_kernel(handle: Handle, pages: MmapRaw, mode: MmapMode, counted: Counted) -> Self {
        let len = pages.len() as u64;
        Self { handle, memory: Memory::Kernel(KernelPages::Offset(pages)), mode, len, _counted: counted }
    }

    /// Creates a mapping from pages that GEM_MMAP mapped.
    pub fn from_legacy(handle: Handle, pages: LegacyPages, mode: MmapMode, counted: Counted) -> Self {
        let len = pages.len;
        Self { handle, memory: Memory::Kernel(KernelPages::Legacy(pages)), mode, len, _counted: counted }
    }

    /// Creates a mapping from `len` bytes at `first` that the caller mapped in `mode`, and unmaps itself
    /// ([`crate::device::AdoptRequest::mapped`]).
    ///
    /// # Safety
    /// They are all bytes of object `handle`, from a page's start, mapped for reading and writing in this mode, until
    /// the `Mapping` is dropped. No reference to them exists.
    pub unsafe fn of_caller(handle: Handle, first: NonNull<u8>, len: u64, mode: MmapMode) -> Self {
        let counted = Counted::new(&Arc::default());
        Self { handle, memory: Memory::Kernel(KernelPages::Callers(first)), mode, len, _counted: counted }
    }

    /// Creates a mapping of `len` bytes of a software device.
    pub fn from_soft(
        handle: Handle,
        memory: Arc<dyn SoftMemory>,
        mode: MmapMode,
        len: u64,
        counted: Counted,
    ) -> Self {
        Self { handle, memory: Memory::Soft(memory), mode, len, _counted: counted }
    }

    /// Returns the mode of the mapping.
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

    /// Returns the address of the memory.
    ///
    /// Stores through the pointer are not tracked: mark them with [`crate::bo::Bo::mark_written`].
    pub fn as_ptr(&self) -> *mut u8 {
        match &self.memory {
            Memory::Kernel(pages) => pages.first(),
            Memory::Soft(memory) => memory.as_ptr(),
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
        match &self.memory {
            // SAFETY:
            // - destination: `range` lies within `self.len` bytes that `pages` keeps mapped writable;
            // - no reference to mapped memory exists.
            Memory::Kernel(pages) => unsafe {
                cacheops::copy_in(pages.first().add(range.offset() as usize), data);
            },
            Memory::Soft(memory) => memory.store(range.offset(), data)?,
        }
        Ok(())
    }

    /// Copies `data` to `offset` around the CPU's caches ([`cacheops::copy_around`]). It is in memory once
    /// this thread has called [`Mapping::publish`], and no line of it is dirty.
    ///
    /// # Errors
    /// [`crate::Error::RangeOutOfBounds`] if the range exceeds the mapping; on a software device,
    /// [`crate::Error::Ioctl`] naming `page fault` where a real device raises SIGBUS. The copy may then be
    /// partially done.
    pub fn copy_around(&self, offset: u64, data: &[u8]) -> Result<()> {
        let range = ByteRange::within(offset, data.len() as u64, self.len)?;
        match &self.memory {
            // SAFETY:
            // - destination: `range` lies within `self.len` bytes that `pages` keeps mapped writable;
            // - no reference to mapped memory exists.
            Memory::Kernel(pages) => unsafe {
                cacheops::copy_around(pages.first().add(range.offset() as usize), data);
            },
            Memory::Soft(memory) => memory.store_around(range.offset(), data)?,
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
        match &self.memory {
            // SAFETY: as in `copy_around`.
            Memory::Kernel(pages) => unsafe {
                cacheops::copy_through(pages.first().add(range.offset() as usize), data);
            },
            Memory::Soft(memory) => {
                memory.store(range.offset(), data)?;
                memory.lines(range.lines(), LineOp::WriteBack)?;
            }
        }
        Ok(())
    }

    /// Orders bytes copied around or through the caches before any later store, so that an agent notified by
    /// such a store finds them in memory.
    ///
    /// # Errors
    /// As [`Mapping::drain`].
    pub fn publish(&self) -> Result<()> {
        match &self.memory {
            Memory::Kernel(_) => {
                cacheops::fence_around(LineOp::WriteBack);
                Ok(())
            }
            Memory::Soft(memory) => memory.drain(),
        }
    }

    /// Orders loads through this mapping after earlier flushes, except loads that hit the cache.
    pub fn fence_loads(&self) {
        match self.mode {
            MmapMode::Wc | MmapMode::Uc | MmapMode::Gtt | MmapMode::Fixed => cacheops::fence(),
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
        match &self.memory {
            // SAFETY: the source: `range` lies within `self.len` bytes that `pages` keeps mapped readable.
            Memory::Kernel(pages) if self.streams(data.len()) => unsafe {
                cacheops::load_around(data, pages.first().add(range.offset() as usize));
            },
            // SAFETY: as above.
            Memory::Kernel(pages) => unsafe {
                cacheops::copy_out(data, pages.first().add(range.offset() as usize));
            },
            Memory::Soft(memory) => memory.load(range.offset(), data)?,
        }
        Ok(())
    }

    /// Drains the write-combining buffers, so that stores through a WC or GTT mapping leave the CPU.
    ///
    /// # Errors
    /// On a software device, out of memory for a store that leaves the CPU now.
    pub fn drain(&self) -> Result<()> {
        match &self.memory {
            Memory::Kernel(_) => {
                cacheops::fence();
                Ok(())
            }
            Memory::Soft(memory) => memory.drain(),
        }
    }
}

impl CacheLines for Mapping {
    /// Performs `op` on `lines`, without fences: bracket a batch of calls with [`cacheops::fence_around`].
    ///
    /// # Errors
    /// [`crate::Error::RangeOutOfBounds`] if a line exceeds the mapping; those of a page fault, as
    /// [`Mapping::copy_in`].
    fn perform(&self, op: LineOp, lines: Lines) -> Result<()> {
        tracing::trace!(handle = self.handle.get(), ?op, lines = lines.count(), "lines");
        let (offset, len) = match lines {
            Lines::Run(run) => (run.first() * LINE_BYTES, run.bytes()),
            Lines::Page(page) => (page.page().saturating_mul(PAGE_BYTES), page.end_bytes()),
        };
        let range = ByteRange::within(offset, len, self.len)?;
        match (&self.memory, lines) {
            // SAFETY: `range` lies within `self.len` bytes that `pages` keeps mapped.
            (Memory::Kernel(pages), Lines::Run(_)) => unsafe {
                let first = pages.first().add(range.offset() as usize);
                cacheops::lines(first, range.len() as usize, op);
            },
            // SAFETY: the page's first byte, and all up to the last line, lie within `self.len` bytes that
            // `pages` keeps mapped, from the start of a page.
            (Memory::Kernel(pages), Lines::Page(page)) => unsafe {
                let first = pages.first().add(range.offset() as usize);
                cacheops::lines_of_page(first, page.mask(), op);
            },
            (Memory::Soft(memory), Lines::Run(run)) => memory.lines(run, op)?,
            (Memory::Soft(memory), Lines::Page(page)) => {
                page.runs().try_for_each(|run| memory.lines(run, op))?;
            }
        }
        Ok(())
    }
}

//! The memory behind a mapping, and who unmaps it.
//!
//! # Safety
//! Pages that the library mapped are unmapped by their owner's drop. The `Mapping` that owns them drops them only while
//! no access uses them. The barrier page is stored to by its owner alone.
#![allow(unsafe_code)]

use std::fmt;
use std::ptr::NonNull;
use std::sync::Arc;

use memmap2::MmapRaw;
use nix::sys::mman::munmap;

use crate::cacheops::{self, LineOp};
use crate::error::Result;
use crate::fork::Owner;
use crate::units::LineRange;

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
    /// Stores `data` at `offset` by non-temporal stores, like [`crate::cacheops::copy_non_temporal`]: the bytes may still
    /// be in the write-combining buffers.
    ///
    /// # Errors
    /// Those of a page fault.
    fn store_non_temporal(&self, offset: u64, data: &[u8]) -> Result<()>;
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

    /// Returns the size in bytes.
    pub(super) fn len(&self) -> u64 {
        self.len
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

/// The barrier page of a discrete device of xe ([`crate::device::Device::pci_barrier`]), mapped for writing alone; unmapped when dropped.
///
/// It belongs to no object, and keeps no byte: a store to it orders earlier stores to the device's memory before later ones.
#[derive(Debug)]
pub struct PciBarrier {
    first: NonNull<u32>,
    len: usize,
    owner: Owner,
    _counted: Counted,
}

// SAFETY: the address is the process's, not a thread's, and the page is only stored to, in any order.
unsafe impl Send for PciBarrier {}
// SAFETY: as for `Send`.
unsafe impl Sync for PciBarrier {}

impl PciBarrier {
    /// Takes ownership of the `len` bytes at `first`.
    ///
    /// # Safety
    /// They are the barrier page, mapped for writing, from a page's start, and no one else unmaps them.
    pub(in crate::backend) unsafe fn new(first: NonNull<u32>, len: usize, counted: Counted) -> Self {
        Self { first, len, owner: Owner::current(), _counted: counted }
    }

    /// Drains this thread's stores to local memory, before a user-mode submission (`bar-drain`): SFENCE, and a store to the page. A request that submits
    /// needs the SFENCE alone.
    ///
    /// # Errors
    /// [`crate::Error::OtherProcess`].
    pub fn drain(&self) -> Result<()> {
        self.owner.check()?;
        cacheops::store_fence();
        // SAFETY: mapped for writing until this value is dropped, by the contract of `new`; aligned, as a page is. After the device is gone, the kernel
        // maps a page of memory there (`barrier_fault`).
        unsafe { self.first.as_ptr().write_volatile(0) };
        Ok(())
    }
}

impl Drop for PciBarrier {
    fn drop(&mut self) {
        // SAFETY:
        // - the range: mapped, and this value's alone, by the contract of `new`;
        // - uses of it: they borrow this value.
        // It cannot fail on a range that is mapped; if it did, the page would stay until exit.
        let _ = unsafe { munmap(self.first.cast(), self.len) };
    }
}

/// The kernel's pages, by how they were mapped.
#[derive(Debug)]
pub(super) enum KernelPages {
    /// By mmap(2) on the device file.
    Offset(MmapRaw),
    /// By GEM_MMAP.
    Legacy(LegacyPages),
    /// By mmap(2) of anonymous memory; unmapped with the last mapping of them.
    Own(Arc<MmapRaw>),
    /// By the caller, who unmaps them.
    Callers(NonNull<u8>),
}

// SAFETY: the address is the process's, not a thread's, and bytes are reached by copies only.
unsafe impl Send for KernelPages {}
// SAFETY: as for `Send`.
unsafe impl Sync for KernelPages {}

impl KernelPages {
    pub(super) fn first(&self) -> *mut u8 {
        match self {
            Self::Offset(pages) => pages.as_mut_ptr(),
            Self::Own(pages) => pages.as_mut_ptr(),
            Self::Legacy(pages) => pages.first.as_ptr(),
            Self::Callers(first) => first.as_ptr(),
        }
    }
}

/// The memory that a mapping keeps alive.
#[derive(Debug)]
pub(super) enum Memory {
    /// The kernel's pages.
    Kernel(KernelPages),
    /// Bytes of the software device.
    Soft(Arc<dyn SoftMemory>),
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

/// The memory of a mapping, and its place in the count of the device's mappings, for finding leaks.
#[derive(Debug)]
pub(super) struct Pages {
    pub(super) memory: Memory,
    pub(super) _counted: Counted,
}

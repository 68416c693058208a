//! Userptr objects: which of a process's pages they use, and whether these are still current.
//!
//! A userptr object has no bytes of its own. The GPU, and the kernel for relocations, access the process's
//! pages as of the last request that used the object. A request from another process, through a shared file,
//! fails with EFAULT. The pages of a program that is not simulated are read and written at its addresses.

use std::ops::Range;
use std::sync::{Arc, MutexGuard};

use crate::memory::backing_store::BackingStore;
use crate::memory::program::ProgramMemory;
use gem_coherency::error::Result;
use gem_coherency::sync::Mutex;
use gem_coherency::units::ByteRange;

/// A range of a process's memory.
#[derive(Debug)]
pub(crate) struct UserMemory {
    /// The process's address space.
    pub(crate) process: u64,
    /// The address of the first page.
    pub(crate) address: u64,
    /// The memory of a program that is not simulated. Every agent accesses it through the program's caches.
    program: Option<Arc<dyn ProgramMemory>>,
    /// The GPU has read-only access.
    pub(crate) read_only: bool,
    /// The pinned pages.
    pinned: Mutex<Pinned>,
}

/// Memory that a GPU got.
#[derive(Clone, Debug)]
pub(crate) struct Part {
    pub(crate) backing: Arc<Mutex<BackingStore>>,
    /// The first byte's offset in the backing store.
    pub(crate) first: u64,
    pub(crate) len: u64,
}

/// Pinned pages of a process. The object keeps them even if the process maps others there later.
#[derive(Debug, Default)]
pub(crate) struct Pinned {
    /// Serial numbers of the mappings that they belonged to.
    pub(crate) mappings: Vec<u64>,
    pub(crate) parts: Vec<Part>,
    /// The pages of a typed request's caller, who has no simulated address space and maps no others there.
    pub(crate) for_good: bool,
}

/// A part of a range that is in one backing store.
#[derive(Debug)]
pub(crate) struct Piece {
    backing: Arc<Mutex<BackingStore>>,
    /// Its position in the backing store.
    pub(crate) range: ByteRange,
    /// Its position in the requested range.
    pub(crate) of_range: Range<usize>,
}

impl Piece {
    /// Locks the backing store; locked after the object's state where both are.
    pub(crate) fn backing(&self) -> MutexGuard<'_, BackingStore> {
        self.backing.lock()
    }
}

impl UserMemory {
    /// Creates a range that starts at `address`, of the memory of an address space, or of a program that is not simulated.
    pub(crate) fn new(
        process: u64,
        program: Option<Arc<dyn ProgramMemory>>,
        address: u64,
        read_only: bool,
    ) -> Self {
        Self { process, address, program, read_only, pinned: Mutex::default() }
    }

    /// Returns the program that has the pages, and the address of the byte at `offset`.
    pub(crate) fn program(&self, offset: u64) -> Option<(&dyn ProgramMemory, u64)> {
        self.program.as_deref().map(|program| (program, self.address + offset))
    }

    /// Returns the parts of `range`; none if the pages were never brought in.
    pub(crate) fn pieces(&self, range: ByteRange) -> Result<Vec<Piece>> {
        let mut pieces = Vec::new();
        // The offset in the object at which a part begins.
        let mut begin = 0;
        for part in &self.pinned().parts {
            let (first, end) = (begin.max(range.offset()), (begin + part.len).min(range.end()));
            if first < end {
                let at = ByteRange::within(part.first + (first - begin), end - first, part.first + part.len)?;
                let of_range = (first - range.offset()) as usize..(end - range.offset()) as usize;
                pieces.push(Piece { backing: Arc::clone(&part.backing), range: at, of_range });
            }
            begin += part.len;
        }
        Ok(pieces)
    }

    pub(crate) fn pinned(&self) -> MutexGuard<'_, Pinned> {
        self.pinned.lock()
    }
}

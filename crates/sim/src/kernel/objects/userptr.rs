//! Userptr objects: which of a process's pages they use, and whether these are still current.
//!
//! A userptr object has no bytes of its own. The GPU, and the kernel for relocations, access the process's
//! pages as of the last request that used the object. A request from another process, through a shared file,
//! fails with EFAULT. The pages of a program that is not simulated are read and written at its addresses.

use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use gem_coherency::Errno;

use super::object::{Object, Origin};
use crate::memory::program::ProgramMemory;
use crate::memory::store::Store;
use crate::process::memory::{Memory, Part};
use crate::refuse::refuse;
use gem_coherency::error::Result;
use gem_coherency::policy::kernel::Event;
use gem_coherency::units::{ByteRange, PAGE_BYTES};

/// Largest number of pages of a userptr object: the kernel's list of them is an array of pointers of at most
/// INT_MAX bytes (`kvmalloc_array`).
const MOST_PAGES: u64 = i32::MAX as u64 / 8;

/// A range of a process's memory.
#[derive(Debug)]
pub(crate) struct UserMemory {
    /// The process's address space.
    process: u64,
    /// The address of the first page.
    address: u64,
    /// The memory of a program that is not simulated. Every agent accesses it through the program's caches.
    program: Option<Arc<dyn ProgramMemory>>,
    /// The GPU has read-only access.
    read_only: bool,
    /// The pinned pages.
    pinned: Mutex<Pinned>,
}

/// Pinned pages of a process. The object keeps them even if the process maps others there later.
#[derive(Debug, Default)]
struct Pinned {
    /// Serial numbers of the mappings that they belonged to.
    mappings: Vec<u64>,
    parts: Vec<Part>,
}

/// A part of a range that is in one store.
#[derive(Debug)]
pub(crate) struct Piece {
    store: Arc<Mutex<Store>>,
    /// Its position in the store.
    pub(crate) range: ByteRange,
    /// Its position in the requested range.
    pub(crate) of_range: Range<usize>,
}

impl Piece {
    /// Locks the store; locked after the object's state where both are.
    pub(crate) fn store(&self) -> MutexGuard<'_, Store> {
        self.store.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl UserMemory {
    /// Creates a range of `memory` that starts at `address`.
    pub(crate) fn new(memory: &Memory, address: u64, read_only: bool) -> Self {
        let (process, program) = (memory.id(), memory.program());
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
                pieces.push(Piece { store: Arc::clone(&part.store), range: at, of_range });
            }
            begin += part.len;
        }
        Ok(pieces)
    }

    fn pinned(&self) -> MutexGuard<'_, Pinned> {
        self.pinned.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Object {
    /// Pins a userptr object's pages unless the current ones are pinned already
    /// (`i915_gem_object_userptr_submit_init`); does nothing for other objects.
    ///
    /// `memory` is that of the requesting process if it is simulated.
    ///
    /// # Errors
    /// EFAULT for another process's memory, for holes, for device memory, and for pages that are not writable
    /// unless the GPU has read-only access; ENOMEM.
    pub(crate) fn validate_user_pages(
        &self,
        request: &'static str,
        memory: Option<&mut Memory>,
    ) -> Result<()> {
        let user = match &self.origin {
            Origin::User(user) => user,
            Origin::Own | Origin::Attached(_) => return Ok(()),
        };
        let Some(memory) = memory.filter(|memory| memory.id() == user.process) else {
            return refuse(request, Errno::EFAULT);
        };
        let mappings = memory.pin(user.address, self.size(), !user.read_only);
        let mut state = self.state();
        if state.snapshot.pages && mappings.as_ref() == Some(&user.pinned().mappings) {
            return Ok(());
        }
        self.happen(&mut state, request, Event::Release)?;
        if self.size() / PAGE_BYTES > MOST_PAGES {
            return refuse(request, Errno::ENOMEM);
        }
        let Some(mappings) = mappings else { return refuse(request, Errno::EFAULT) };
        let adversary = || self.system().adversary(self.id());
        let parts = memory.parts(user.address, self.size(), adversary);
        *user.pinned() = Pinned { mappings, parts: parts.or_else(|errno| refuse(request, errno))? };
        // This also flushes them where the GPU bypasses the caches.
        self.happen(&mut state, request, Event::Acquire).map(drop)
    }
}

//! Objects of a process's own memory: which pages they are, and whether they still are.
//!
//! Such an object has no bytes of its own: the GPU, and the kernel where it puts addresses into it,
//! find the process's, in the pages that were there when it was last used by a request. A process
//! that shares its file with another one, whose memory it is not, gets EFAULT.

use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use nix::errno::Errno;

use super::object::{Object, Origin};
use super::process::{Memory, Part};
use super::requests::refuse;
use super::store::Store;
use gem_coherency::error::Result;
use gem_coherency::policy::kernel::Event;
use gem_coherency::units::{ByteRange, PAGE_BYTES};

/// Pages of a userptr object at most: the kernel's list of them is an array of pointers, of up to
/// INT_MAX bytes (`kvmalloc_array`).
const MOST_PAGES: u64 = i32::MAX as u64 / 8;

/// A range of a process's memory.
#[derive(Debug)]
pub(super) struct UserMemory {
    /// Whose.
    process: u64,
    /// The first page's address.
    address: u64,
    /// Whether the GPU only reads it.
    read_only: bool,
    /// The pages that were brought in.
    pinned: Mutex<Pinned>,
}

/// Pages of a process; they stay the object's also when the process has others there by now.
#[derive(Debug, Default)]
struct Pinned {
    /// Which mappings they were of.
    mappings: Vec<u64>,
    parts: Vec<Part>,
}

/// Bytes of a range that are in one store.
#[derive(Debug)]
pub(super) struct Piece {
    store: Arc<Mutex<Store>>,
    /// Where in the store.
    pub(super) range: ByteRange,
    /// Where in the range that was asked for.
    pub(super) of_range: Range<usize>,
}

impl Piece {
    /// The bytes; locked after the object's state where both are.
    pub(super) fn store(&self) -> MutexGuard<'_, Store> {
        self.store.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl UserMemory {
    /// `memory` from `address` on.
    pub(super) fn new(memory: &Memory, address: u64, read_only: bool) -> Self {
        Self { process: memory.id(), address, read_only, pinned: Mutex::default() }
    }

    /// Where the bytes of `range` are; none if no page was ever brought in.
    pub(super) fn pieces(&self, range: ByteRange) -> Result<Vec<Piece>> {
        let mut pieces = Vec::new();
        // The object's byte that a part begins with.
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
    /// Brings a userptr object's pages in, if they are not there or are others by now
    /// (`i915_gem_object_userptr_submit_init`); nothing for other objects.
    ///
    /// `memory` is that of the process that makes the request, if it is a simulated one.
    ///
    /// # Errors
    /// EFAULT for another process's memory, and for holes, a device's memory, and pages that may not
    /// be written, unless the GPU only reads them; ENOMEM.
    pub(super) fn validate_user_pages(
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
        // Which flushes them, where the GPU can see around the caches.
        self.happen(&mut state, request, Event::Acquire).map(drop)
    }
}

//! Objects of a process's own memory: which pages they are, and whether they still are.
//!
//! What the GPU finds in such an object is not linked with the process's memory here: the object has
//! bytes of its own, which begin as zeroes. No request copies out of it, into it, or maps it, so that
//! only [`Soft::gpu_read`](super::Soft::gpu_read) and its like can tell. What is kept is what the
//! kernel does with the pages: when they are brought in, flushed and given back, and when they are no
//! longer there. A process that shares its file with another one, whose memory it is not, gets EFAULT.

use nix::errno::Errno;

use super::object::{Object, Origin};
use super::process::Memory;
use super::requests::refuse;
use crate::error::Result;
use crate::policy::kernel::Event;
use crate::units::PAGE_BYTES;

/// Pages of a userptr object at most: the kernel's list of them is an array of pointers, of up to
/// INT_MAX bytes (`kvmalloc_array`).
const MOST_PAGES: u64 = i32::MAX as u64 / 8;

/// A range of a process's memory.
#[derive(Debug)]
pub(super) struct UserMemory {
    /// Whose.
    pub(super) process: u64,
    /// The first page's address.
    pub(super) address: u64,
    /// Whether the GPU only reads it.
    pub(super) read_only: bool,
    /// What was mapped there when the pages were brought in.
    pub(super) pinned: std::sync::Mutex<Vec<u64>>,
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
    pub(super) fn validate_user_pages(&self, request: &'static str, memory: Option<&Memory>) -> Result<()> {
        let user = match &self.origin {
            Origin::User(user) => user,
            Origin::Own | Origin::Attached(_) => return Ok(()),
        };
        let Some(memory) = memory.filter(|memory| memory.id() == user.process) else {
            return refuse(request, Errno::EFAULT);
        };
        let pages = memory.pin(user.address, self.size(), !user.read_only);
        let mut state = self.state();
        let mut pinned = user.pinned.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if state.snapshot.pages && pages.as_ref() == Some(&*pinned) {
            return Ok(());
        }
        self.happen(&mut state, request, Event::Release)?;
        if self.size() / PAGE_BYTES > MOST_PAGES {
            return refuse(request, Errno::ENOMEM);
        }
        let Some(pages) = pages else { return refuse(request, Errno::EFAULT) };
        self.happen(&mut state, request, Event::Acquire)?;
        *pinned = pages;
        Ok(())
    }
}

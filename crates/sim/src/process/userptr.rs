//! Pages of a process that a userptr object pins.

use std::sync::Arc;

use gem_coherency::Errno;

use crate::kernel::mappings::window::Window;
use crate::kernel::objects::object::{Object, Origin};
use crate::kernel::objects::userptr::{Part, Pinned};
use crate::process::memory::Memory;
use crate::refuse::refuse;
use gem_coherency::error::Result;
use gem_coherency::policy::kernel::Event;
use gem_coherency::units::PAGE_BYTES;

/// Largest number of pages of a userptr object: the kernel's list of them is an array of pointers of at most
/// INT_MAX bytes (`kvmalloc_array`).
const MOST_PAGES: u64 = i32::MAX as u64 / 8;

impl Object {
    /// Pins a userptr object's pages for good, for a typed request whose caller has just mapped them; returns their
    /// mapping.
    ///
    /// # Errors
    /// EFAULT for another object; allocation errors of the simulating process.
    pub(crate) fn pin_for_good(&self, request: &'static str, memory: &mut Memory) -> Result<Window> {
        let Origin::User(user) = &self.origin else { return refuse(request, Errno::EFAULT) };
        let adversary = || self.system().hardware.adversary(self.id());
        let parts = memory.parts(user.address, self.size(), adversary);
        let parts = parts.or_else(|errno| refuse(request, errno))?;
        let Some(Part { backing, first, .. }) = parts.first() else { return refuse(request, Errno::EFAULT) };
        let window = Window::of_pages(self, Arc::clone(backing), *first);
        *user.pinned() = Pinned { mappings: Vec::new(), parts, for_good: true };
        Ok(window)
    }

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
        if user.pinned().for_good {
            let mut state = self.state();
            return if state.snapshot.pages {
                Ok(())
            } else {
                self.happen(&mut state, request, Event::Acquire).map(drop)
            };
        }
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
        let adversary = || self.system().hardware.adversary(self.id());
        let parts = memory.parts(user.address, self.size(), adversary);
        *user.pinned() =
            Pinned { mappings, parts: parts.or_else(|errno| refuse(request, errno))?, for_good: false };
        // This also flushes them where the GPU bypasses the caches.
        self.happen(&mut state, request, Event::Acquire).map(drop)
    }
}

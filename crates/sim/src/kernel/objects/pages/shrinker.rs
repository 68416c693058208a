//! Pages of objects: the memory that they take, and the kernel's shrinker, which under memory pressure purges an object or
//! swaps its pages out.

use crate::kernel::objects::dma_buf::Holds;
use crate::kernel::objects::object::{Object, Origin};
use crate::kernel::objects::prime;
use crate::kernel::objects::state::{Changes, State};
use crate::kernel::objects::system::System;
use crate::observe::trace_event::TraceEvent;
use gem_coherency::Errno;
use gem_coherency::backend::Advice;
use gem_coherency::error::{Error, Result};
use gem_coherency::policy::kernel::{Backing, Event, Step};
use gem_coherency::units::PAGE_BYTES;
use gem_coherency::vocabulary::Handle;

impl Object {
    /// Accounts for the pages that a step brings in or releases.
    pub(crate) fn account(&self, state: &State, call: &'static str, step: &Step) -> Result<()> {
        let refuse = |errno| Err(Error::Ioctl { request: call, errno });
        let backing = state.snapshot.backing;
        if let (Origin::Attached(attachment), false, true) =
            (&self.origin, state.snapshot.pages, step.next.pages)
        {
            let is_of_xe = self.system().xe.is_some();
            attachment.map(call, if is_of_xe { Holds::UntilItMoves } else { Holds::Always })?;
        }
        match (state.snapshot.pages, step.next.pages) {
            (false, true) if state.purged || state.advice == Advice::DontNeed => refuse(Errno::EFAULT),
            (false, true) if self.size() / PAGE_BYTES > u64::from(u32::MAX) => refuse(Errno::E2BIG),
            (false, true) if !self.system().accounting.take_memory(self.size(), backing) => {
                self.system().shrink();
                if self.system().accounting.take_memory(self.size(), backing) {
                    Ok(())
                } else {
                    refuse(Errno::ENOMEM)
                }
            }
            (true, false) => {
                self.system().accounting.give_memory(self.size(), backing);
                Ok(())
            }
            (false, true) | (false, false) | (true, true) => Ok(()),
        }
    }

    /// Purges the object if its contents are marked as not needed and its pages are not in use.
    pub(crate) fn purge_if_allowed(&self) {
        let Some(mut state) = self.try_state() else { return };
        if state.advice == Advice::DontNeed && !state.purged && !self.is_held(&state) {
            self.purge(&mut state);
        }
    }

    /// Returns whether the pages are in use: on screen, attached, or in a busy batch.
    fn is_held(&self, state: &State) -> bool {
        state.snapshot.pinned || state.attached != 0 || state.used.busy() != 0
    }

    /// Swaps the pages out if the shrinker may take them; the next access brings them back.
    pub(crate) fn swap_out(&self) -> Result<()> {
        let mut state = self.state();
        if state.snapshot.backing != Backing::Shmem || !state.snapshot.pages || self.is_held(&state) {
            return Ok(());
        }
        let ctx = self.access_context(&state);
        self.happen(&mut state, "shrinker", Event::Release)?;
        self.backing().swap(ctx)
    }

    /// Purges the object (`i915_gem_object_truncate`), after releasing any pages.
    pub(crate) fn purge(&self, state: &mut State) {
        match state.snapshot.backing {
            // The shrinker may not take another device's, the firmware's, or the caller's own memory.
            Backing::Import | Backing::Stolen | Backing::Userptr => return,
            Backing::Shmem | Backing::Local | Backing::LocalSystem | Backing::Internal | Backing::Phys => {}
        }
        if self.happen(state, "shrinker", Event::Release).is_err() || state.snapshot.pages {
            return;
        }
        state.purged = true;
        self.system().trace.add(self.id(), TraceEvent::Discarded);
        Changes::happened();
        self.backing().discard();
        tracing::debug!(handle = state.first_handle.map(Handle::get), "purged");
    }
}

impl System {
    /// Purges every object that is marked as not needed, after freeing those that only a closed dma-buf held.
    pub(crate) fn shrink(&self) {
        // An object's lock may be held here. Nothing imported is freed, which would lock its exporter.
        prime::forget_closed();
        for object in self.all() {
            object.purge_if_allowed();
        }
    }
}

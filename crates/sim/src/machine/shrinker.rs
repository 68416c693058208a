//! The kernel's shrinker: under memory pressure it purges an object or swaps its pages out.

use super::deeds::Deed;
use super::object::{Object, State};
use gem_coherency::drm::Advice;
use gem_coherency::error::Result;
use gem_coherency::policy::kernel::{Backing, Event};
use gem_coherency::vocabulary::Handle;

impl Object {
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
        let terms = self.terms(&state);
        self.happen(&mut state, "shrinker", Event::Release)?;
        self.store().swap(terms)
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
        self.system().trace.add(self.id(), Deed::Discarded);
        self.store().discard();
        tracing::debug!(handle = state.name.map(Handle::get), "purged");
    }
}

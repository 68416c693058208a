//! What the kernel does to an object when memory runs short: it purges it, or swaps its pages out.

use super::object::{Object, State};
use gem_coherency::drm::Advice;
use gem_coherency::error::Result;
use gem_coherency::policy::kernel::{Backing, Event};
use gem_coherency::vocabulary::Handle;

impl Object {
    /// Takes the contents if nobody needs them and nobody is using the object right now.
    pub(super) fn purge_if_allowed(&self) {
        let Some(mut state) = self.try_state() else { return };
        if state.advice == Advice::DontNeed && !state.purged && !self.is_held(&state) {
            self.purge(&mut state);
        }
    }

    /// Whether somebody is using the pages right now.
    fn is_held(&self, state: &State) -> bool {
        state.snapshot.pinned || state.attached != 0 || self.system().gpu.busy(state.used) != 0
    }

    /// Swaps the pages out, if there are any that the shrinker may take; the next access brings them back.
    pub(super) fn swap_out(&self) -> Result<()> {
        let mut state = self.state();
        if state.snapshot.backing != Backing::Shmem || !state.snapshot.pages || self.is_held(&state) {
            return Ok(());
        }
        let terms = self.system().terms(state.snapshot.level);
        self.happen(&mut state, "shrinker", Event::Release)?;
        self.store().swap(terms)
    }

    /// Takes the contents (`i915_gem_object_truncate`), after giving pages back that are there.
    pub(super) fn purge(&self, state: &mut State) {
        match state.snapshot.backing {
            // Another device's memory, firmware's, and the caller's own is nobody's to take.
            Backing::Import | Backing::Stolen | Backing::Userptr => return,
            Backing::Shmem | Backing::Local | Backing::LocalSystem | Backing::Internal | Backing::Phys => {}
        }
        if self.happen(state, "shrinker", Event::Release).is_err() || state.snapshot.pages {
            return;
        }
        state.purged = true;
        self.store().discard();
        tracing::debug!(handle = state.name.map(Handle::get), "purged");
    }
}

//! Whether the GPU is done with what it was given: at once, unless it is stalled on request.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::vocabulary::Access;

/// What the GPU does with an object since it was submitted.
#[derive(Clone, Copy, Debug)]
pub(super) struct Use {
    /// During which stall the object was submitted.
    stall: u64,
    /// Whether it writes.
    access: Access,
}

#[derive(Debug, Default)]
struct State {
    stalled: bool,
    /// How many stalls there were.
    stalls: u64,
}

/// The GPU's progress.
#[derive(Debug, Default)]
pub(super) struct Gpu {
    state: Mutex<State>,
    resumed: Condvar,
}

impl Gpu {
    /// Stops the GPU, or lets it finish everything that it was given.
    pub(super) fn stall(&self, stalled: bool) {
        let mut state = self.state();
        if stalled && !state.stalled {
            state.stalls += 1;
        }
        state.stalled = stalled;
        self.resumed.notify_all();
    }

    /// What an object is used for that is submitted now; `None` if the GPU is done at once.
    ///
    /// A write that was submitted before stays one.
    pub(super) fn submit(&self, before: Option<Use>, access: Access) -> Option<Use> {
        let state = self.state();
        let writes = before.is_some_and(|one| one.access == Access::Write && one.stall == state.stalls);
        let access = if writes { Access::Write } else { access };
        state.stalled.then_some(Use { stall: state.stalls, access })
    }

    /// How the GPU uses the object now, if it does.
    pub(super) fn busy(&self, used: Option<Use>) -> Option<Access> {
        let state = self.state();
        used.filter(|used| is_running(&state, *used)).map(|used| used.access)
    }

    /// Waits until the GPU is done; for ever without a timeout.
    ///
    /// Returns whether it is.
    pub(super) fn wait(&self, used: Option<Use>, timeout: Option<Duration>) -> bool {
        let Some(used) = used else { return true };
        let state = self.state();
        let running = |state: &mut State| is_running(state, used);
        let state = match timeout {
            None => self.resumed.wait_while(state, running).unwrap_or_else(PoisonError::into_inner),
            Some(timeout) => {
                let waited = self.resumed.wait_timeout_while(state, timeout, running);
                waited.unwrap_or_else(PoisonError::into_inner).0
            }
        };
        !is_running(&state, used)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn is_running(state: &State, used: Use) -> bool {
    state.stalled && state.stalls == used.stall
}

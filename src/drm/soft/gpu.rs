//! Whether the GPU is done with what it was given: at once, unless it is stalled on request.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::platform::EngineClass;
use crate::vocabulary::Access;

/// What the GPU does with an object since it was submitted.
#[derive(Clone, Copy, Debug)]
pub(super) struct Use {
    /// During which stall the object was submitted.
    stall: u64,
    /// Which engines use it how, as GEM_BUSY says it.
    busy: u32,
}

/// What GEM_BUSY says of one use (`__busy_read_flag`, `__busy_write_id`); several are ORed.
fn flags(class: EngineClass, access: Access) -> u32 {
    let class = u32::from(class.number());
    let reads = 0x1_0000 << class;
    match access {
        Access::Read => reads,
        Access::Write => reads | (class + 1),
    }
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

    /// What an object is used for that is submitted now to an engine of `class`; `None` if the GPU is
    /// done at once.
    ///
    /// What was submitted before goes on.
    pub(super) fn submit(&self, before: Option<Use>, class: EngineClass, access: Access) -> Option<Use> {
        let state = self.state();
        let before = before.filter(|one| one.stall == state.stalls).map_or(0, |one| one.busy);
        state.stalled.then_some(Use { stall: state.stalls, busy: before | flags(class, access) })
    }

    /// What GEM_BUSY says of the object: 0 if the GPU is done with it.
    pub(super) fn busy(&self, used: Option<Use>) -> u32 {
        let state = self.state();
        used.filter(|used| is_running(&state, *used)).map_or(0, |used| used.busy)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn busy_names_the_writer_and_every_reader_until_the_gpu_goes_on() {
        let gpu = Gpu::default();
        gpu.stall(true);
        let used = gpu.submit(None, EngineClass::Render, Access::Read);
        assert_eq!(gpu.busy(used), 0x1_0000);
        let used = gpu.submit(used, EngineClass::Copy, Access::Write);
        assert_eq!(gpu.busy(used), 0x3_0002);
        gpu.stall(false);
        assert_eq!(gpu.busy(used), 0);
        gpu.stall(true);
        let again = gpu.submit(used, EngineClass::Video, Access::Read);
        assert_eq!(gpu.busy(again), 0x4_0000, "the first stall is over");
    }
}

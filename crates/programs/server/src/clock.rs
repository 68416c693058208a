//! The time at which events are delivered that no request delivers: vertical blanks, and fences that are signalled.

use std::sync::{Condvar, PoisonError};
use std::time::{Duration, Instant};

use gem_coherency::sync::Mutex;

/// The longest time between two looks, in which only a request can have made an event due.
const LONGEST: Duration = Duration::from_secs(1);

/// Wakes the thread that delivers events.
#[derive(Debug, Default)]
pub(crate) struct Clock {
    state: Mutex<State>,
    wake: Condvar,
}

#[derive(Debug, Default)]
struct State {
    changed: bool,
    stopped: bool,
}

impl Clock {
    /// Notes that a request may have made events due.
    pub(crate) fn changed(&self) {
        self.state.lock().changed = true;
        self.wake.notify_all();
    }

    /// Ends the thread.
    pub(crate) fn stop(&self) {
        self.state.lock().stopped = true;
        self.wake.notify_all();
    }

    /// Waits until something changed, or `next` has come; returns whether to go on.
    pub(crate) fn wait(&self, next: Option<Instant>) -> bool {
        let time = next.map_or(LONGEST, |next| next.saturating_duration_since(Instant::now()).min(LONGEST));
        let state = self.state.lock();
        let waited = self.wake.wait_timeout_while(state, time, |state| !state.changed && !state.stopped);
        let (mut state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        state.changed = false;
        !state.stopped
    }
}

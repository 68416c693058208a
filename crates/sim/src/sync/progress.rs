//! Waits of requests: for submissions and syncobjs of any device of this process.
//!
//! Everything that can end a wait calls [`happened`]. A batch that polls memory ends without a call, when a program
//! writes to its memory; therefore a wait lets the GPUs continue now and then while such a batch runs.

use std::cell::Cell;
use std::fmt::Debug;
use std::sync::{Arc, Condvar, MutexGuard, Weak};
use std::time::{Duration, Instant};

use gem_coherency::Errno;
use gem_coherency::error::Result;
use gem_coherency::fork::PerProcess;
use gem_coherency::sync::Mutex;

use super::eventfd;
use crate::refuse::refuse;

/// The time between two looks at a batch that polls memory.
const GLANCE: Duration = Duration::from_millis(1);
/// The errno of a request that waits: the kernel's own number for a request that is made again, which no program
/// sees (`ERESTARTSYS`).
pub(crate) const RESTART: Errno = Errno::new(512);

#[derive(Debug, Default)]
struct State {
    /// Number of events so far.
    events: u64,
    gpus: Vec<Weak<dyn Running>>,
}

#[derive(Debug, Default)]
struct Progress {
    state: Mutex<State>,
    changed: Condvar,
}

static PROGRESS: PerProcess<Progress> = PerProcess::new();

impl Progress {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }
}

/// A GPU, which continues during waits.
pub(crate) trait Running: Debug + Send + Sync {
    /// Lets the batches continue; returns whether one is still running.
    fn look(&self) -> bool;
}

/// Registers a GPU.
pub(crate) fn register(gpu: &Arc<impl Running + 'static>) {
    let mut state = PROGRESS.get().state();
    state.gpus.retain(|gpu| gpu.strong_count() > 0);
    state.gpus.push(Arc::downgrade(gpu) as Weak<dyn Running>);
}

/// Wakes every wait.
pub(crate) fn happened() {
    let progress = PROGRESS.get();
    progress.state().events += 1;
    progress.changed.notify_all();
    eventfd::signal_done();
}

/// Lets every GPU continue; returns whether a batch is still running.
pub(crate) fn look() -> bool {
    let gpus: Vec<_> = PROGRESS.get().state().gpus.iter().filter_map(Weak::upgrade).collect();
    gpus.iter().fold(false, |running, gpu| gpu.look() | running)
}

/// A point in the sequence of events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Moment(u64);

impl Moment {
    /// Returns the present.
    pub(crate) fn now() -> Self {
        Self(PROGRESS.get().state().events)
    }

    /// Lets every GPU continue, then sleeps until something has happened since this moment, `until`, or at most for
    /// a millisecond while a batch is running.
    pub(crate) fn sleep(self, until: Option<Instant>) {
        let glance = look().then(|| Instant::now() + GLANCE);
        let until = until.into_iter().chain(glance).min();
        let progress = PROGRESS.get();
        let state = progress.state();
        let same = |state: &mut State| state.events == self.0;
        match until {
            None => drop(progress.changed.wait_while(state, same)),
            Some(until) => {
                let left = until.saturating_duration_since(Instant::now());
                drop(progress.changed.wait_timeout_while(state, left, same));
            }
        }
    }
}

/// Blocks until `is_done` or `until`; returns whether it is done.
pub(crate) fn block(until: Option<Instant>, is_done: impl Fn() -> bool) -> bool {
    loop {
        let moment = Moment::now();
        if is_done() {
            return true;
        }
        if until.is_some_and(|until| until <= Instant::now()) {
            return false;
        }
        moment.sleep(until);
    }
}

/// The behaviour of a request that has to wait.
#[derive(Debug)]
pub(crate) enum Patience {
    /// It blocks the calling thread.
    Blocks,
    /// It fails with [`RESTART`], to be made again.
    Restarts {
        /// The time of the first attempt.
        since: Instant,
        /// The end of the wait, if it has one.
        until: Cell<Option<Instant>>,
    },
}

impl Patience {
    /// Returns the time when the request began.
    pub(crate) fn since(&self) -> Instant {
        match self {
            Self::Blocks => Instant::now(),
            Self::Restarts { since, .. } => *since,
        }
    }

    /// Returns the time when the last wait ends in any case.
    pub(crate) fn until(&self) -> Option<Instant> {
        match self {
            Self::Blocks => None,
            Self::Restarts { until, .. } => until.get(),
        }
    }

    /// Waits until `is_done`, at most until `until`; returns whether it is done.
    ///
    /// # Errors
    /// [`RESTART`].
    pub(crate) fn wait(
        &self,
        request: &'static str,
        until: Option<Instant>,
        is_done: impl Fn() -> bool,
    ) -> Result<bool> {
        match self {
            Self::Blocks => Ok(block(until, is_done)),
            Self::Restarts { .. } if is_done() => Ok(true),
            Self::Restarts { .. } if until.is_some_and(|until| until <= Instant::now()) => Ok(false),
            Self::Restarts { until: end, .. } => {
                end.set(until);
                refuse(request, RESTART)
            }
        }
    }
}

//! Eventfds, which a program passes to SYNCOBJ_EVENTFD: signalled along with a point of a syncobj.

use std::fmt::Debug;
use std::sync::{Arc, MutexGuard};
use std::time::{Duration, Instant};

use gem_coherency::fork::PerProcess;
use gem_coherency::sync::Mutex;

use super::fence::Fence;
use super::progress;

/// An eventfd (eventfd(2)) of a program that is not simulated.
pub trait EventFile: Debug + Send + Sync {
    /// Adds 1 to its counter (`eventfd_signal`). It must not block.
    fn signal(&self);
}

/// The time between two looks at fences of batches that end without a call.
const LOOK: Duration = Duration::from_millis(1);

/// An eventfd that waits for a point (`struct syncobj_eventfd_entry`).
#[derive(Debug)]
pub(crate) struct Waiter {
    /// The point.
    pub(crate) point: u64,
    /// A fence is enough: it need not be signalled.
    pub(crate) for_submit: bool,
    /// The eventfd.
    pub(crate) event: Arc<dyn EventFile>,
}

impl Waiter {
    /// Goes on with the fence of its point (`syncobj_eventfd_entry_func`).
    pub(crate) fn meet(self, fence: Fence) {
        if self.for_submit {
            self.event.signal();
        } else {
            awaited().push((fence, self.event));
            signal_done();
        }
    }
}

/// The eventfds whose points have fences, which are not signalled.
type Awaited = Vec<(Fence, Arc<dyn EventFile>)>;
static AWAITED: PerProcess<Mutex<Awaited>> = PerProcess::new();

/// Locks them; no other lock is taken under it.
fn awaited() -> MutexGuard<'static, Awaited> {
    AWAITED.get().lock()
}

/// Signals the eventfds whose fences are signalled.
pub(crate) fn signal_done() {
    for (_, event) in awaited().extract_if(.., |(fence, _)| fence.is_signalled()) {
        event.signal();
    }
}

/// Lets the GPUs continue where no request does: an eventfd waits for them, or a batch polls memory. Returns when to call this again.
pub fn deliver_events(now: Instant) -> Option<Instant> {
    let is_running = progress::look();
    signal_done();
    if is_running || !awaited().is_empty() { now.checked_add(LOOK) } else { None }
}

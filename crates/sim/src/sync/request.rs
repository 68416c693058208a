//! Submissions as others see them: their completion, and the uses of objects by them.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use gem_coherency::Errno;

use crate::sync::fence::{Fence, now_ns};
use gem_coherency::platform::{Engine, EngineClass};
use gem_coherency::vocabulary::Access;

/// A submission (`struct i915_request`).
#[derive(Debug)]
pub(crate) struct Request {
    /// Its timeline, a number that is never reused (`dma_fence::context`), and its place there.
    pub(crate) timeline: u64,
    pub(crate) number: u64,
    pub(crate) engine: Engine,
    /// The time of the submission.
    pub(crate) emitted: Instant,
    started: AtomicBool,
    done: OnceLock<Done>,
}

/// The end of a submission.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Done {
    /// The reason why it did not complete.
    pub(crate) error: Option<Errno>,
    /// The time in nanoseconds of the monotonic clock.
    pub(crate) at_ns: i64,
}

impl Request {
    pub(crate) fn new((timeline, number): (u64, u64), engine: Engine) -> Self {
        let (started, done) = (AtomicBool::new(false), OnceLock::new());
        Self { timeline, number, engine, emitted: Instant::now(), started, done }
    }

    /// Returns whether the GPU is done with it.
    pub(crate) fn is_done(&self) -> bool {
        self.done.get().is_some()
    }

    /// Returns the end, if there is one.
    pub(crate) fn done(&self) -> Option<Done> {
        self.done.get().copied()
    }

    /// Returns whether its batch has started, or is done.
    pub(crate) fn has_started(&self) -> bool {
        // Relaxed: the batches that wait for the start run under the same lock.
        self.started.load(Ordering::Relaxed) || self.is_done()
    }

    /// Records that its batch starts.
    pub(crate) fn start(&self) {
        // Relaxed: see `has_started`.
        self.started.store(true, Ordering::Relaxed);
    }

    /// Ends it; a second end is ignored.
    pub(crate) fn finish(&self, error: Option<Errno>) {
        // Fails if the last file was closed while the batch was running.
        let _ = self.done.set(Done { error, at_ns: now_ns() });
    }
}

/// The GPU's uses of an object that were not done when last checked (`struct dma_resv`).
#[derive(Clone, Debug, Default)]
pub(crate) struct Uses(Vec<(Arc<Request>, Access)>);

impl Uses {
    /// Adds a use, in place of done ones and of earlier ones on the same timeline (`dma_resv_add_fence`).
    pub(crate) fn add(&mut self, request: &Arc<Request>, access: Access) {
        let replaced = |(old, kind): &(Arc<Request>, Access)| {
            old.is_done()
                || (old.timeline == request.timeline && (*kind == Access::Read || access == Access::Write))
        };
        self.0.retain(|one| !replaced(one));
        self.0.push((Arc::clone(request), access));
    }

    /// Returns the submissions that an access has to wait for: a read for writers, a write for all
    /// (`dma_resv_usage_rw`).
    pub(crate) fn before(&self, access: Access) -> impl Iterator<Item = &Arc<Request>> {
        let counts = move |kind: &Access| access == Access::Write || *kind == Access::Write;
        let pending = self.0.iter().filter(move |(request, kind)| counts(kind) && !request.is_done());
        pending.map(|(request, _)| request)
    }

    /// Returns whether an access need not wait.
    pub(crate) fn is_idle(&self, access: Access) -> bool {
        self.before(access).next().is_none()
    }

    /// Returns the fence that an access has to wait for (`dma_resv_get_singleton`).
    pub(crate) fn fence(&self, access: Access) -> Fence {
        Fence::of(self.before(access).cloned())
    }

    /// Returns the GEM_BUSY flags: 0 if the GPU is done with the object.
    pub(crate) fn busy(&self) -> u32 {
        let pending = self.0.iter().filter(|(request, _)| !request.is_done());
        pending.fold(0, |busy, (request, access)| busy | flags(request.engine.class, *access))
    }
}

/// Returns the GEM_BUSY flags of one use (`__busy_read_flag`, `__busy_write_id`).
fn flags(class: EngineClass, access: Access) -> u32 {
    let class = u32::from(class.number());
    let reads = 0x1_0000 << class;
    match access {
        Access::Read => reads,
        Access::Write => reads | (class + 1),
    }
}

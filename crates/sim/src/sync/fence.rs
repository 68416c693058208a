//! Fences.

use std::sync::Arc;

use gem_coherency::Errno;
use nix::sys::time::TimeValLike;
use nix::time::{ClockId, clock_gettime};

use super::request::Request;

/// Bytes of a sync file's name.
pub(crate) const NAME_BYTES: usize = 32;

/// A fence (`struct dma_fence`): signalled when all of its submissions are done, on whatever devices.
#[derive(Clone, Debug)]
pub(crate) struct Fence {
    parts: Vec<Arc<Request>>,
    /// The time of the signal if there are no parts.
    signalled_ns: i64,
    /// The name that a merge gave its sync file.
    pub(crate) name: Option<[u8; NAME_BYTES]>,
}

impl Default for Fence {
    /// Creates a fence that is signalled now (`dma_fence_allocate_private_stub`).
    fn default() -> Self {
        Self { parts: Vec::new(), signalled_ns: now_ns(), name: None }
    }
}

impl Fence {
    /// Creates the fence of submissions.
    pub(crate) fn of(parts: impl IntoIterator<Item = Arc<Request>>) -> Self {
        Self { parts: parts.into_iter().collect(), ..Self::default() }
    }

    /// The submissions.
    pub(crate) fn parts(&self) -> &[Arc<Request>] {
        &self.parts
    }

    /// Returns whether the fence is signalled.
    pub(crate) fn is_signalled(&self) -> bool {
        self.parts.iter().all(|part| part.is_done())
    }

    /// Returns the time of the signal in nanoseconds of the monotonic clock, or 0 before it.
    pub(crate) fn signalled_ns(&self) -> i64 {
        match self.parts.iter().map(|part| part.done().map_or(0, |done| done.at_ns)) {
            times if times.len() == 0 => self.signalled_ns,
            _ if !self.is_signalled() => 0,
            times => times.max().unwrap_or(0),
        }
    }

    /// Returns the error of the first submission that has one.
    pub(crate) fn error(&self) -> Option<Errno> {
        self.parts.iter().find_map(|part| part.done().and_then(|done| done.error))
    }

    /// Makes the fence wait for the other one, too: for the last submission of each timeline.
    pub(crate) fn merge(&mut self, other: &Self) {
        for part in other.parts.iter().filter(|part| !part.is_done()) {
            match self.parts.iter_mut().find(|own| own.timeline == part.timeline) {
                Some(own) if own.number < part.number => *own = Arc::clone(part),
                Some(_) => {}
                None => self.parts.push(Arc::clone(part)),
            }
        }
    }

    /// Returns the fence of what is not done of two: the last submission of each timeline, in the order of timelines;
    /// otherwise one that was signalled when the later of them was (`__dma_fence_unwrap_merge`).
    pub(crate) fn merged(one: &Self, other: &Self, name: [u8; NAME_BYTES]) -> Self {
        let signalled_ns = one.signalled_ns().max(other.signalled_ns());
        let pending = one.parts.iter().chain(&other.parts).filter(|part| !part.is_done());
        let mut parts: Vec<_> = pending.cloned().collect();
        parts.sort_by_key(|part| (part.timeline, u64::MAX - part.number));
        parts.dedup_by_key(|part| part.timeline);
        Self { parts, signalled_ns, name: Some(name) }
    }
}

/// Returns the time of the monotonic clock in nanoseconds.
pub(crate) fn now_ns() -> i64 {
    clock_gettime(ClockId::CLOCK_MONOTONIC).map_or(i64::MAX, |now| now.num_nanoseconds())
}

//! Syncobjs, which hold fences.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, MutexGuard};

use super::eventfd::Waiter;
use super::fence::Fence;
use super::progress;
use gem_coherency::sync::Mutex;

/// The contents of a syncobj.
#[derive(Debug)]
enum Held {
    /// One fence.
    Fence(Fence),
    /// The fences of a timeline.
    Timeline(Timeline),
}

/// Fences by point, in order (`struct dma_fence_chain`).
#[derive(Debug, Default)]
struct Timeline {
    /// The last point that is signalled along with all points before it.
    passed: u64,
    /// The last point.
    last: u64,
    /// Points after [`Self::passed`], in order.
    pending: VecDeque<(u64, Fence)>,
}

impl Timeline {
    /// Drops the fences of signalled points.
    fn pass(&mut self) {
        while let Some((point, _)) = self.pending.pop_front_if(|(_, fence)| fence.is_signalled()) {
            self.passed = point;
        }
    }

    /// Returns the fence of all points up to `point`, or of all points for 0; `None` if the point does not
    /// exist.
    fn find(&self, point: u64) -> Option<Fence> {
        if point > self.last {
            return None;
        }
        let mut found = Fence::default();
        if point != 0 && point <= self.passed {
            return Some(found);
        }
        for (at, fence) in &self.pending {
            found.merge(fence);
            if point != 0 && *at >= point {
                break;
            }
        }
        Some(found)
    }
}

/// The state of a syncobj.
#[derive(Debug, Default)]
struct State {
    held: Option<Held>,
    /// The eventfds whose points have no fence.
    waiters: Vec<Waiter>,
}

impl State {
    /// Returns the fence of a point, as [`Syncobj::find`].
    fn find(&mut self, point: u64) -> Option<Fence> {
        match &mut self.held {
            None => None,
            Some(Held::Fence(fence)) => (point == 0).then(|| fence.clone()),
            Some(Held::Timeline(timeline)) => {
                timeline.pass();
                timeline.find(point)
            }
        }
    }

    /// Lets the eventfds go on whose points have got fences.
    fn serve(&mut self) {
        for waiter in std::mem::take(&mut self.waiters) {
            match self.find(waiter.point) {
                Some(fence) => waiter.meet(fence),
                None => self.waiters.push(waiter),
            }
        }
    }
}

/// A syncobj (`struct drm_syncobj`).
#[derive(Debug, Default)]
pub(crate) struct Syncobj(Mutex<State>);

impl Syncobj {
    /// Locks the state; only the lock of eventfds is taken under it.
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock()
    }

    /// Signals an eventfd along with a point (`drm_syncobj_add_eventfd`).
    pub(crate) fn notify(&self, waiter: Waiter) {
        let mut state = self.state();
        state.waiters.push(waiter);
        state.serve();
    }

    /// Replaces the contents (`drm_syncobj_replace_fence`).
    pub(crate) fn replace(&self, fence: Option<Fence>) {
        let mut state = self.state();
        state.held = fence.map(Held::Fence);
        state.serve();
        drop(state);
        progress::happened();
    }

    /// Adds a point to the timeline (`drm_syncobj_add_point`); one before the last point takes the last
    /// point's number.
    pub(crate) fn add(&self, point: u64, fence: Fence) {
        let mut state = self.state();
        let mut timeline = match state.held.take() {
            None => Timeline::default(),
            Some(Held::Fence(before)) => Timeline { pending: [(0, before)].into(), ..Timeline::default() },
            Some(Held::Timeline(timeline)) => timeline,
        };
        timeline.last = timeline.last.max(point);
        timeline.pending.push_back((timeline.last, fence));
        timeline.pass();
        state.held = Some(Held::Timeline(timeline));
        state.serve();
        drop(state);
        progress::happened();
    }

    /// Returns the fence of a point, or of everything for 0 (`drm_syncobj_find_fence`); `None` if there is
    /// none.
    pub(crate) fn find(&self, point: u64) -> Option<Fence> {
        self.state().find(point)
    }

    /// Returns whether it has a fence.
    pub(crate) fn has_fence(&self) -> bool {
        self.state().held.is_some()
    }

    /// Returns the last signalled point of the timeline and the last point; 0 without a timeline.
    pub(crate) fn points(&self) -> (u64, u64) {
        match &mut self.state().held {
            None | Some(Held::Fence(_)) => (0, 0),
            Some(Held::Timeline(timeline)) => {
                timeline.pass();
                (timeline.passed, timeline.last)
            }
        }
    }
}

/// A file's syncobjs by handle.
#[derive(Debug, Default)]
pub(crate) struct Syncobjs(BTreeMap<u32, Arc<Syncobj>>);

impl Syncobjs {
    /// Gives the syncobj the lowest free handle.
    pub(crate) fn insert(&mut self, syncobj: Arc<Syncobj>) -> u32 {
        let handle = (1..).find(|handle| !self.0.contains_key(handle)).unwrap_or(u32::MAX);
        self.0.insert(handle, syncobj);
        handle
    }

    /// Returns the syncobj of a handle.
    pub(crate) fn get(&self, handle: u32) -> Option<Arc<Syncobj>> {
        self.0.get(&handle).cloned()
    }

    /// Closes a handle.
    pub(crate) fn remove(&mut self, handle: u32) -> Option<Arc<Syncobj>> {
        self.0.remove(&handle)
    }
}

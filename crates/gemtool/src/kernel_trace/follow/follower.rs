//! Follows every object through the trace.

use std::collections::HashMap;

use crate::kernel_trace::attribution::toucher;
use crate::kernel_trace::{EventKind, Toucher, TraceEvent};
use gem_coherency::platform::Caps;
use gem_coherency::policy::kernel::{KernelRules, Snapshot};

use super::object::{Object, State, creation};
use super::row::{Counts, Row, Shape};
use super::window::Window;

/// The state of a thread.
#[derive(Clone, Debug, Default)]
pub(super) struct Thread {
    /// The calls in progress, the innermost last.
    pub calls: Vec<Window>,
    /// A time outside of all calls in which pages are acquired or released.
    pub moment: Window,
}

impl Thread {
    /// Returns the window of the innermost call, or else the moment.
    fn window(&mut self) -> &mut Window {
        self.calls.last_mut().unwrap_or(&mut self.moment)
    }

    /// Takes the moment, if it is not empty.
    fn take_moment(&mut self) -> Option<Window> {
        let moment = std::mem::take(&mut self.moment);
        (!moment.is_empty()).then_some(moment)
    }
}

/// Compares the kernel's flushes with the rules' predictions.
#[derive(Clone, Debug)]
pub struct Follower {
    pub(super) caps: Caps,
    pub(super) rules: KernelRules,
    /// The device whose objects are followed; `None` until it is known, when all are followed.
    pub(super) device: Option<u64>,
    pub(super) objects: HashMap<u64, Object>,
    /// Page list to object.
    pub(super) owners: HashMap<u64, u64>,
    /// Binding to object.
    pub(super) bindings: HashMap<u64, u64>,
    /// Framebuffer to object.
    pub(super) framebuffers: HashMap<u64, u64>,
    /// For each thread: the object whose binding is being looked up.
    pub(super) binding: HashMap<u32, u64>,
    /// For each thread: the framebuffer that is being created, and its object.
    pub(super) framing: HashMap<u32, (u64, u64)>,
    /// The state of each thread.
    pub(super) threads: HashMap<u32, Thread>,
    pub(super) rows: Vec<Row>,
    pub(super) counts: Counts,
}

impl Follower {
    /// Creates a follower for a device with `caps` under `rules`.
    pub fn new(caps: Caps, rules: KernelRules) -> Self {
        Self {
            caps,
            rules,
            device: None,
            objects: HashMap::new(),
            owners: HashMap::new(),
            bindings: HashMap::new(),
            framebuffers: HashMap::new(),
            binding: HashMap::new(),
            framing: HashMap::new(),
            threads: HashMap::new(),
            rows: Vec::new(),
            counts: Counts::default(),
        }
    }

    /// Follows only the objects of this device, identified as in [`EventKind::Created`].
    pub fn on(&mut self, device: u64) {
        self.device = Some(device);
    }

    /// Takes an event. Every event must be passed, in order.
    pub fn feed(&mut self, seen: &TraceEvent) {
        self.leave_moment(seen);
        match &seen.what {
            EventKind::Mark(_) | EventKind::Clflush { .. } | EventKind::Level { .. } | EventKind::Xe(_) => {}
            EventKind::Created { device, object, size_bytes } => {
                let mut new = Object::new(*size_bytes);
                new.is_foreign = self.device.is_some_and(|followed| followed != *device);
                self.objects.insert(*object, new);
            }
            EventKind::Made { object, operations } => {
                if let Some(object) = self.objects.get_mut(object).filter(|object| !object.is_foreign) {
                    object.state = State::NoHandle { creation: creation(operations) };
                }
            }
            EventKind::HandleCreated { object, .. } => self.name(*object),
            EventKind::Destroyed { object } => self.destroy(seen, *object),
            EventKind::Pages { object, pages } => {
                self.owners.insert(*pages, *object);
                if let Some(object) = self.objects.get_mut(object) {
                    object.paged = true;
                }
                let window = self.window(seen.tid);
                window.acquired.push(*object);
                // An import is flushed just before its pages are acquired.
                let import = window.seen.iter_mut().rfind(|flush| flush.shape == Shape::Wbinvd);
                if let Some(flush) = import.filter(|flush| flush.object.is_none()) {
                    flush.object = Some(*object);
                }
            }
            EventKind::FlushPages { pages, caller } => self.flush_pages(seen, *pages, caller),
            EventKind::FlushRange { bytes, caller } => match toucher(caller) {
                Some(Toucher::Transfer) => {
                    let object = self.window(seen.tid).subject;
                    self.see(seen, object, Shape::Bytes, *bytes);
                }
                // The rules do not cover a submission's flushes for these.
                Some(Toucher::Relocation | Toucher::CommandParser) | None => {}
            },
            EventKind::Wbinvd { caller } => {
                if caller.starts_with("i915_") {
                    self.see(seen, None, Shape::Wbinvd, 0);
                }
            }
            EventKind::Transfer { object, .. } => self.window(seen.tid).subject = Some(*object),
            EventKind::Call(event) => self.call(seen, event),
            EventKind::Lost(count) => {
                self.counts.lost = self.counts.lost.saturating_add(*count);
                self.threads.clear();
                self.lose_all("events of the trace were lost");
            }
        }
    }

    /// Takes the flushes that have a verdict, in the order in which the calls ended.
    pub fn rows(&mut self) -> Vec<Row> {
        std::mem::take(&mut self.rows)
    }

    /// Returns whether a worker's flush is still expected.
    pub fn is_waiting(&self) -> bool {
        self.objects.values().any(|object| !object.awaited.is_empty())
    }

    /// Ends the trace: a predicted flush that was not seen is a mismatch.
    pub fn finish(&mut self, time_ns: u64) {
        // A call that has not returned may still perform the rest.
        let threads: Vec<_> = self.threads.drain().collect();
        for (tid, mut thread) in threads {
            if let Some(moment) = thread.take_moment() {
                self.close(moment, 0, tid, "", time_ns);
            }
        }
        let mut addresses: Vec<_> =
            self.objects.iter().map(|(&address, object)| (object.number, address)).collect();
        addresses.sort_unstable();
        for (_, address) in addresses {
            self.settle(address, time_ns);
        }
    }

    /// Returns the numbers of calls, objects and flushes.
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// Returns the window of the thread's innermost call, or of the moment outside of all calls.
    pub(super) fn window(&mut self, tid: u32) -> &mut Window {
        self.threads.entry(tid).or_default().window()
    }

    /// Ends a moment outside of all calls when the thread does anything other than flush.
    fn leave_moment(&mut self, seen: &TraceEvent) {
        // The pages of an import are acquired just after its flush.
        let is_same_moment = matches!(
            seen.what,
            EventKind::FlushPages { .. }
                | EventKind::FlushRange { .. }
                | EventKind::Wbinvd { .. }
                | EventKind::Clflush { .. }
                | EventKind::Pages { .. }
        );
        if is_same_moment {
            return;
        }
        if let Some(moment) = self.threads.get_mut(&seen.tid).and_then(Thread::take_moment) {
            self.close(moment, 0, seen.tid, &seen.comm, seen.time_ns);
        }
    }

    /// Marks the object as userspace's from now on.
    fn name(&mut self, address: u64) {
        let Some(object) = self.objects.get_mut(&address) else { return };
        let State::NoHandle { creation } = &object.state else { return };
        self.counts.objects += 1;
        object.number = u32::try_from(self.counts.objects).unwrap_or(u32::MAX);
        object.state = match creation {
            Err(_) if object.is_foreign => State::NotFollowed("it belongs to another device"),
            Err(why) => State::NotFollowed(why),
            Ok(_) if object.paged => State::NotFollowed("it had pages before it had a handle"),
            Ok(creation) => Snapshot::created(self.caps, &self.rules, *creation)
                .map_or(State::NotFollowed("the rules have no such objects"), State::Followed),
        };
    }

    /// Handles an object's destruction: a pending flush by a worker can no longer happen.
    fn destroy(&mut self, seen: &TraceEvent, address: u64) {
        self.settle(address, seen.time_ns);
        self.objects.remove(&address);
        self.bindings.retain(|_, object| *object != address);
    }

    pub(super) fn stop_following(&mut self, address: u64, why: &'static str) {
        if let Some(object) = self.objects.get_mut(&address) {
            object.stop_following(why);
        }
    }

    pub(super) fn lose_all(&mut self, why: &'static str) {
        self.objects.values_mut().for_each(|object| object.stop_following(why));
    }
}

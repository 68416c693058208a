//! Follows every object through the trace.

use std::collections::HashMap;

use crate::kernel_trace::attribution::toucher;
use crate::kernel_trace::{Toucher, TraceEvent, What};
use gem_coherency::platform::Caps;
use gem_coherency::policy::kernel::{KernelRules, Snapshot};

use super::object::{Object, State, creation};
use super::row::{Counts, Row, Shape};
use super::window::Window;

/// What a thread is doing.
#[derive(Clone, Debug, Default)]
pub(super) struct Thread {
    /// The calls under way, the innermost last.
    pub calls: Vec<Window>,
    /// A moment outside of all calls, in which pages come or go.
    pub moment: Window,
}

impl Thread {
    /// The innermost call, or the moment.
    fn window(&mut self) -> &mut Window {
        self.calls.last_mut().unwrap_or(&mut self.moment)
    }

    /// The moment, if anything happened in it.
    fn take_moment(&mut self) -> Option<Window> {
        let moment = std::mem::take(&mut self.moment);
        (!moment.is_empty()).then_some(moment)
    }
}

/// Holds the kernel's flushes beside what the rules predict.
#[derive(Clone, Debug)]
pub struct Follower {
    pub(super) caps: Caps,
    pub(super) rules: KernelRules,
    /// The device whose objects are followed; all of them until it is known.
    pub(super) device: Option<u64>,
    pub(super) objects: HashMap<u64, Object>,
    /// Page list to object.
    pub(super) owners: HashMap<u64, u64>,
    /// Binding to object.
    pub(super) bindings: HashMap<u64, u64>,
    /// Framebuffer to object.
    pub(super) framebuffers: HashMap<u64, u64>,
    /// Of each thread: the object whose binding is looked for.
    pub(super) binding: HashMap<u32, u64>,
    /// Of each thread: the framebuffer that is being made, and its object.
    pub(super) framing: HashMap<u32, (u64, u64)>,
    /// What each thread is doing.
    pub(super) threads: HashMap<u32, Thread>,
    pub(super) rows: Vec<Row>,
    pub(super) counts: Counts,
}

impl Follower {
    /// Follows objects of a device with `caps` under `rules`.
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

    /// Follows the objects of this device only, as [`What::Created`] names it.
    pub fn on(&mut self, device: u64) {
        self.device = Some(device);
    }

    /// Takes in an event; in order, and all of them.
    pub fn feed(&mut self, seen: &TraceEvent) {
        self.leave_moment(seen);
        match &seen.what {
            What::Mark(_) | What::Clflush { .. } | What::Level { .. } => {}
            What::Created { device, object, size_bytes } => {
                let mut new = Object::new(*size_bytes);
                new.is_foreign = self.device.is_some_and(|followed| followed != *device);
                self.objects.insert(*object, new);
            }
            What::Made { object, operations } => {
                if let Some(object) = self.objects.get_mut(object).filter(|object| !object.is_foreign) {
                    object.state = State::Unnamed { creation: creation(operations) };
                }
            }
            What::Named { object, .. } => self.name(*object),
            What::Destroyed { object } => self.destroy(seen, *object),
            What::Pages { object, pages } => {
                self.owners.insert(*pages, *object);
                if let Some(object) = self.objects.get_mut(object) {
                    object.paged = true;
                }
                let window = self.window(seen.tid);
                window.acquired.push(*object);
                // An import is flushed just before its pages are there.
                let import = window.seen.iter_mut().rfind(|flush| flush.shape == Shape::Wbinvd);
                if let Some(flush) = import.filter(|flush| flush.object.is_none()) {
                    flush.object = Some(*object);
                }
            }
            What::FlushPages { pages, caller } => self.flush_pages(seen, *pages, caller),
            What::FlushRange { bytes, caller } => match toucher(caller) {
                Some(Toucher::Transfer) => {
                    let object = self.window(seen.tid).subject;
                    self.see(seen, object, Shape::Bytes, *bytes);
                }
                // What a submission flushes of these is no part of the rules.
                Some(Toucher::Relocation | Toucher::CommandParser) | None => {}
            },
            What::Wbinvd { caller } => {
                if caller.starts_with("i915_") {
                    self.see(seen, None, Shape::Wbinvd, 0);
                }
            }
            What::Transfer { object, .. } => self.window(seen.tid).subject = Some(*object),
            What::Call(event) => self.call(seen, event),
            What::Lost(count) => {
                self.counts.lost = self.counts.lost.saturating_add(*count);
                self.threads.clear();
                self.lose_all("events of the trace were lost");
            }
        }
    }

    /// Takes the flushes on which there is a verdict, in order of the calls' ends.
    pub fn rows(&mut self) -> Vec<Row> {
        std::mem::take(&mut self.rows)
    }

    /// Whether a worker's flush is still to come.
    pub fn is_waiting(&self) -> bool {
        self.objects.values().any(|object| !object.awaited.is_empty())
    }

    /// Ends the trace: what was predicted and did not come is a mismatch.
    pub fn finish(&mut self, time_ns: u64) {
        // A call that has not returned may do the rest of it.
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

    /// How many there were.
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// The window of the thread's innermost call, or of the moment outside of all.
    pub(super) fn window(&mut self, tid: u32) -> &mut Window {
        self.threads.entry(tid).or_default().window()
    }

    /// A moment outside of all calls is over when the thread does anything else than flush.
    fn leave_moment(&mut self, seen: &TraceEvent) {
        // The pages of an import come just after its flush.
        let goes_on = matches!(
            seen.what,
            What::FlushPages { .. }
                | What::FlushRange { .. }
                | What::Wbinvd { .. }
                | What::Clflush { .. }
                | What::Pages { .. }
        );
        if goes_on {
            return;
        }
        if let Some(moment) = self.threads.get_mut(&seen.tid).and_then(Thread::take_moment) {
            self.close(moment, 0, seen.tid, &seen.comm, seen.time_ns);
        }
    }

    /// The object belongs to userspace from now on.
    fn name(&mut self, address: u64) {
        let Some(object) = self.objects.get_mut(&address) else { return };
        let State::Unnamed { creation } = &object.state else { return };
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

    /// The object is gone: what a worker was to flush of it cannot come any more.
    fn destroy(&mut self, seen: &TraceEvent, address: u64) {
        self.settle(address, seen.time_ns);
        self.objects.remove(&address);
        self.bindings.retain(|_, object| *object != address);
    }

    pub(super) fn lose(&mut self, address: u64, why: &'static str) {
        if let Some(object) = self.objects.get_mut(&address) {
            object.lose(why);
        }
    }

    pub(super) fn lose_all(&mut self, why: &'static str) {
        self.objects.values_mut().for_each(|object| object.lose(why));
    }
}

//! What all objects of a software device share: the hardware, the accounting, the logs, and the list of the objects.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, MutexGuard, Weak};

use gem_coherency::Errno;
use gem_coherency::sync::Mutex;

use super::names::Names;
use super::object::Object;
use crate::kernel::accounting::Accounting;
use crate::kernel::hardware::Hardware;
use crate::kernel::injected_faults::{Entry, InjectedFaults, Needs};
use crate::kernel::offsets::{Node, Offsets};
use crate::kernel::spec::{Spec, XeKernel};
use crate::memory::backing_store::AccessContext;
use crate::observe::coverage::Counts;
use crate::observe::epochs::Epochs;
use crate::observe::incoherent::IncoherentLog;
use crate::observe::log::{KernelFlush, Log};
use crate::observe::refusals::Refusals;
use crate::observe::trace::Trace;
use gem_coherency::error::Result;
use gem_coherency::fork::Owner;
use gem_coherency::platform::Machine;
use gem_coherency::policy::Rule;
use gem_coherency::policy::kernel::{self, Action, Effects, Event, KernelRules, Refusal, Snapshot, Step};
use gem_coherency::units::PAGE_BYTES;
use gem_coherency::vocabulary::{CacheLevel, MmapMode};

/// The machine of a software device, and its kernel: what all of its objects share.
#[derive(Debug)]
pub(crate) struct System {
    pub(crate) machine: Machine,
    pub(crate) rules: KernelRules,
    /// The device of xe; `None` for one of i915.
    pub(crate) xe: Option<XeKernel>,
    pub(crate) hardware: Hardware,
    pub(crate) accounting: Accounting,
    pub(crate) injected_faults: InjectedFaults,
    pub(crate) log: Log,
    pub(crate) incoherent: IncoherentLog,
    pub(crate) refusals: Refusals,
    pub(crate) trace: Trace,
    pub(crate) coverage: Counts,
    pub(crate) epochs: Epochs,
    /// The numbers of the objects to which programs may store past the cache, under a WB mapping.
    pub(crate) aliased: Mutex<BTreeSet<u64>>,
    names: Mutex<Names>,
    objects: Mutex<Objects>,
    offsets: Mutex<Offsets>,
    /// The objects whose mappings by programs have to be brought up to date after the request.
    pub(crate) settled: Mutex<Vec<Weak<Object>>>,
    /// Is locked while an object moves between local and system memory.
    pub(crate) moving: Mutex<()>,
    /// The number of uses of objects by the GPU so far.
    pub(crate) uses: AtomicU64,
    /// The process that owns this memory: a forked child has a copy whose locks may be held for ever.
    pub(crate) owner: Owner,
}

#[derive(Debug, Default)]
struct Objects {
    created: u64,
    alive: BTreeMap<u64, Weak<Object>>,
}

impl System {
    pub(crate) fn new(spec: &Spec) -> Self {
        let injected_faults = InjectedFaults::default();
        for &(fault, after) in &spec.faults {
            injected_faults.inject(fault, after);
        }
        Self {
            machine: spec.machine,
            rules: spec.rules,
            xe: spec.xe,
            hardware: Hardware::new(spec),
            accounting: Accounting::new(spec.local_bytes),
            injected_faults,
            log: Log::default(),
            incoherent: IncoherentLog::default(),
            refusals: Refusals::default(),
            trace: Trace::default(),
            coverage: Counts::default(),
            epochs: Epochs::default(),
            aliased: Mutex::default(),
            names: Mutex::default(),
            objects: Mutex::default(),
            offsets: Mutex::default(),
            settled: Mutex::default(),
            moving: Mutex::default(),
            uses: AtomicU64::new(1),
            owner: Owner::current(),
        }
    }

    /// Returns the context of accesses to an object of this level, which are neither logged nor traced.
    pub(crate) fn access_context(&self, level: CacheLevel) -> AccessContext<'_> {
        let coherent = self.hardware.coherent || self.trace.is_coherent();
        let hardware = self.hardware.caches;
        AccessContext {
            hardware,
            level,
            coherent,
            pat_index: None,
            is_uncached: false,
            moves: false,
            watch: None,
            trace: None,
        }
    }

    /// Returns what the kernel does to an object at an event.
    ///
    /// xe flushes nothing: it brings pages in, and releases them.
    ///
    /// # Errors
    /// The kernel's refusal.
    pub(crate) fn step(&self, before: Snapshot, event: Event) -> std::result::Result<Step, Refusal> {
        if self.xe.is_none() {
            return kernel::step(self.machine.caps, &self.rules, before, event);
        }
        Ok(step_of_xe(before, event))
    }

    /// Applies the faults that are due to `request`.
    ///
    /// # Errors
    /// The errno of a fault that fails the request; [`gem_coherency::Error::OtherProcess`].
    pub(crate) fn enter(&self, request: &'static str, needs: Needs) -> Result<()> {
        self.owner.check()?;
        let entry = self.injected_faults.enter(request, needs);
        tracing::debug!(
            request,
            errno = entry.as_ref().err().map(|error| tracing::field::debug(error.errno()))
        );
        match entry? {
            Entry::Clear => {}
            Entry::Shrink => self.shrink(),
        }
        Ok(())
    }

    /// Gives the next object the number `first`, or a later one.
    pub(crate) fn number_objects_from(&self, first: u64) {
        let mut objects = self.objects();
        objects.created = objects.created.max(first.saturating_sub(1));
    }

    /// Registers the object that `make` creates from its number.
    pub(crate) fn register(&self, make: impl FnOnce(u64) -> Object) -> Arc<Object> {
        let mut objects = self.objects();
        objects.created += 1;
        let id = objects.created;
        let object = Arc::new(make(id));
        objects.alive.insert(id, Arc::downgrade(&object));
        object
    }

    /// Unregisters an object.
    pub(crate) fn unregister(&self, id: u64) {
        self.objects().alive.remove(&id);
    }

    /// Allocates the mmap offset of object `id`, of `size` bytes; returns its first page.
    ///
    /// # Errors
    /// ENOSPC.
    pub(crate) fn add_offset(&self, id: u64, mode: MmapMode, size: u64) -> std::result::Result<u64, Errno> {
        self.offsets().add(id, mode, size / PAGE_BYTES)
    }

    /// Releases an mmap offset.
    pub(crate) fn remove_offset(&self, start: u64) {
        self.offsets().remove(start);
    }

    /// Returns the node of these pages of the device's file, and its object if it still exists.
    pub(crate) fn at_offset(&self, start: u64, pages: u64) -> Option<(Node, Option<Arc<Object>>)> {
        let node = self.offsets().find(start, pages)?;
        let object = self.objects().alive.get(&node.object).and_then(Weak::upgrade);
        Some((node, object))
    }

    fn offsets(&self) -> MutexGuard<'_, Offsets> {
        self.offsets.lock()
    }

    /// Returns the object with a number, if it still exists.
    pub(crate) fn object(&self, id: u64) -> Option<Arc<Object>> {
        self.objects().alive.get(&id).and_then(Weak::upgrade)
    }

    /// Returns every object, oldest first.
    pub(crate) fn all(&self) -> Vec<Arc<Object>> {
        self.objects().alive.values().filter_map(Weak::upgrade).collect()
    }

    /// Writes back and drops every line of every object (`wbinvd_on_all_cpus`).
    pub(crate) fn wbinvd(&self, call: &'static str, rule: Rule) {
        let mut lines_written = 0;
        let mut bytes = 0;
        for object in self.all() {
            bytes += object.size();
            lines_written += object.flush_store();
        }
        self.log.push(KernelFlush {
            call,
            object: 0,
            handle: None,
            action: Action::Wbinvd,
            rule,
            bytes,
            lines_written,
        });
    }

    /// Locks the global names; no other lock is taken under it.
    pub(crate) fn names(&self) -> MutexGuard<'_, Names> {
        self.names.lock()
    }

    fn objects(&self) -> MutexGuard<'_, Objects> {
        self.objects.lock()
    }
}

/// Returns what xe does to an object at an event: it brings pages in, and releases them, and flushes nothing. Events of requests that xe lacks change
/// nothing.
pub const fn step_of_xe(before: Snapshot, event: Event) -> Step {
    let next = match event {
        Event::Release => Snapshot { pages: false, ..before },
        Event::AddFramebuffer => Snapshot { framebuffer: true, ..before },
        Event::RemoveFramebuffer => Snapshot { framebuffer: false, ..before },
        Event::PinDisplay => Snapshot { pinned: true, pages: true, ..before },
        Event::UnpinDisplay => Snapshot { pinned: false, ..before },
        Event::Acquire | Event::Fault | Event::Exec(_) => Snapshot { pages: true, ..before },
        Event::SetDomainCpu(_)
        | Event::SetDomainGtt(_)
        | Event::SetDomainWc(_)
        | Event::SetCaching(_)
        | Event::Pread
        | Event::Pwrite { .. }
        | Event::SwFinish
        | Event::DirtyFb
        | Event::DmaBufBegin(_)
        | Event::DmaBufEnd
        | Event::Suspend
        | Event::Hibernate
        | Event::Resume { .. } => before,
    };
    Step { next, effects: Effects::NONE, rule: Rule::ExecClean }
}

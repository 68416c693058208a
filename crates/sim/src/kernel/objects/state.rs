//! The kernel's state of an object, at first and later, and the count of changes of what mappings show.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::memory::tiling::Tiling;
use crate::observe::domain_calls::Unwaited;
use crate::sync::request::Uses;
use gem_coherency::backend::Advice;
use gem_coherency::policy::kernel::{Backing, Snapshot};
use gem_coherency::vocabulary::{Agent, CacheLevel, Coherency, Domains, Handle};
use gem_coherency::xe::{self, CpuCaching, CreateFlags, LOCAL};

/// The kernel's state of an object.
#[derive(Debug)]
pub(crate) struct State {
    pub(crate) snapshot: Snapshot,
    pub(crate) advice: Advice,
    pub(crate) purged: bool,
    /// The state to which the object returns if its mappings by programs turn out to be untouched.
    pub(crate) untouched: Option<Untouched>,
    /// A shader that was skipped should have written it.
    pub(crate) is_unwritten: bool,
    /// The GPU's uses of it.
    pub(crate) used: Uses,
    /// The GPU's uses that no request has waited for.
    pub(crate) unwaited: Unwaited,
    /// The handle that the object got first, for the log.
    pub(crate) first_handle: Option<Handle>,
    /// The object is bound in the GGTT: shown, accessed through the aperture, or used by a context without an
    /// address space.
    pub(crate) bound: bool,
    /// Number of devices to which the object's dma-buf is attached, which pins the pages.
    pub(crate) attached: u32,
    pub(crate) tiling: Tiling,
    /// Number of framebuffers of it.
    pub(crate) framebuffers: u32,
    /// Number of planes that show it.
    pub(crate) planes: u32,
}

impl State {
    /// Returns the state of a new object.
    pub(super) fn new(snapshot: Snapshot) -> Self {
        Self {
            snapshot,
            advice: Advice::WillNeed,
            purged: false,
            untouched: None,
            is_unwritten: false,
            used: Uses::default(),
            unwaited: Unwaited::default(),
            first_handle: None,
            bound: false,
            attached: 0,
            tiling: Tiling::default(),
            framebuffers: 0,
            planes: 0,
        }
    }
}

/// The state of an object before its pages were brought in for mappings of programs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Untouched {
    pub(crate) snapshot: Snapshot,
    pub(crate) bound: bool,
    /// The mappings bind it.
    pub(crate) binds: bool,
    /// The state after the touch, while a request is under way.
    pub(crate) after_touch: Option<(Snapshot, bool)>,
}

impl Untouched {
    /// Returns the state before a mapping is made; `None` if the object has pages for another reason.
    pub(crate) fn before(state: &State) -> Option<Self> {
        let bare = Self { snapshot: state.snapshot, bound: state.bound, binds: false, after_touch: None };
        state.untouched.or((!state.snapshot.pages).then_some(bare))
    }

    /// Returns it after the mapping was made.
    pub(crate) fn bound_by(self, state: &State) -> Self {
        Self { binds: state.bound, ..self }
    }
}

/// Number of changes of what mappings show, on all devices.
static CHANGES: AtomicU64 = AtomicU64::new(0);

/// The changes up to some moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Changes(u64);

impl Changes {
    /// Returns those up to now.
    pub(crate) fn now() -> Self {
        // Acquire: whoever sees the count sees what changed.
        Self(CHANGES.load(Ordering::Acquire))
    }

    /// Counts one more.
    pub(crate) fn happened() {
        CHANGES.fetch_add(1, Ordering::Release);
    }
}

/// The state of a new object of xe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NewObject {
    /// Its state. The level is that of the CPU's mapping.
    pub snapshot: Snapshot,
    /// The agent whose caches have its zeroes at first.
    pub zeroed_by: Agent,
}

impl NewObject {
    /// Returns the state of an object that a device's xe, which may lack a rule, has created. Pages that are deferred are in system memory, if the
    /// CPU needs them first (`___xe_bo_create_locked`).
    #[must_use]
    pub fn of_xe(device: &xe::Device, object: &xe::Object, without: Option<xe::Rule>) -> Self {
        let may_be_local = object.placement & LOCAL != 0;
        let is_local = may_be_local && !object.flags.contains(CreateFlags::DEFER_BACKING);
        let backing = match object.caching {
            None => Backing::Import,
            Some(_) if is_local => Backing::Local,
            Some(_) => Backing::LocalSystem,
        };
        let is_uncached = match object.caching {
            None => false,
            Some(_) if device.platform.discrete => is_local,
            Some(caching) => caching == CpuCaching::Wc,
        };
        let snapshot = Snapshot {
            backing,
            level: if is_uncached { CacheLevel::None } else { CacheLevel::Llc },
            user_pat: None,
            coherent: Coherency::empty(),
            dirty: false,
            read_domains: Domains::empty(),
            write_domain: Domains::empty(),
            pages: false,
            framebuffer: false,
            pinned: false,
            user: true,
        };
        // The zeroes of write-combining pages are flushed when the pages get their type (set_pages_array_wc), unless the kernel lacks that.
        let is_flushed = without != Some(xe::Rule::NoCpuLines);
        // Local memory is cleared by the GPU, and system memory that such an object may be in is snooped.
        let is_zeroed_past = may_be_local || is_uncached && is_flushed;
        Self { snapshot, zeroed_by: if is_zeroed_past { Agent::Gpu } else { Agent::Cpu } }
    }

    /// Returns the state with the level of the cache where CPU and GPU share one.
    #[must_use]
    pub fn in_shared_cache(&self, device: &xe::Device) -> Snapshot {
        let shares = device.platform.has_llc() && self.snapshot.backing != Backing::Local;
        Snapshot { level: if shares { CacheLevel::Llc } else { self.snapshot.level }, ..self.snapshot }
    }
}

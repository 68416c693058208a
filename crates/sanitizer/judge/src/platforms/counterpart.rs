//! Objects of a run under one driver as a driver for the other one would create them.
//!
//! Under i915 caching belongs to an object, and changes; under xe it is chosen at creation, for the CPU's only mode of mapping. So the run's mappings
//! tell it: an object that is mapped write-back is write-back under xe, and bound by a PAT index that snoops; another one is write-combining, as the
//! library's table has it ([`choose_mode`](gem_coherency::xe::Device::choose_mode)). What has no counterpart is not judged: a request that makes i915
//! flush or copy, and an object that is mapped in two ways.
//!
//! An object of xe has a level under i915: that of CACHED if the CPU maps it write-back, else that of NONE, and a mapping of the same mode. The
//! kernel has flushed its zeroes when it gets its pages, and it flushes its lines when the display shows it: no request of a program is missing.

use gem_coherency::platform::Caps;
use gem_coherency::policy::kernel::{Backing, Creation, Event, KernelRules, Snapshot};
use gem_coherency::vocabulary::{Agent, CacheLevel, CachingMode};
use gem_coherency::xe::{self, CpuCaching, LOCAL};

use super::classes::{Class, Mask};

/// The PAT indices of graphics 12.70 for the levels LLC and NONE.
const PAT_CACHED: u8 = 3;
const PAT_UNCACHED: u8 = 2;

/// Why an object of xe is not judged on a class of i915.
pub(super) const NOT_CACHED: &str =
    "objects that are mapped write-back: the GPU neither shares the LLC nor snoops the CPU's caches";

/// An object that xe created in the run.
#[derive(Clone, Copy, Debug)]
pub(super) struct ByXe {
    /// Its state on the run's device.
    pub(super) snapshot: Snapshot,
    /// The agent whose caches have its zeroes there.
    pub(super) zeroed_by: Agent,
    /// How it was created.
    pub(super) created: xe::Object,
    /// By CREATE_DUMB.
    pub(super) is_dumb: bool,
}

/// An object of xe as a driver for i915 would create it.
pub(super) struct UnderI915 {
    /// Its state.
    pub(super) snapshot: Snapshot,
    /// The CPU maps it through its caches.
    pub(super) is_cached: bool,
}

impl UnderI915 {
    /// Returns the object on a class of i915, whose kernel has `rules`; `None` where the GPU cannot see the CPU's caches, and has to.
    pub(super) fn of(class: &Class, rules: &KernelRules, by_xe: &ByXe) -> Option<Self> {
        let caps = class.machine.caps;
        let ByXe { created, is_dumb, .. } = by_xe;
        let is_cached = created.caching != Some(CpuCaching::Wc);
        let is_local = created.placement & LOCAL != 0 || *is_dumb;
        let new = |creation| Snapshot::created(caps, rules, creation).ok();
        if caps.contains(Caps::DISCRETE) {
            // The kernel chooses how the CPU maps an object: system memory through the cache.
            let snapshot = new(if is_local { Creation::Local } else { Creation::User })?;
            return Some(Self { snapshot, is_cached: snapshot.backing != Backing::Local });
        }
        let plain = new(Creation::User)?;
        let (mode, level, index) = match is_cached {
            true => (CachingMode::Cached, CacheLevel::Llc, PAT_CACHED),
            false => (CachingMode::None, CacheLevel::None, PAT_UNCACHED),
        };
        // CREATE_DUMB chooses no level. Where SET_CACHING is refused, the level is that of a PAT index.
        let snapshot = match class.step(rules, plain, Event::SetCaching(mode)) {
            _ if *is_dumb || plain.level == level => plain,
            Ok(step) => step.next,
            Err(_) => new(Creation::UserWithPat(index))?,
        };
        Some(Self { snapshot, is_cached })
    }
}

/// What is known of an object under i915 that classes of xe judge.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Counterpart {
    /// Those classes.
    pub(super) on: Mask,
    /// The mode that SET_CACHING chose before the first use.
    pub(super) chosen: Option<CachingMode>,
    /// The mode of its mappings.
    pub(super) mapped: Option<CpuCaching>,
    /// A program or an agent has accessed it.
    pub(super) is_used: bool,
}

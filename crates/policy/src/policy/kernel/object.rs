//! An object during an event: its current state, and the flushes and barriers issued so far.

use crate::platform::Caps;
use crate::policy::Rule;
use crate::policy::coherency;
use crate::vocabulary::{CacheLevel, Coherency, Domains};

use super::event::{Action, Effects};
use super::rules::KernelRules;
use super::snapshot::{Backing, Snapshot};
use super::{Step, pages};

/// An object during an event.
pub(super) struct Object<'a> {
    pub(super) caps: Caps,
    pub(super) rules: &'a KernelRules,
    pub(super) state: Snapshot,
    effects: Effects,
    /// The rule of the first flush.
    flushed: Option<Rule>,
    /// The last reason for not flushing.
    skipped: Rule,
}

/// The time of a clflush: within the call, or later in a worker (`I915_CLFLUSH_SYNC` not set).
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum When {
    /// The call waits for the flush.
    Sync,
    /// A worker flushes, ordered by the object's fences.
    Async,
}

/// The handling of an object that is coherent for read; `Yes` is `I915_CLFLUSH_FORCE`.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Force {
    /// An object that is coherent for read is not flushed.
    No,
    /// Every object is flushed, because the display engine reads memory.
    Yes,
}

impl<'a> Object<'a> {
    pub(super) fn new(caps: Caps, rules: &'a KernelRules, state: Snapshot) -> Self {
        Self { caps, rules, state, effects: Effects::NONE, flushed: None, skipped: Rule::NothingPending }
    }

    pub(super) fn into_step(self) -> Step {
        Step { next: self.state, effects: self.effects, rule: self.flushed.unwrap_or(self.skipped) }
    }

    /// Issues `action`, unless its rule was removed.
    pub(super) fn issue(&mut self, action: Action, rule: Rule) {
        if self.rules.lacks(rule) {
            return;
        }
        self.effects.push(action, rule);
        if action.is_flush() {
            self.flushed.get_or_insert(rule);
        }
    }

    /// Records why nothing is flushed.
    pub(super) fn skip(&mut self, rule: Rule) {
        self.skipped = rule;
    }

    pub(super) fn has(&self, cap: Caps) -> bool {
        self.caps.contains(cap)
    }

    /// Returns whether userspace cannot change the object's level and domains (`i915_gem_object_is_proxy`).
    pub(super) fn is_proxy(&self) -> bool {
        self.state.backing == Backing::Userptr && self.rules.userptr_is_proxy
    }

    pub(super) fn coherent_for(&self, access: Coherency) -> bool {
        self.state.coherent.contains(access)
    }

    /// Returns whether userspace reads of the object can bypass the LLC (`i915_gem_object_can_bypass_llc`).
    pub(super) fn can_bypass_llc(&self) -> bool {
        self.state.user && (self.state.user_pat.is_some() || self.has(Caps::LLC_BYPASS_MOCS))
    }

    /// Returns whether the GPU's writes may be dirty in the CPU's cache (`gpu_write_needs_clflush`).
    pub(super) fn gpu_write_needs_clflush(&self) -> bool {
        match self.state.level {
            _ if self.has(Caps::DISCRETE) || self.state.user_pat.is_some() => false,
            CacheLevel::None | CacheLevel::Wt => false,
            CacheLevel::Llc | CacheLevel::L3Llc => true,
        }
    }

    /// Returns whether a CPU write must be flushed later (`i915_gem_cpu_write_needs_clflush`).
    pub(super) fn cpu_write_needs_clflush(&self) -> bool {
        !self.state.dirty
            && !self.has(Caps::DISCRETE)
            && (!self.coherent_for(Coherency::WRITE) || self.state.framebuffer)
    }

    /// Moves the object to the CPU's write domain (`__start_cpu_write`).
    pub(super) fn start_cpu_write(&mut self) {
        self.state.read_domains = Domains::CPU;
        self.state.write_domain = Domains::CPU;
        if self.cpu_write_needs_clflush() {
            self.state.dirty = true;
        }
    }

    /// Sets level, coherency and the dirty bit (`i915_gem_object_set_cache_coherency`); flushes nothing.
    pub(super) fn set_cache_coherency(&mut self, level: CacheLevel) {
        self.state.level = level;
        self.state.coherent = coherency(self.caps, level);
        self.state.dirty = pages::starts_dirty(self.caps, self.rules, self.state.coherent);
    }

    /// Changes the level of an existing object (`i915_gem_object_set_cache_level`).
    ///
    /// Sets the dirty bit whatever the new level is: the flush is deferred until it is needed.
    pub(super) fn set_cache_level(&mut self, level: CacheLevel) {
        if self.has_cache_level(level) {
            self.skip(Rule::LevelUnchanged);
            return;
        }
        let was_dirty = self.state.dirty;
        self.set_cache_coherency(level);
        self.state.dirty = !self.rules.lacks(Rule::LevelChange) || was_dirty;
        self.skip(Rule::LevelChange);
    }

    /// Returns whether the object has `level` (`i915_gem_object_has_cache_level`). A PAT index that userspace
    /// chose matches every level.
    pub(super) fn has_cache_level(&self, level: CacheLevel) -> bool {
        self.state.user_pat.is_some() || self.state.level == level
    }

    /// Flushes all pages if the object needs it (`i915_gem_clflush_object`).
    pub(super) fn clflush_object(&mut self, force: Force, when: When, rule: Rule) {
        if self.has(Caps::DISCRETE) {
            return self.skip(Rule::DiscreteNeverFlushes);
        }
        if !self.state.backing.has_struct_pages() {
            self.state.dirty = false;
            return self.skip(Rule::NoStructPages);
        }
        if force == Force::No && self.coherent_for(Coherency::READ) {
            return self.skip(Rule::CoherentForRead);
        }
        match when {
            // Without the flush, the object stays dirty.
            When::Async | When::Sync if self.rules.lacks(rule) => {}
            When::Async => {
                self.state.dirty &= self.rules.flush_acquires_first;
                self.acquire();
                self.issue(Action::FlushAsync, rule);
                self.state.dirty = false;
            }
            When::Sync if self.state.pages => {
                self.issue(Action::FlushSync, rule);
                self.state.dirty = false;
            }
            // Absent pages cannot be cached; the acquire will flush.
            When::Sync => self.skip(Rule::PagesAbsent),
        }
    }

    /// Leaves the write domain if it is one of `mask` (`flush_write_domain`).
    pub(super) fn flush_write_domain(&mut self, mask: Domains) {
        let write_domain = self.state.write_domain;
        if !write_domain.intersects(mask) {
            return;
        }
        if write_domain.contains(Domains::GTT) {
            self.issue(Action::FlushGgtt, Rule::LeaveGttWrite);
        } else if write_domain.contains(Domains::WC) {
            self.issue(Action::WriteBarrier, Rule::LeaveWcWrite);
        } else if write_domain.contains(Domains::CPU) {
            self.clflush_object(Force::No, When::Sync, Rule::LeaveCpuWrite);
        } else if self.gpu_write_needs_clflush() {
            self.state.dirty = true;
        }
        self.state.write_domain = Domains::empty();
    }
}

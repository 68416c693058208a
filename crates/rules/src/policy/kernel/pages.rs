//! Pages coming and going: acquire, where foreign bytes are flushed, and release.

use crate::platform::Caps;
use crate::policy::Rule;
use crate::vocabulary::{Coherency, Domains};

use super::event::Action;
use super::object::Object;
use super::rules::KernelRules;
use super::snapshot::Backing;

/// Whether an object of this coherency is taken as dirty before anyone wrote it.
pub(super) fn starts_dirty(caps: Caps, rules: &KernelRules, coherent: Coherency) -> bool {
    let never = rules.discrete_never_dirty && caps.contains(Caps::DISCRETE);
    !coherent.contains(Coherency::WRITE) && !never
}

impl Object<'_> {
    /// Brings pages in (`____i915_gem_object_get_pages`, then `__i915_gem_object_set_pages`); nothing
    /// if they are there.
    pub(super) fn acquire(&mut self) {
        if self.state.pages {
            return;
        }
        let flush = self.get_pages();
        self.state.pages = true;
        if !self.state.dirty {
            return;
        }
        self.state.write_domain = Domains::empty();
        self.state.dirty = self.rules.lacks(flush);
        if self.state.backing.has_struct_pages() {
            self.issue(Action::FlushSync, flush);
        } else {
            self.skip(Rule::NoStructPages);
        }
    }

    /// [`Self::acquire`] as an event of its own: that the pages are there is the reason then.
    pub(super) fn acquire_alone(&mut self) {
        self.skip(Rule::PagesPresent);
        self.acquire();
    }

    /// A first touch of a mapping of the device's file (`vm_fault_cpu`, `vm_fault_gtt`); TTM's brings
    /// in memory that does not count as the object's pages (`vm_fault_ttm`).
    pub(super) fn fault(&mut self) {
        match self.state.backing {
            Backing::Local | Backing::LocalSystem => self.skip(Rule::DiscreteNeverFlushes),
            Backing::Shmem
            | Backing::Userptr
            | Backing::Import
            | Backing::Stolen
            | Backing::Internal
            | Backing::Phys => self.acquire_alone(),
        }
    }

    /// What the backing does when it fetches pages; returns the rule that a flush would have.
    fn get_pages(&mut self) -> Rule {
        let usual = if self.has(Caps::LLC) { Rule::AcquireUncachedLlc } else { Rule::AcquireDirty };
        self.skip(Rule::AcquireCoherent);
        match self.state.backing {
            Backing::Shmem => self.dirty_if_bypassable(self.rules.bypass_acquire_flush, usual),
            Backing::Userptr => self.dirty_if_bypassable(self.rules.foreign_acquire_flush, usual),
            Backing::Import => {
                let incoherent = !self.has(Caps::LLC) && !self.has(Caps::DG1);
                if self.rules.foreign_acquire_flush && (self.can_bypass_llc() || incoherent) {
                    self.issue(Action::Wbinvd, Rule::ImportWbinvd);
                } else {
                    self.skip(Rule::ImportCoherent);
                }
                usual
            }
            Backing::Phys => {
                self.issue(Action::FlushAfter, Rule::PhysCopy);
                self.issue(Action::FlushChipset, Rule::PhysCopy);
                usual
            }
            Backing::Local | Backing::LocalSystem => {
                self.skip(Rule::DiscreteNeverFlushes);
                usual
            }
            Backing::Stolen | Backing::Internal => usual,
        }
    }

    /// Marks the object dirty where userspace can read around the LLC, so that the acquire flushes.
    fn dirty_if_bypassable(&mut self, known: bool, usual: Rule) -> Rule {
        if !known || !self.can_bypass_llc() || self.rules.lacks(Rule::BypassAcquire) {
            return usual;
        }
        self.state.dirty = true;
        Rule::BypassAcquire
    }

    /// Gives pages back (`__i915_gem_object_put_pages`).
    pub(super) fn release(&mut self) {
        if !self.state.pages {
            return self.skip(Rule::PagesAbsent);
        }
        if self.state.pinned {
            return self.skip(Rule::PagesPinned);
        }
        match self.state.backing {
            Backing::Shmem | Backing::Userptr => {
                self.skip(Rule::ReleaseCoherent);
                if !self.state.read_domains.contains(Domains::CPU) && !self.coherent_for(Coherency::READ) {
                    self.issue(Action::FlushSync, Rule::ReleaseStale);
                }
                self.release_to_cpu();
            }
            Backing::Phys => {
                self.issue(Action::FlushBefore, Rule::PhysCopy);
                self.release_to_cpu();
            }
            Backing::Internal => {
                self.skip(Rule::ReleaseCoherent);
                self.start_cpu_write();
                self.state.pages = false;
            }
            Backing::Import => {
                self.skip(Rule::ImportUntracked);
                self.state.pages = false;
            }
            Backing::Local | Backing::LocalSystem => {
                self.skip(Rule::DiscreteNeverFlushes);
                self.state.pages = false;
            }
            // Firmware's memory stays where it is.
            Backing::Stolen => self.skip(Rule::NoStructPages),
        }
    }

    /// The CPU owns the bytes again; where there is no LLC they will be flushed when they return.
    fn release_to_cpu(&mut self) {
        self.start_cpu_write();
        if self.rules.release_marks_dirty && !self.has(Caps::LLC) && !self.has(Caps::DISCRETE) {
            self.state.dirty = true;
        }
        self.state.pages = false;
    }
}

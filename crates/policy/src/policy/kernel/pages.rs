//! Acquire and release of pages. The acquire flushes the previous owner's data.

use crate::platform::Caps;
use crate::policy::Rule;
use crate::vocabulary::{Coherency, Domains};

use super::event::Action;
use super::object::Object;
use super::rules::KernelRules;
use super::snapshot::Backing;

/// Returns whether a new object of this coherency is dirty before its first write.
pub(super) fn starts_dirty(caps: Caps, rules: &KernelRules, coherent: Coherency) -> bool {
    let never = rules.discrete_never_dirty && caps.contains(Caps::DISCRETE);
    !coherent.contains(Coherency::WRITE) && !never
}

impl Object<'_> {
    /// Acquires the pages (`____i915_gem_object_get_pages`, then `__i915_gem_object_set_pages`); a no-op if
    /// they are present.
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

    /// [`Self::acquire`] as a separate event: gives [`Rule::PagesPresent`] as the reason if the pages are
    /// present.
    pub(super) fn acquire_alone(&mut self) {
        self.skip(Rule::PagesPresent);
        self.acquire();
    }

    /// The first access through a mapping of the device file (`vm_fault_cpu`, `vm_fault_gtt`). With TTM, it
    /// brings in memory that does not count as the object's pages (`vm_fault_ttm`).
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

    /// Gets the pages from the backing, with its flushes; returns the rule for a flush of the pages.
    fn get_pages(&mut self) -> Rule {
        let usual = if self.has(Caps::LLC) { Rule::AcquireUncachedLlc } else { Rule::AcquireDirty };
        self.skip(Rule::AcquireCoherent);
        match self.state.backing {
            Backing::Shmem => self.dirty_if_bypassable(self.rules.bypass_acquire_flush, usual),
            Backing::Userptr => self.dirty_if_bypassable(self.rules.foreign_acquire_flush, usual),
            Backing::Import => {
                let incoherent = !self.has(Caps::LLC) && !self.has(Caps::DG1);
                if !self.rules.foreign_acquire_flush {
                    self.skip(Rule::ImportUntracked);
                } else if self.can_bypass_llc() || incoherent {
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

    /// Marks the object dirty if userspace reads can bypass the LLC, so that the acquire flushes.
    fn dirty_if_bypassable(&mut self, known: bool, usual: Rule) -> Rule {
        if !known || !self.can_bypass_llc() || self.rules.lacks(Rule::BypassAcquire) {
            return usual;
        }
        self.state.dirty = true;
        Rule::BypassAcquire
    }

    /// Releases the pages (`__i915_gem_object_put_pages`).
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
                if self.rules.internal_release_is_cpu {
                    self.start_cpu_write();
                }
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
            // Stolen memory is not released.
            Backing::Stolen => self.skip(Rule::NoStructPages),
        }
    }

    /// Releases the pages to the CPU domain. Without an LLC, they are dirty and are flushed at the next
    /// acquire.
    fn release_to_cpu(&mut self) {
        self.start_cpu_write();
        if self.rules.release_marks_dirty && !self.has(Caps::LLC) && !self.has(Caps::DISCRETE) {
            self.state.dirty = true;
        }
        self.state.pages = false;
    }
}

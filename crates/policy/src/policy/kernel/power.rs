//! Suspend, hibernation and resume.

use crate::policy::Rule;
use crate::vocabulary::{Access, Coherency, Domains};

use super::domains::Target;
use super::event::Action;
use super::object::Object;
use super::snapshot::Backing;

impl Object<'_> {
    /// Suspend to memory (`i915_gem_suspend_late`): issues the flush that this object requires.
    ///
    /// One wbinvd covers all objects; the caller, which suspends the device, issues it once. Without it, each
    /// object leaves the CPU's write domain.
    pub(super) fn suspend(&mut self) {
        if !self.is_visited() {
            return;
        }
        if !self.rules.sleep_flushes_at_once {
            return self.set_to_uncached_domain(Target::Gtt, Access::Read);
        }
        self.skip(Rule::SuspendCoherent);
        if !self.coherent_for(Coherency::READ) && !self.state.read_domains.contains(Domains::CPU) {
            self.issue(Action::Wbinvd, Rule::SuspendWbinvd);
        }
        self.start_cpu_write();
    }

    /// Hibernation, with the swap-out before it.
    ///
    /// The freeze releases all pages except those of framebuffers (`i915_gem_freeze`, through
    /// `i915_gem_shrink_all`). The late freeze suspends the objects that still have pages, and writes back
    /// all caches, or moves those objects to the CPU domain, before the image is made
    /// (`i915_gem_freeze_late`). It shrinks again, but only objects that the kernel has mapped for itself
    /// (`I915_SHRINK_VMAPS`).
    pub(super) fn hibernate(&mut self) {
        if !self.state.framebuffer && self.is_visited() {
            self.release();
        }
        self.suspend();
        if self.rules.sleep_flushes_at_once {
            self.issue(Action::Wbinvd, Rule::HibernateWbinvd);
        } else if self.is_visited() {
            self.set_to_cpu_domain(Access::Write);
        }
    }

    /// Resume (`i915_ggtt_resume_vm`): moves a bound object to the GTT domain.
    pub(super) fn resume(&mut self, bound: bool) {
        self.skip(Rule::ResumeClean);
        if !bound || !self.state.pages {
            return;
        }
        if !self.state.write_domain.is_empty() {
            self.issue(Action::Wbinvd, Rule::ResumeWbinvd);
        }
        self.state.write_domain = Domains::empty();
        self.state.read_domains |= Domains::GTT;
    }

    /// Returns whether the object is on the lists that suspend walks: its pages are present and can be
    /// shrunk.
    fn is_visited(&mut self) -> bool {
        if !self.state.pages {
            self.skip(Rule::PagesAbsent);
            return false;
        }
        match self.state.backing {
            Backing::Shmem | Backing::Userptr | Backing::Internal => true,
            Backing::Import | Backing::Local | Backing::LocalSystem | Backing::Stolen | Backing::Phys => {
                self.skip(Rule::NotShrinkable);
                false
            }
        }
    }
}

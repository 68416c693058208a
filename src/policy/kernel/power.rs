//! Suspend, hibernation and resume.

use crate::policy::Rule;
use crate::vocabulary::{Coherency, Domains};

use super::event::Action;
use super::object::Object;
use super::snapshot::Backing;

impl Object<'_> {
    /// Suspend to memory (`i915_gem_suspend_late`), as far as this object makes it flush.
    ///
    /// The wbinvd is one for all objects: whoever suspends a device issues it once.
    pub(super) fn suspend(&mut self) {
        if !self.is_visited() {
            return;
        }
        self.skip(Rule::SuspendCoherent);
        if !self.coherent_for(Coherency::READ) && !self.state.read_domains.contains(Domains::CPU) {
            self.issue(Action::Wbinvd, Rule::SuspendWbinvd);
        }
        self.start_cpu_write();
    }

    /// Hibernation (`i915_gem_freeze_late`): suspends, gives all pages back, and writes everything
    /// back before the image is made.
    pub(super) fn hibernate(&mut self) {
        self.suspend();
        if self.is_visited() {
            self.release();
        }
        self.issue(Action::Wbinvd, Rule::HibernateWbinvd);
        if self.is_visited() {
            self.start_cpu_write();
        }
    }

    /// Resume (`i915_ggtt_resume_vm`): a bound object returns to the GTT domain.
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

    /// Whether the object is on the lists that suspend walks: it has pages, and they can be shrunk.
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

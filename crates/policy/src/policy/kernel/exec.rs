//! The GPU's use of an object.

use crate::policy::Rule;
use crate::vocabulary::{Access, Coherency, Domains};

use super::event::Action;
use super::object::{Force, Object, When};

impl Object<'_> {
    /// EXECBUFFER2 (`eb_move_to_gpu`, `_i915_vma_move_to_active`): binds the object, flushes it if the GPU
    /// does not see the CPU's caches, and moves it to the GPU's domains.
    pub(super) fn execute(&mut self, access: Access) {
        self.acquire();
        if !self.state.dirty {
            self.skip(Rule::ExecClean);
        } else if self.coherent_for(Coherency::READ) {
            self.skip(Rule::ExecCoherent);
        } else {
            self.clflush_object(Force::No, When::Async, Rule::ExecFlush);
        }
        match access {
            Access::Read => self.state.write_domain = Domains::empty(),
            Access::Write => {
                self.state.write_domain = Domains::RENDER;
                self.state.read_domains = Domains::empty();
            }
        }
        self.state.read_domains |= Domains::GPU;
        self.issue(Action::FlushChipset, Rule::SubmitBarrier);
    }
}

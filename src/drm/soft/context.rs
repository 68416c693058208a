//! A context, as far as a submission asks for it.

use std::sync::{Arc, Mutex};

use super::Soft;
use super::space::Space;
use crate::platform::{self, Engine};

/// What a submission needs to know of its context.
#[derive(Clone, Debug)]
pub(super) struct Context {
    /// The engines that userspace chose (`I915_CONTEXT_PARAM_ENGINES`); `None` if it left the default.
    pub(super) engines: Option<Vec<Option<Engine>>>,
    /// Whether it goes on after a hang (`I915_CONTEXT_PARAM_RECOVERABLE`).
    pub(super) recoverable: bool,
    /// Where its objects are bound.
    pub(super) space: Arc<Mutex<Space>>,
}

impl Soft {
    /// The context of that name on this file (`i915_gem_context_lookup`).
    pub(super) fn context(&self, id: u32) -> Option<Context> {
        (id == 0).then(|| Context { engines: None, recoverable: true, space: self.default_space() })
    }

    /// The engines of the device.
    pub(super) fn engines(&self) -> Vec<Engine> {
        self.system.machine.engines(self.gt())
    }

    /// The GT variant, which the PCI id says.
    pub(super) fn gt(&self) -> &'static str {
        platform::row_by_id(self.system.id).map_or("", |row| row.gt)
    }

    /// The address space of the file's first context: its own, or the device's where contexts have none.
    fn default_space(&self) -> Arc<Mutex<Space>> {
        let space = if self.system.machine.has_full_ppgtt() {
            &self.default_space
        } else {
            &self.system.global_space
        };
        Arc::clone(space)
    }
}

//! States of the model, and how caches, memory and the kernel's object change.

pub(super) mod kernel;
pub(super) mod memory;
pub(super) mod state;
pub(super) mod tracked;
pub(super) mod transitions;
pub(super) mod wt_writes;

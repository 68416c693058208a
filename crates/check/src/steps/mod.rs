//! The actions of callers, and what they do to a state.

pub(super) mod access;
pub(super) mod acting;
pub(super) mod actions;
pub(super) mod decisions;
pub(super) mod library;
pub(super) mod log;
pub(super) mod marked;
pub(super) mod system;
pub(super) mod uapi_caller;

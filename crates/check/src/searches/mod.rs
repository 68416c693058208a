//! Searches, their traces, and which rules they need.

pub(super) mod check;
pub(super) mod minimal;
pub(super) mod search;
pub(super) mod thread_pool;
pub(super) mod trace;
pub(super) mod visited;

//! Submissions, batches and walkers, and threads that make them.

pub(crate) mod batch;
pub(crate) mod listed;
pub(crate) mod submit;
pub(crate) mod threads;
pub(crate) mod walkers;

//! What is accepted of the findings of a run.

pub(crate) mod baseline;
pub(crate) mod suppressions;

//! What is accepted of the findings of a run.

pub(crate) mod suppressions;

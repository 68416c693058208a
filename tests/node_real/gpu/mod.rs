//! Batches, walkers, and batches that hang or poll.

pub(crate) mod batches;
pub(crate) mod hangs;
pub(crate) mod pipelines;
pub(crate) mod spinners;
pub(crate) mod walkers;

//! Functions that need the software device, batches or instructions: those of `gem_coherency_exercise.h`.

pub(super) mod batch;
pub(super) mod eu;
pub(super) mod screen;
pub(super) mod sim;
pub(super) mod sim_process;

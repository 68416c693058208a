//! The requests of xe, in the order of the kernel's checks; the rules of caching are those of [`gem_coherency::xe`].
//!
//! * [`query`]: what the device is and has.
//! * [`object`]: GEM_CREATE, and the offsets of mappings.
//! * [`vm`]: VMs, what is mapped in them, and advice about it.
//! * [`queue`]: exec queues.
//! * [`exec`]: submissions of batches.
//! * [`syncs`]: the fences of submissions and of changes of a VM.
//! * [`user_fence`]: waits for a number in memory.
//! * [`tables`]: the VMs and queues of a file.
//!
//! Not simulated: VMs with page faults, which the GPU of the emulated devices lacks, too; protected content; observation streams.

pub(super) mod exec;
pub(super) mod object;
pub(super) mod query;
pub(super) mod queue;
mod syncs;
pub(super) mod tables;
pub(super) mod user_fence;
pub(super) mod vm;

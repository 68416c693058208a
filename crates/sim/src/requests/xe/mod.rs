//! The requests of xe, in the order of the kernel's checks; the rules of caching are those of [`gem_coherency::xe`].
//!
//! * [`query`]: what the device is and has.
//! * [`object`]: GEM_CREATE, and the offsets of mappings.
//! * [`vm`]: VMs, made and destroyed.
//! * [`bind`]: what is mapped in a VM.
//! * [`advice`]: advice about what is mapped.
//! * [`queue`]: exec queues.
//! * `properties`: extensions of objects and queues.
//! * [`exec`]: submissions of batches.
//! * [`syncs`]: the fences of submissions and of changes of a VM.
//! * [`user_fence`]: waits for a number in memory.
//! * [`observation`]: counters of the GPU, refused.
//! * [`tables`]: the VMs and queues of a file.
//!
//! Not simulated: page faults (memory is bound at once), protected content.

pub(super) mod advice;
pub(super) mod bind;
pub(super) mod exec;
pub(super) mod object;
pub(super) mod observation;
mod properties;
pub(super) mod query;
pub(crate) mod queue;
mod syncs;
pub(super) mod tables;
pub(super) mod user_fence;
pub(super) mod vm;

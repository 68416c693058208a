//! Compares the kernel's flushes with the rules' predictions.
//!
//! Every object is followed from its creation: each call is a step of
//! [`gem_coherency::policy::kernel::step`], whose flushes are compared with those that were seen while the
//! call ran. An object whose creation was not seen, or to which an event happened that the rules do not
//! cover, is *not followed* from then on; its flushes are shown without a verdict.
//!
//! These are not followed: objects that are older than the trace, stolen memory and physically contiguous
//! copies, objects on screen, objects into which relocations were written or whose commands were checked by
//! the kernel, objects of which a PREAD or PWRITE failed half-way, objects that two threads use at once,
//! objects after their first mismatch, and all objects after a suspend or after events of the trace were
//! lost.

mod calls;
mod compare;
mod follower;
mod object;
mod row;
mod window;

pub use follower::Follower;
pub use row::{Counts, Row, Shape, Verdict};

#[cfg(test)]
mod tests;

//! Compares xe's answers and flushes with the rules' predictions.
//!
//! GEM_CREATE, GEM_MMAP_OFFSET, VM_BIND and MADVISE of a PAT index are compared with [`gem_coherency::xe::Device`]: whether the kernel accepts them,
//! and with which errno it refuses. The new pages of an object are flushed from the CPU's cache if they become write-combining, and only then:
//! each flush in a call is attributed to the object whose pages they are.
//!
//! These are not compared: requests about objects and address spaces that are older than the trace, refusals that the rules do not cover (memory
//! that is short, signals, fences, queues), and the pages of objects that are older. Flushes of the driver's own objects, such as page
//! tables, are counted.

mod follower;
mod judge;
mod pages;
mod row;
mod space;

pub use follower::XeFollower;
pub use pages::pooled_pages;
pub use row::{Answer, Asked, CallCount, FlushRow, RequestRow, XeCounts, XeShape};

#[cfg(test)]
mod tests;

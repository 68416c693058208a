//! The pages of objects: which memory they are in, and what the kernel does when memory is full.

pub(crate) mod moves;
pub(crate) mod shrinker;

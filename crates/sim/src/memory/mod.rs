//! The bytes of objects and their cache lines, as the CPU's caches and memory hold them.

pub(crate) mod adversary;
pub(crate) mod combining;
pub(crate) mod lines;
pub(crate) mod shared;
pub(crate) mod store;
pub(crate) mod tiling;
pub(crate) mod views;

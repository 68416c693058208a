//! The bytes of objects and their cache lines, as the CPU's caches and memory hold them.

pub(crate) mod adversary;
pub(crate) mod aliases;
pub(crate) mod backing_store;
pub(crate) mod combining;
pub(crate) mod detiled;
pub(crate) mod filled;
pub(crate) mod lines;
pub(crate) mod observer;
pub(crate) mod program;
pub(crate) mod shared;

pub(crate) mod tiling;
pub(crate) mod views;

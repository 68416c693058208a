//! Objects: their caching state and pages, their handles, names and dma-bufs, and the requests' accesses to their bytes.

pub(crate) mod bytes;
#[path = "../../memory/detiled.rs"]
pub(crate) mod detiled;
pub(crate) mod dma_buf;
pub(crate) mod handles;
pub(crate) mod names;
pub(crate) mod object;
pub(crate) mod prime;
pub(crate) mod shrinker;
pub(crate) mod transfer;
pub(crate) mod userptr;
pub(crate) mod window;

//! Objects: their caching state and pages, their handles, names and dma-bufs, and the requests' accesses to their bytes.

pub(crate) mod bytes;
pub(crate) mod dma_buf;
pub(crate) mod handles;
pub(crate) mod names;
pub(crate) mod object;
pub(crate) mod observed;
pub(crate) mod pages;
pub(crate) mod prime;
pub(crate) mod state;
pub(crate) mod system;
pub(crate) mod transfer;
pub(crate) mod userptr;

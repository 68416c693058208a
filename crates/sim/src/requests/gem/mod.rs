//! Requests for objects: their creation, names, mappings, domains, tiling and bytes.

pub(super) mod caching;
pub(super) mod create;
pub(super) mod dma_buf;
pub(super) mod domain;
pub(super) mod madvise;
pub(super) mod map;
pub(super) mod names;
pub(super) mod prime;
pub(super) mod tiling;
pub(super) mod transfer;
pub(super) mod userptr;

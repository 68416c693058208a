//! The life of a BO: allocation, adoption, mappings, sharing, reuse.

pub(crate) mod adopt;
pub(crate) mod alloc;
pub(crate) mod reuse;
pub(crate) mod reuse_lifetimes;
pub(crate) mod share;
pub(crate) mod unmap;

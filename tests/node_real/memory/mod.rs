//! Objects, accesses to them, and their reuse.

pub(crate) mod access;
pub(crate) mod objects;
pub(crate) mod reuse;

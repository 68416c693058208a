//! The objects' bytes that the program has mapped: their lines, flushes, stores, and hidden pages.

pub(crate) mod epochs;
pub(crate) mod hidden;
pub(crate) mod line;
pub(crate) mod mappings;
pub(crate) mod sites;
pub(crate) mod stores;
pub(crate) mod traps;
pub(crate) mod user_memory;

//! What the library in a program records: its first stores to pages, and its flushes.

pub(crate) mod flush_logs;
pub(crate) mod stores;

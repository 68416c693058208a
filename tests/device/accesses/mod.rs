//! Accesses of the CPU: guards, stores around them, uploads, levels, and what is stale.

pub(crate) mod forgotten_flush;
pub(crate) mod guards;
pub(crate) mod levels;
pub(crate) mod newest;
pub(crate) mod plain_writes;
pub(crate) mod stale_reads;
pub(crate) mod stream;
pub(crate) mod upload;

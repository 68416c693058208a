//! Mappings of objects in other processes, and clients that flush lines in the objects' files.

pub(crate) mod client;
mod client_flushes;
mod made_stale;
mod memory_files;
mod sparse;

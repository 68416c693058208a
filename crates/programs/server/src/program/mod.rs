//! The processes of programs: their memory and descriptors, and the state that all connections share.

pub(crate) mod asked;
pub(crate) mod client;
pub(crate) mod epochs;
mod eventfd;
pub(crate) mod interrupts;
mod maps;
mod remote;
pub(crate) mod session;
pub(crate) mod stale;

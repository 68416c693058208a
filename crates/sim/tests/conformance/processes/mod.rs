//! The processes in which calls are made, real and simulated, and their memory.

pub(crate) mod arena;
pub(crate) mod real;
pub(crate) mod target;
pub(crate) mod wrong;

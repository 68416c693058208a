//! New programs and new processes.

pub(super) mod children;
mod environment;
pub(super) mod exec;
mod executable;
mod exit;
mod spawn;

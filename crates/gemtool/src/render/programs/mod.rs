//! Results of the commands that run programs.

pub mod coverage;
pub(super) mod frames;
pub mod history;
pub(super) mod sanitize;
pub mod sarif;
pub(super) mod serve;
pub(super) mod trace;

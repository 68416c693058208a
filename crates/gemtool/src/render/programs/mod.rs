//! Results of the commands that run programs.

#[cfg(feature = "programs")]
pub mod coverage;
#[cfg(feature = "programs")]
pub(super) mod frames;
#[cfg(feature = "programs")]
pub mod history;
#[cfg(feature = "programs")]
pub mod junit;
#[cfg(feature = "programs")]
pub mod sanitize;
#[cfg(feature = "programs")]
pub mod sarif;
#[cfg(feature = "programs")]
pub(super) mod serve;
#[cfg(feature = "programs")]
pub mod suite;
pub(super) mod trace;

//! The commands: each returns its results as data and prints nothing.

#[cfg(feature = "bench")]
pub mod bench;
pub mod device;
pub mod gpu;
pub mod manual;
pub mod model;
pub mod objects;
pub mod programs;
pub mod progress;

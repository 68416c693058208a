//! The shared parts of the fuzz targets: input as values, devices, the watch over the heap, planted faults.
//!
//! A target fails by panicking, by hanging, or by taking too much memory; libFuzzer sees all three.

#![deny(unsafe_code)]

pub mod arena;
mod batches;
pub mod caller;
pub mod calls;
pub mod fields;
pub mod input;
mod likely;
pub mod names;
pub mod plant;
pub mod scripts;
pub mod tally;
pub mod watch;
pub mod world;

//! The shared parts of the fuzz targets: input as values, devices, the watch over the heap, planted faults.
//!
//! A target fails by panicking, by hanging, or by taking too much memory; libFuzzer sees all three.

#![deny(unsafe_code)]

#[path = "process/arena.rs"]
pub mod arena;
#[path = "process/batches.rs"]
mod batches;
pub mod caller;
#[path = "process/calls.rs"]
pub mod calls;
#[path = "process/fields.rs"]
pub mod fields;
pub mod input;
#[path = "process/likely.rs"]
mod likely;
pub mod names;
pub mod plant;
pub mod scripts;
pub mod tally;
pub mod watch;
#[path = "process/world.rs"]
pub mod world;

//! The parts of `gemtool` that tests and fuzzers use without the command line.
//!
//! - [`script`]: scenarios as text, run on a device;
//! - [`kernel_trace`]: the kernel's flushes, from its trace events;
//! - `peers`: the loops and the library with which `gemtool bench` compares gem-coherency.

#![deny(unsafe_code)]

pub mod kernel_trace;
#[cfg(feature = "bench")]
pub mod peers;
pub mod script;

//! What `gemtool` is made of, as far as tests and fuzzers use it without the command line.
//!
//! - [`script`]: scenarios as text, run on a device;
//! - [`kernel_trace`]: what the kernel did, from its trace events;
//! - `peers`: the loops and the library that `gemtool bench` measures gem-coherency beside.

#![deny(unsafe_code)]

pub mod kernel_trace;
#[cfg(feature = "bench")]
pub mod peers;
pub mod script;

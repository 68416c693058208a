//! The parts of `gemtool` that tests and fuzzers use without the command line.
//!
//! - [`script`]: scenarios as text, run on a device;
//! - [`dispatch`]: GPU kernels and shaders, run thread by thread on BOs, whose lines are watched;
//! - [`line_set`]: lines of objects as text;
//! - [`kernel_trace`]: the kernel's flushes, from its trace events.

#![deny(unsafe_code)]

pub mod dispatch;
pub mod kernel_trace;
pub mod line_set;
pub mod script;

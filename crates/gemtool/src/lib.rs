//! The parts of `gemtool` that tests and fuzzers use without the command line.
//!
//! - [`script`]: scenarios as text, run on a device;
//! - [`dispatch`]: shaders, run thread by thread on BOs, whose lines are watched;
//! - [`line_set`]: lines of objects as text;
//! - [`numbers`]: numbers and sizes as text;
//! - [`kernel_trace`]: the kernel's flushes, from its trace events.
//!
//! ```text
//! L2  script: scenarios
//! L1  dispatch   kernel_trace: shaders on BOs; the kernel's flushes
//! L0  line_set   numbers: text
//! ```
//!
//! * `script`: statements, their results, and the state between them. Not the command line.
//! * `dispatch`: modules, what is bound to them, and their threads. Not the compiler.
//! * `kernel_trace`: trace events, probes, and the objects that the events are followed on. Not the rules.
//! * `line_set`: sets of lines as text. Not sizes.
//! * `numbers`: numbers and sizes from text. Not patterns.

#![deny(unsafe_code)]

pub mod dispatch;
pub mod kernel_trace;
pub mod line_set;
pub mod numbers;
pub mod script;

//! The shared parts of the fuzz targets: input as values, devices, the watch over the heap, planted faults.
//!
//! A target fails by panicking, by hanging, or by taking too much memory; libFuzzer sees all three.
//!
//! ```text
//! L2  caller   process   scripts: what a target does with an input
//! L1  names
//! L0  input   plant   tally   watch
//! ```
//!
//! * `caller`: a user of the library, and a model of what everybody should see. Not system calls.
//! * `process`: system calls of a simulated process. Not the library's calls.
//! * `scripts`: scripts of `gemtool run`. Not their language.
//! * `names`: names of software devices. Not devices.
//! * `input`: the fuzzer's bytes as choices. Not what is chosen.
//! * `plant`: the targets' own faults. Not those of devices.
//! * `tally`: how often each call succeeded. Not calls.
//! * `watch`: the limit of the heap, and leaks. Not devices.

#![deny(unsafe_code)]

pub mod caller;
pub mod input;
pub mod names;
pub mod plant;
pub mod process;
pub mod scripts;
pub mod tally;
pub mod watch;

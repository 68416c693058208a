//! Runs compiled shaders on `intel_eu::execute`, and on a software device of Vulkan.
//!
//! The shaders are those of `crates/shader/vectors`, whose README describes their directives.
//!
//! ```text
//! L3  driver
//! L2  execution   vulkan
//! L1  directives   tally   tools
//! L0  patterns   plant   random -> patterns
//! ```
//!
//! * `driver`: a driver of Vulkan that prints its own statistics, such as Mesa's. Not the comparison of bytes.
//! * `execution`: shaders on `intel_eu::execute`. Not Vulkan.
//! * `vulkan`: the same dispatches on a device of Vulkan. Not the compiler.
//! * `directives`: what a shader's comments say of its dispatch. Not the content of surfaces.
//! * `tally`: counts of comparisons and their report. Not their limits.
//! * `tools`: the compiler of GLSL and the validator of SPIR-V. Not the shaders.
//! * `patterns`: the content of surfaces, and numbers at random. Not dispatches.
//! * `plant`: changes of one instruction of a shader. Not their execution.
//! * `random`: shaders at random. Not the seeds that are judged.

#![deny(unsafe_code)]

pub mod directives;
pub mod driver;
pub mod execution;
pub mod patterns;
pub mod plant;
pub mod random;
pub mod tally;
pub mod tools;
#[allow(unsafe_code)]
pub mod vulkan;

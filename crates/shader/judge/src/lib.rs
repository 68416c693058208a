//! Runs kernels of shaders on `intel_eu::execute`, and on a software device of Vulkan.
//!
//! The shaders are those of `crates/shader/vectors`, whose README describes their directives.

#![allow(missing_docs)]

pub mod directives;
pub mod driver;
pub mod execution;
pub mod patterns;
pub mod plant;
pub mod random;
pub mod tally;
pub mod tools;
pub mod vulkan;

//! Shaders: programs of the execution units, the lines that they access, and SPIR-V.

pub mod dispatch;
pub mod eu;
pub mod lines;
pub mod surfaces;

//! Functions of the set GLSL.std.450.

pub(super) mod angles;
pub(super) mod extended;
pub(super) mod geometry;
pub(super) mod hyperbolic;
pub(super) mod packing;
pub(super) mod parts;

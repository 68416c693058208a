//! Arithmetic: operations on numbers, vectors and matrices.

pub(super) mod bits;
pub(super) mod componentwise;
pub(super) mod matrices;
pub(super) mod operations;

//! Values of any type, their types, and their composition.

pub(super) mod check;
pub(super) mod compose;
pub(super) mod data;

//! What a display reads: formats, modifiers, limits of planes.

pub(super) mod formats;
pub(super) mod modifiers;
pub(super) mod scanout;

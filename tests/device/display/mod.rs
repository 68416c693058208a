//! What is shown: scanout guards, and screens.

pub(crate) mod scanout;
pub(crate) mod screen;

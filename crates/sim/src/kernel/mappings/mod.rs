//! Mappings of objects by the CPU: their loads and stores, and what programs' mappings show.

pub(crate) mod aliases;
pub(crate) mod contents;
pub(crate) mod linear_views;
pub(crate) mod window;

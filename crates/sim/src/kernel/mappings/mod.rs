//! Mappings of objects by the CPU: their loads and stores, and what programs' mappings show.

pub(crate) mod aliases;
#[path = "../objects/mapping_contents.rs"]
pub(crate) mod contents;
pub(crate) mod linear_views;
#[path = "../objects/window.rs"]
pub(crate) mod window;

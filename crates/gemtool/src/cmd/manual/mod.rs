//! Manual pages and completions.

pub mod completions;
pub mod man;

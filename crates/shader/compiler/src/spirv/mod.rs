//! Modules: their words, types and constants, and the choice of an entry point.

pub(crate) mod blocks;
pub(crate) mod constants;
pub(crate) mod decorations;
pub(crate) mod fold;
pub(crate) mod intake;
mod sections;
pub(crate) mod types;
pub(crate) mod words;

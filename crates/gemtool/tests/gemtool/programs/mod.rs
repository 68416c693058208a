//! `gemtool sim`, `sanitize` and `trace`, which run programs.

pub(crate) mod sanitize;
pub(crate) mod sim;
pub(crate) mod trace;

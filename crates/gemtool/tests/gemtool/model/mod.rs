//! `gemtool check`, `explain`, `platforms` and `rules`, which need no device.

pub(crate) mod check;
pub(crate) mod explain;
pub(crate) mod platforms;
pub(crate) mod proof;
mod xe;

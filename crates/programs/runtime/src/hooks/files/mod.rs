//! Paths, and the files that they name.

pub(super) mod attributes;
mod fdinfo;
pub(super) mod folders;
mod listed;
pub(super) mod open;
pub(super) mod resolve;
pub(super) mod stat;
pub(super) mod volumes;
mod walk;

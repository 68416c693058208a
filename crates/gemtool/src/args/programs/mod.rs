//! Arguments of the commands that run programs.

pub(super) mod judges;
pub(super) mod sanitize;
pub(super) mod sim;
pub(super) mod trace;

//! Bad input, unknown devices, children of fork(2), and requests that fail.

pub(crate) mod bad_input;
pub(crate) mod fork;
pub(crate) mod late;
pub(crate) mod sweep;
pub(crate) mod unknown;

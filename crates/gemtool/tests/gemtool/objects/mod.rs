//! `gemtool alloc`, `info`, `run`, `scanout` and `verify` on devices.

pub(crate) mod alloc;
pub(crate) mod info;
pub(crate) mod run;
pub(crate) mod scanout;
pub(crate) mod verify;

//! Results of the commands that use BOs on a device.

pub(super) mod alloc;
pub(super) mod info;
pub(super) mod run;
pub(super) mod scanout;
pub(super) mod verify;

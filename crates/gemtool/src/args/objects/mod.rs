//! Arguments of the commands that use BOs on a device.

pub(super) mod object;
pub(super) mod run;
pub(super) mod scanout;
pub(super) mod verify;

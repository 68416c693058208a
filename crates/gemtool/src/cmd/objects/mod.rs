//! BOs on a device.

pub mod alloc;
pub(super) mod hold;
pub mod info;
pub mod run;
pub mod scanout;
pub mod verify;

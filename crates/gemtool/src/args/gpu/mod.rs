//! Arguments of the commands for shaders.

pub(super) mod dispatch;
pub(super) mod eu;
pub(super) mod lines;
pub(super) mod surface;

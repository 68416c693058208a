//! Results of the commands for shaders.

pub(super) mod accesses;
pub(super) mod dispatch;
pub(super) mod eu;
pub(super) mod lines;

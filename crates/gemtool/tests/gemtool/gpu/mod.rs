//! `gemtool eu`, `lines` and `dispatch`: shaders and the lines that they access.

pub(crate) mod dispatch;
pub(crate) mod eu;
pub(crate) mod lines;

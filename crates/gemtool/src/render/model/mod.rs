//! Results of the commands that need no device.

pub mod check;
pub mod explain;
pub mod platforms;
mod xe;

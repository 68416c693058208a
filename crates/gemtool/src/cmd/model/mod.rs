//! The rules and the explorer, which need no device.

pub mod check;
pub mod explain;
pub mod machine;
pub mod platforms;
pub mod rules;
pub mod xe;

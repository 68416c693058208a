//! The commands: each returns what it found as data and prints nothing.

pub mod explain;
pub mod machine;
pub mod platforms;
pub mod rules;

//! The commands: each returns its results as data and prints nothing.

pub mod alloc;
#[cfg(feature = "bench")]
pub mod bench;
pub mod check;
pub mod completions;
pub mod device;
pub mod dispatch;
pub mod eu;
pub mod explain;
mod hold;
pub mod info;
pub mod lines;
pub mod machine;
pub mod man;
pub mod platforms;
pub mod rules;
pub mod run;
pub mod scanout;
pub mod sim;
pub mod surfaces;
pub mod trace;
pub mod verify;

//! What a device's file offers to Rust code: the typed requests, and the agents that make none.

mod agents;
mod display;
mod typed;
pub(crate) mod usage;

//! xe: a model of one line of one object, searched for old bytes.
//!
//! [`Search`] is one search: a device, a kind of memory, its user and the change, if any. [`searches`] returns those of a device. The memory
//! holds the copies of the line that the agents can have. The kernel refuses what [`Device`](gem_coherency::xe::Device) refuses, and clears
//! and flushes; a driver executes what [`Device::needs_flush`](gem_coherency::xe::Device::needs_flush) requires, and nothing else.
//!
//! ```text
//! L3  search
//! L2  system -> kernel
//! L1  change
//! L0  memory  needs
//! ```
//!
//! * `search`: breadth-first search to a fixed point, and the shortest traces. Not what a step does.
//! * `needs`: why a rule that no search needs exists. Not the rules.
//! * `system`: the steps of users and of the caches, and what a driver does before one. Not the kernel's work.
//! * `kernel`: what the kernel refuses, clears and flushes. Not when.
//! * `change`: kinds of memory, users, and what can be taken out. Not its effect.
//! * `memory`: the copies of the line, and how each agent reaches them. Not the rules.

mod change;
mod kernel;
mod memory;
mod needs;
mod search;
mod system;

pub use change::{Change, Condition, Kind, User, Work};
pub use memory::{Copies, CpuLine, GpuLine, Pat};
pub use needs::not_needed;
pub use search::{KERNELS, Outcome, Search, Trace, TraceStep, searches};
pub use system::{CacheMove, Done, State, Step, Writer};

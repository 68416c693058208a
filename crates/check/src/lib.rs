//! A model of the rules and the memory system, searched exhaustively.
//!
//! A [`Setting`] describes one search: a platform, a kernel, a kind of object and its user. The states are
//! [`State`]s: what caches, memory, store buffers, the kernel and the library hold for two lines of one
//! object. The actions are everything that can happen next, by the caller, the kernel, or an adversary that
//! writes back, evicts and prefetches at any time. The search is breadth-first to a fixed point, so the first
//! violation has the shortest trace.

#![deny(unsafe_code)]

mod access;
mod acting;
mod actions;
mod check;
mod condition;
mod decisions;
mod kernel;
mod library;
mod log;
mod marked;
mod memory;
mod minimal;
mod mutant;
mod property;
mod search;
mod setting;
mod state;
mod system;
mod thread_pool;
mod trace;
mod tracked;
mod transitions;
mod uapi_caller;
mod visited;
mod wt_writes;

pub use actions::Action;
pub use check::{CREATIONS, KERNELS, Outcome, Scope, Search, all_machines, machines};
pub use condition::{Condition, Conditions};
pub use log::{LoggedAction, RuleSet, Used};
pub use minimal::{Baseline, Carried, Finding, Need};
pub use mutant::{Mutant, Mutation};
pub use property::Property;
pub use search::{Size, Space};
pub use setting::{Caller, Setting};
pub use state::{Buffer, State, Value, Window};
pub use thread_pool::{all_cores, in_parallel};
pub use trace::{Actor, Trace, TraceStep};
pub use tracked::{InFlight, LineSet, Tracked};
pub use transitions::{Transition, transitions};

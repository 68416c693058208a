//! A model of the rules and the memory system, searched exhaustively.
//!
//! A [`Setting`] describes one search: a platform, a kernel, a kind of object and its user. The states are
//! [`State`]s: what caches, memory, store buffers, the kernel and the library hold for two lines of one
//! object. The actions are everything that can happen next, by the caller, the kernel, or an adversary that
//! writes back, evicts and prefetches at any time. The search is breadth-first to a fixed point, so the first
//! violation has the shortest trace.

#![deny(unsafe_code)]

#[path = "steps/access.rs"]
mod access;
#[path = "steps/acting.rs"]
mod acting;
#[path = "steps/actions.rs"]
mod actions;
#[path = "searches/check.rs"]
mod check;
#[path = "premises/condition.rs"]
mod condition;
#[path = "steps/decisions.rs"]
mod decisions;
#[path = "states/kernel.rs"]
mod kernel;
#[path = "steps/library.rs"]
mod library;
#[path = "steps/log.rs"]
mod log;
#[path = "steps/marked.rs"]
mod marked;
#[path = "states/memory.rs"]
mod memory;
#[path = "searches/minimal.rs"]
mod minimal;
#[path = "premises/mutant.rs"]
mod mutant;
mod property;
#[path = "searches/search.rs"]
mod search;
#[path = "premises/setting.rs"]
mod setting;
#[path = "states/state.rs"]
mod state;
#[path = "steps/system.rs"]
mod system;
#[path = "searches/thread_pool.rs"]
mod thread_pool;
#[path = "searches/trace.rs"]
mod trace;
#[path = "states/tracked.rs"]
mod tracked;
#[path = "states/transitions.rs"]
mod transitions;
#[path = "steps/uapi_caller.rs"]
mod uapi_caller;
#[path = "searches/visited.rs"]
mod visited;
#[path = "states/wt_writes.rs"]
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

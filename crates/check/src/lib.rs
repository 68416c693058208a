//! A model of the rules and the memory system, searched exhaustively.
//!
//! A [`Setting`] describes one search: a platform, a kernel, a kind of object and its user. The states are
//! [`State`]s: what caches, memory, store buffers, the kernel and the library hold for two lines of one
//! object. The actions are everything that can happen next, by the caller, the kernel, or an adversary that
//! writes back, evicts and prefetches at any time. The search is breadth-first to a fixed point, so the first
//! violation has the shortest trace.
//!
//! This is about i915; [`xe`] has a smaller model of its own.
//!
//! ```text
//! L3  searches
//! L2  steps  xe
//! L1  states
//! L0  premises -> property
//! ```
//!
//! * `searches`: searches to a fixed point, traces, and repetitions without a rule. Not what a step does.
//! * `steps`: the actions of callers and of the adversary, and what each does to a state. Not their order.
//! * `xe`: the model of xe, with a search of its own. Not i915's rules.
//! * `states`: two lines of an object, and the kernel's and the library's state of it. Not the actors.
//! * `premises`: the setting, conditions of callers, and deliberate changes. Not results.
//! * `property`: what must hold in every state. Not where it is tested.

#![deny(unsafe_code)]

mod premises;
mod property;
mod searches;
mod states;
mod steps;
pub mod xe;

pub use premises::condition::{Condition, Conditions};
pub use premises::mutant::{Mutant, Mutation};
pub use premises::setting::{Caller, Setting};
pub use property::Property;
pub use searches::check::{CREATIONS, KERNELS, Outcome, Scope, Search, all_machines, machines};
pub use searches::minimal::{Baseline, Carried, Finding, Need};
pub use searches::search::{Size, Space};
pub use searches::thread_pool::{all_cores, in_parallel};
pub use searches::trace::{Actor, Trace, TraceStep};
pub use states::state::{Buffer, State, Value, Window};
pub use states::tracked::{InFlight, LineSet, Tracked};
pub use states::transitions::{Transition, transitions};
pub use steps::actions::Action;
pub use steps::log::{LoggedAction, RuleSet, Used};

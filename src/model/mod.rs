//! A model of the rules and the memory system, searched exhaustively.
//!
//! A [`Setting`] is one search: a platform, a kernel, a kind of object, and who uses it. Its states
//! are [`World`]s: what caches, memory, store buffers, the kernel and the library hold of two lines
//! of one object. Its moves are everything that can happen next, by the caller, the kernel, and an
//! adversary that writes back, evicts and reads ahead whenever it likes. The search goes breadth
//! first to a fixed point, so the first violation has the shortest trace.

mod access;
mod acting;
mod answers;
mod book;
mod check;
mod condition;
mod crew;
mod kernel;
mod library;
mod log;
mod marked;
mod memory;
mod minimal;
mod moves;
mod mutant;
mod property;
mod search;
mod seen;
mod setting;
mod system;
mod trace;
mod uapi_caller;
mod world;
mod wt_writes;

pub use book::{Book, LineSet, Owed};
pub use check::{CREATIONS, KERNELS, Outcome, Scope, Search, all_machines, machines};
pub use condition::{Condition, Conditions};
pub use crew::{all_cores, side_by_side};
pub use log::{Deed, RuleSet, Used};
pub use minimal::{Baseline, Carried, Finding, Need};
pub use moves::Move;
pub use mutant::{Mutant, Mutation};
pub use property::Property;
pub use search::{Size, Space};
pub use setting::{Caller, Setting};
pub use trace::{Actor, Trace, TraceStep};
pub use world::{Buffer, Value, Window, World};

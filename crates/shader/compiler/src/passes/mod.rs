//! Passes over a program, in the order in which they run; `forward` runs twice.

#[path = "lower_alu/mod.rs"]
pub(crate) mod expand;
#[path = "opt_forward_stores.rs"]
pub(crate) mod forward;
#[path = "lower_inputs.rs"]
pub(crate) mod inputs;
#[path = "hoist_discard.rs"]
pub(crate) mod kill;
#[path = "structurize_exits.rs"]
pub(crate) mod leave;
#[path = "lower_discard.rs"]
pub(crate) mod live;
#[path = "opt_algebraic.rs"]
mod simplify;

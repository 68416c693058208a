//! Passes over a program, one a file, named by what they do.

pub(crate) mod hoist_discard;
pub(crate) mod lower_alu;
pub(crate) mod lower_discard;
pub(crate) mod lower_inputs;
pub(crate) mod opt_algebraic;
pub(crate) mod opt_dce;
pub(crate) mod opt_forward_stores;
pub(crate) mod structurize_exits;

pub(crate) use hoist_discard::hoist_discard;
pub(crate) use lower_alu::lower_alu;
pub(crate) use lower_discard::lower_discard;
pub(crate) use lower_inputs::lower_inputs;
pub(crate) use opt_algebraic::opt_algebraic;
pub(crate) use opt_dce::opt_dce;
pub(crate) use opt_forward_stores::opt_forward_stores;
pub(crate) use structurize_exits::structurize_exits;

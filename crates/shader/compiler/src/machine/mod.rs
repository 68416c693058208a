//! Instructions before they have registers, and the passes over them.

#[path = "instr.rs"]
pub(crate) mod draft;
mod emit;
mod encode;
mod legalize;
mod opt_copy_prop;
pub(crate) mod regions;
pub(crate) mod rules;

pub(crate) use emit::emit;
pub(crate) use legalize::legalize;
pub(crate) use opt_copy_prop::opt_copy_prop;

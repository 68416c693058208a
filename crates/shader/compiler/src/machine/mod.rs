//! Instructions before they have registers, and the passes over them.

mod emit;
mod encode;
pub(crate) mod instr;
mod legalize;
mod opt_copy_prop;
mod print;
pub(crate) mod regions;
pub(crate) mod rules;

pub(crate) use emit::emit;
pub(crate) use legalize::legalize;
pub(crate) use opt_copy_prop::opt_copy_prop;

//! Passes over a program, in the order in which they run; `forward` runs twice.

pub(crate) mod expand;
pub(crate) mod forward;
pub(crate) mod inputs;
pub(crate) mod kill;
pub(crate) mod leave;
pub(crate) mod live;
mod simplify;

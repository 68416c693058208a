//! Calls of a program, by descriptor and address.

pub(crate) mod attempt;
pub(crate) mod process;
pub(crate) mod traced;

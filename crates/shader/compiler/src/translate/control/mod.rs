//! Control flow, calls of functions, and what an entry point reaches.

pub(super) mod flow;
pub(super) mod functions;
pub(super) mod reach;
pub(super) mod switch;

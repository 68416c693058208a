//! The logs of a device: the history of lines, and the incoherent accesses.

mod history;
mod incoherent;

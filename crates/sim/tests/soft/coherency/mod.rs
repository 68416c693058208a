//! Which bytes each agent sees: what goes stale, and what a flush makes current.

mod memory;
mod protocol;
mod raw;
mod rules;
mod secrets;

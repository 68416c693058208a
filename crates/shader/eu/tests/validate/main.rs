//! The rules of `validate`: for each, instructions that keep it and that break it.

mod build;
mod cases;
mod exceptions;
mod floats;
mod half;
mod matrices;
mod messages;
mod rules;
mod scopes;
mod selections;
mod sweep;

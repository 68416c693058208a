//! `validate`: instructions that keep each rule, and that break it.

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

//! Requests by number, as a process makes them: their results, refusals and effects.

mod accepted_calls;
mod access;
pub(crate) mod caller;
mod contexts;
mod errors;
mod facts;
mod objects;
mod prime;
mod startup;
mod syncobjs;
mod tiled;
mod userptr;

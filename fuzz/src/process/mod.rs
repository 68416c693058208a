//! System calls of a simulated process: its memory, its devices, and what earlier calls created.

pub mod arena;
pub(super) mod batches;
pub mod calls;
pub mod fields;
pub(super) mod likely;
pub(super) mod likely_xe;
pub mod world;

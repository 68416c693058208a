//! The command streamers: submission and execution of batches.
//!
//! * [`registers`]: an engine's registers, and submission through the ring buffer's (before gen8);
//! * [`execlists`]: submission of contexts (gen8 and later);
//! * [`commands`], [`mi`]: execution of command streams;
//! * [`blitter`]: copies and fills;
//! * [`compute`]: commands that start kernels.

pub mod blitter;
pub mod commands;
mod compute;
pub mod execlists;
mod mi;
pub mod registers;

//! The command streamers: submission and execution of batches.
//!
//! * [`registers`]: an engine's registers, and submission through the ring buffer's (before gen8);
//! * [`execlists`]: submission of contexts (gen8 and later);
//! * [`commands`]: execution of command streams;
//! * [`fetch`], [`mi`]: commands, how they are read, and their opcodes;
//! * [`blitter`]: copies and fills;
//! * [`compute`]: commands that start shaders.

mod blitter;
mod commands;
mod compute;
mod execlists;
mod fetch;
mod mi;
mod registers;

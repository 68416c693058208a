//! Flushes of one object by several threads, and the state that they take work from.
//!
//! ```text
//! L2  in_flight
//! L1  tracked
//! L0  board
//! ```
//!
//! * `in_flight`: a flush that has begun, what it takes, and its end. Not how a line is flushed.
//! * `tracked`: the state of one object. Not who changes it.
//! * `board`: the open flushes, and waits for them. Not what they took.

mod board;
mod in_flight;
mod tracked;

pub use in_flight::{Completion, InFlightFlush, WasPending, complete};
pub use tracked::Tracked;

//! The coherency engine: what an access demands of pending work, in which order it is done, and what is pending afterwards.
//!
//! It knows the rules ([`crate::policy`]) and pending work, and does no I/O. Each access passes three steps:
//!
//! - *plan*: the rules demand something of what is pending, or say why nothing has to be done;
//! - *perform*: somebody else does it: a mapping and the CPU's instructions, the explorer's two lines, atomics in a loom
//!   model;
//! - *commit*: what was done is pending no longer; what failed still is.
//!
//! The engine is generic over how pending work is kept and over who performs. [`carry_out`], [`note()`], [`overwrite`],
//! [`upload`] and [`leave_level`] are the logic of one access to one object; the explorer (`gem-coherency-check`) runs them on its
//! states. [`settle()`] runs them for objects that threads share ([`crate::tracking`]); the library and the loom models call it.

mod batch;
mod flush;
mod object;
mod pending;
mod report;
mod settle;
#[cfg(all(test, not(loom)))]
mod tests;

pub use flush::{
    Flush, LevelChange, Overwrite, Way, carry_out, is_uploaded_at_once, leave_level, of_access, overwrite,
    upload,
};
pub use object::{Lines, Object};
pub use pending::{Note, Pending, note, note_gpu_write, zeroes};
pub use report::{FlushReport, Step};
pub use settle::{Need, Task, leave_level_of, settle, upload_to};

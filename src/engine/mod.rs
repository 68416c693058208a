//! The coherency engine: determines the work that an access requires, its order, and what is pending
//! afterwards.
//!
//! It uses the rules ([`crate::policy`]) and the pending work, and performs I/O only through its traits
//! ([`Object`], [`Take`], [`Flush`]). Each access has three steps:
//!
//! - *plan*: the rules require some of the pending work, or state why none is required;
//! - *perform*: the implementation does it: a mapping and the CPU's instructions, the explorer's two lines,
//!   or atomics in a loom model;
//! - *commit*: completed work is no longer pending; failed work still is.
//!
//! The engine is generic over the storage of pending work and over the implementation of the operations.
//! [`perform_work`], [`note()`], [`overwrite`], [`upload`] and [`leave_level`] are the logic of one access to
//! one object; the explorer (`gem-coherency-check`) runs them on its states. [`make_current()`],
//! [`prepare_store`], [`upload_to`] and [`leave_level_of`] run them for objects shared by threads
//! ([`crate::tracking`]), in the library and in the loom models.

mod batch;
mod flush;
mod make_current;
mod object;
mod pending;
mod report;
mod store;
#[cfg(all(test, not(loom)))]
mod tests;

pub use flush::{
    Flush, LevelChange, Overwrite, StaleLines, StoreMethod, Take, UploadTime, drain_stores, leave_level,
    overwrite, perform_work, upload,
};
pub use make_current::{
    Task, UpcomingAccess, drain_stores_of, leave_level_of, make_current, make_current_one, nothing_to_do,
    upload_to,
};
pub use object::Object;
pub use pending::{Note, Pending, note, note_gpu_write, zeroes};
pub use report::{FlushReport, Step};
pub use store::{invalidate, prepare_store};

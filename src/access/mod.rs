//! Guards over CPU accesses, and what the flushes around them did.

mod guard;
mod report;

pub use guard::CpuAccess;
pub use report::{FlushReport, Step};

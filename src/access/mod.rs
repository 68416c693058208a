//! Guards over CPU accesses, and what the flushes around them did.

mod guard;
mod report;
mod upload;

pub use guard::CpuAccess;
pub use report::{FlushReport, Step};
pub use upload::{AROUND_FROM_BYTES, Upload};

//! What gem-coherency's flushes and uploads are measured beside: the loops that drivers have, plainly written, and
//! libpmem, if it is installed.
//!
//! `gemtool bench` and the benchmarks use it.
//!
//! # Safety
//! Each file says under this heading what its functions need.
#![allow(unsafe_code)]

mod loops;
mod pmem;

pub use loops::{Loop, flush, store_and_flush};
pub use pmem::Pmem;

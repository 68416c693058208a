//! The peers of gem-coherency's flushes and uploads in benchmarks: plain loops like those of drivers, and
//! libpmem, if it is installed.
//!
//! The rows and `cargo bench` use them.
//!
//! # Safety
//! Each file states its functions' requirements under this heading.
#![allow(unsafe_code)]

mod loops;
mod pmem;

pub use loops::{Loop, flush, store_and_flush};
pub use pmem::Pmem;

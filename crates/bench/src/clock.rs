//! Clocks: wall time, and the processor time of one thread.

use std::hint::black_box;
use std::time::Instant;

use gem_coherency::Errno;
use nix::time::{ClockId, clock_gettime};

use crate::error::Error;

/// Returns the nanoseconds that each of `operations` operations of `work` takes.
pub fn per_operation<T>(operations: u64, work: impl FnOnce() -> Result<T, Error>) -> Result<f64, Error> {
    let start = Instant::now();
    black_box(work()?);
    Ok(start.elapsed().as_nanos() as f64 / operations.max(1) as f64)
}

/// Returns the calling thread's processor time in nanoseconds.
pub fn thread_ns() -> Result<f64, Error> {
    let now = clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID).map_err(|errno| Error::Clock {
        clock: "CLOCK_THREAD_CPUTIME_ID",
        errno: Errno::new(errno as i32),
    })?;
    Ok(now.tv_sec() as f64 * 1e9 + now.tv_nsec() as f64)
}

//! The cost of something to a process: time, and memory at its peak.

use std::time::{Duration, Instant};

use nix::time::{ClockId, clock_gettime};

use crate::Result;

/// The cost of something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cost {
    /// Time that passed.
    pub wall: Duration,
    /// Time that the processors spent on it, all threads together.
    pub processor: Duration,
    /// The rise of the peak of the process's memory, in KiB.
    pub kib: u64,
}

/// Measures from its start on.
#[derive(Debug)]
pub struct Meter {
    wall: Instant,
    processor: Duration,
    kib: u64,
}

impl Meter {
    /// Starts to measure.
    ///
    /// # Errors
    /// A kernel that does not say what a process uses.
    pub fn start() -> Result<Self> {
        Ok(Self { kib: peak_kib()?, processor: processor_time()?, wall: Instant::now() })
    }

    /// Returns the cost since the start.
    ///
    /// # Errors
    /// As [`Meter::start`].
    pub fn stop(self) -> Result<Cost> {
        let wall = self.wall.elapsed();
        let processor = processor_time()?.saturating_sub(self.processor);
        Ok(Cost { wall, processor, kib: peak_kib()?.saturating_sub(self.kib) })
    }
}

fn processor_time() -> Result<Duration> {
    Ok(clock_gettime(ClockId::CLOCK_PROCESS_CPUTIME_ID)?.into())
}

/// The largest resident size so far.
fn peak_kib() -> Result<u64> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")?.strip_suffix("kB"));
    Ok(peak.ok_or("/proc/self/status has no VmHWM")?.trim().parse()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_touched_shows_in_the_peak_and_what_is_computed_in_the_time() {
        let meter = Meter::start().unwrap();
        let touched = std::hint::black_box(vec![1_u8; 64 << 20]);
        let cost = meter.stop().unwrap();
        assert!(cost.kib > 32 << 10, "{cost:?}");
        assert!(cost.processor > Duration::ZERO && cost.wall > Duration::ZERO, "{cost:?}");
        drop(touched);
    }
}

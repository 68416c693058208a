//! The time that GPU shaders take: what is told about those that take long, and what ends them.
//!
//! No shader is too large. A thread that does not end within [`GpuTimes::thread`](super::GpuTimes::thread) never ends, and the GPU hangs; the
//! threads of a shader take as long as they need.

use std::cell::RefCell;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

/// The time after which a shader is reported for the first time; each report comes after twice the time of the last one.
const FIRST_REPORT: Duration = Duration::from_secs(2);
/// The time between two questions whether the program is gone.
const LOOK: Duration = Duration::from_millis(100);

static REPORT: OnceLock<fn(ShaderProgress)> = OnceLock::new();

thread_local! {
    static IS_GONE: RefCell<Option<Box<dyn Fn() -> bool>>> = const { RefCell::new(None) };
}

/// The progress of a shader that takes long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShaderProgress {
    /// The time that it has taken so far.
    pub elapsed: Duration,
    /// The number of its threads that have ended.
    pub ended: u64,
    /// The number of its threads.
    pub threads: u64,
}

/// Calls `report` with the progress of each shader of this process that runs for 2, 4, 8 and more seconds. The first call counts.
pub fn report_shaders(report: fn(ShaderProgress)) {
    // A second one is another part of the same process.
    let _ = REPORT.set(report);
}

/// Ends the shaders that this thread runs for a program, except with `gpu=timed`, when the program `is_gone`.
pub fn end_shaders_when(is_gone: impl Fn() -> bool + 'static) {
    IS_GONE.set(Some(Box::new(is_gone)));
}

/// The reason why a shader is ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Overtime {
    /// A thread does not end.
    Endless,
    /// The program that waited for the shader is gone.
    Unwanted,
}

/// The clock of a running shader.
#[derive(Debug)]
pub struct ShaderClock {
    limit: Duration,
    threads: u64,
    ended: u64,
    start: Instant,
    thread_start: Instant,
    next_report: Duration,
    next_look: Instant,
    /// The program of this thread waits for the shader.
    is_own: bool,
}

impl ShaderClock {
    /// Starts the clock of a shader of so many threads, each of which may take `limit`; zero is no limit.
    pub(crate) fn start(threads: u64, limit: Duration, is_own: bool) -> Self {
        let now = Instant::now();
        Self {
            limit,
            threads,
            ended: 0,
            start: now,
            thread_start: now,
            next_report: FIRST_REPORT,
            next_look: now + LOOK,
            is_own,
        }
    }

    /// Takes note of the end of a thread, and looks at the time.
    ///
    /// # Errors
    /// [`Overtime::Unwanted`].
    pub fn end_thread(&mut self, is_stopped: impl Fn() -> bool) -> Result<(), Overtime> {
        self.ended += 1;
        self.thread_start = Instant::now();
        self.look(self.thread_start, is_stopped)
    }

    /// Looks at the time while a thread runs.
    ///
    /// # Errors
    /// The reason why the shader is ended.
    pub fn tick(&mut self, is_stopped: impl Fn() -> bool) -> Result<(), Overtime> {
        let now = Instant::now();
        if !self.limit.is_zero() && now.saturating_duration_since(self.thread_start) >= self.limit {
            return Err(Overtime::Endless);
        }
        self.look(now, is_stopped)
    }

    fn look(&mut self, now: Instant, is_stopped: impl Fn() -> bool) -> Result<(), Overtime> {
        let Self { threads, ended, start, .. } = *self;
        let elapsed = now.saturating_duration_since(start);
        if elapsed >= self.next_report {
            self.next_report = elapsed.saturating_mul(2);
            if let Some(report) = REPORT.get() {
                report(ShaderProgress { elapsed, ended, threads });
            }
        }
        if now < self.next_look {
            return Ok(());
        }
        self.next_look = now + LOOK;
        let is_gone = || IS_GONE.with_borrow(|is_gone| is_gone.as_ref().is_some_and(|is_gone| is_gone()));
        if is_stopped() || self.is_own && is_gone() { Err(Overtime::Unwanted) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_thread_has_a_limit() {
        let never = || false;
        let mut clock = ShaderClock::start(3, Duration::from_nanos(1), true);
        assert_eq!(clock.end_thread(never), Ok(()));
        std::thread::sleep(Duration::from_millis(1));
        assert_eq!(clock.tick(never), Err(Overtime::Endless));
        let mut clock = ShaderClock::start(3, Duration::ZERO, true);
        std::thread::sleep(Duration::from_millis(1));
        assert_eq!(clock.tick(never), Ok(()));
    }

    #[test]
    fn a_shader_ends_with_its_device_and_with_the_program_that_waits_for_it() {
        let clock = |is_own| {
            let clock = ShaderClock::start(1, Duration::ZERO, is_own);
            ShaderClock { next_look: clock.start, ..clock }
        };
        assert_eq!(clock(true).tick(|| true), Err(Overtime::Unwanted));
        assert_eq!(clock(true).tick(|| false), Ok(()));
        end_shaders_when(|| true);
        assert_eq!(clock(true).end_thread(|| false), Err(Overtime::Unwanted));
        assert_eq!(clock(false).end_thread(|| false), Ok(()), "another program's shader");
    }
}

//! Vertical blanks: a nominal 60 Hz clock per CRTC.
//!
//! There is no thread and no interrupt: the number and the time of each vertical blank follow from the time when
//! the CRTC was turned on. Times are nanoseconds of the monotonic clock.

use std::sync::OnceLock;
use std::time::{Duration, Instant};

use nix::time::{ClockId, clock_gettime};

/// Nanoseconds between two vertical blanks, whatever the mode.
pub(crate) const PERIOD_NS: u64 = 16_666_667;
/// How far a number may be behind another one to count as passed (`drm_vblank_passed`).
const PASSED: u64 = 1 << 23;

/// Returns one moment as both kinds of time; always the same moment, so that conversions are exact.
fn anchor() -> (Instant, u64) {
    static ANCHOR: OnceLock<(Instant, u64)> = OnceLock::new();
    *ANCHOR.get_or_init(|| {
        let time = clock_gettime(ClockId::CLOCK_MONOTONIC).map_or(Duration::ZERO, Duration::from);
        (Instant::now(), nanoseconds(time))
    })
}

fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// Converts a moment to nanoseconds of the monotonic clock.
pub(crate) fn of_instant(instant: Instant) -> u64 {
    let (first, at) = anchor();
    match instant.checked_duration_since(first) {
        Some(later) => at.saturating_add(nanoseconds(later)),
        None => at.saturating_sub(nanoseconds(first.duration_since(instant))),
    }
}

/// Converts nanoseconds of the monotonic clock to a moment.
pub(crate) fn to_instant(ns: u64) -> Instant {
    let (first, at) = anchor();
    let moved = match ns.checked_sub(at) {
        Some(later) => first.checked_add(Duration::from_nanos(later)),
        None => first.checked_sub(Duration::from_nanos(at - ns)),
    };
    moved.unwrap_or(first)
}

/// Returns the present time.
pub(crate) fn now() -> u64 {
    of_instant(Instant::now())
}

/// Sleeps until a time.
pub(crate) fn sleep_until(ns: u64) {
    loop {
        let left = ns.saturating_sub(now());
        if left == 0 {
            return;
        }
        std::thread::sleep(Duration::from_nanos(left));
    }
}

/// Returns whether the vertical blank `wanted` has passed when the last one is `last` (`drm_vblank_passed`).
pub(crate) fn has_passed(last: u64, wanted: u64) -> bool {
    last.wrapping_sub(wanted) <= PASSED
}

/// A vertical blank: its number, and its time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Vblank {
    pub(crate) number: u64,
    pub(crate) ns: u64,
}

/// The vertical blanks of a CRTC (`struct drm_vblank_crtc`).
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Clock {
    /// The number of the last vertical blank before the CRTC was turned on.
    number: u64,
    /// When it was turned on; `None` if it is off.
    since: Option<u64>,
}

impl Clock {
    /// Turns the clock on (`drm_crtc_vblank_on`); numbers go on where they stopped.
    pub(crate) fn start(&mut self, now: u64) {
        if self.since.is_none() {
            self.since = Some(now);
        }
    }

    /// Turns the clock off (`drm_crtc_vblank_off`).
    pub(crate) fn stop(&mut self, now: u64) {
        if let Some(last) = self.last(now) {
            *self = Self { number: last.number, since: None };
        }
    }

    /// Returns the number of the last vertical blank before the CRTC was turned on or off last.
    pub(crate) fn number(&self) -> u64 {
        self.number
    }

    /// Returns the last vertical blank; `None` if the CRTC is off.
    pub(crate) fn last(&self, now: u64) -> Option<Vblank> {
        let since = self.since?;
        let count = now.saturating_sub(since) / PERIOD_NS;
        Some(Vblank { number: self.number.wrapping_add(count), ns: since + count * PERIOD_NS })
    }

    /// Returns the next vertical blank; `None` if the CRTC is off.
    pub(crate) fn next(&self, now: u64) -> Option<Vblank> {
        self.last(now).map(|last| Vblank { number: last.number.wrapping_add(1), ns: last.ns + PERIOD_NS })
    }

    /// Returns the vertical blank with this number, which has not passed; `None` if the CRTC is off.
    pub(crate) fn at(&self, now: u64, number: u64) -> Option<Vblank> {
        let last = self.last(now)?;
        let later = number.wrapping_sub(last.number);
        Some(Vblank { number, ns: last.ns.saturating_add(later.saturating_mul(PERIOD_NS)) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_count_periods_while_the_crtc_is_on_and_go_on_later() {
        let mut clock = Clock::default();
        assert_eq!((clock.last(5), clock.next(5), clock.at(5, 9)), (None, None, None));
        clock.start(1000);
        assert_eq!(clock.last(1000), Some(Vblank { number: 0, ns: 1000 }));
        assert_eq!(clock.next(1000), Some(Vblank { number: 1, ns: 1000 + PERIOD_NS }));
        let now = 1000 + 3 * PERIOD_NS;
        assert_eq!(clock.last(now - 1).map(|last| last.number), Some(2));
        assert_eq!(clock.last(now), Some(Vblank { number: 3, ns: now }));
        assert_eq!(clock.at(now, 5), Some(Vblank { number: 5, ns: now + 2 * PERIOD_NS }));
        clock.stop(now);
        assert_eq!(clock.last(now), None);
        clock.start(now + 7);
        assert_eq!(clock.last(now + 7), Some(Vblank { number: 3, ns: now + 7 }));
    }

    #[test]
    fn moments_convert_to_nanoseconds_and_back() {
        let instant = Instant::now();
        assert_eq!(to_instant(of_instant(instant)), instant);
        let ns = nanoseconds(clock_gettime(ClockId::CLOCK_MONOTONIC).unwrap().into());
        assert!(now().abs_diff(ns) < 1_000_000_000, "the kernel's monotonic clock");
    }

    #[test]
    fn passed_is_at_or_a_little_after() {
        assert!(has_passed(5, 5) && has_passed(6, 5) && has_passed(2, u64::MAX));
        assert!(!has_passed(4, 5) && !has_passed(PASSED + 6, 5));
    }
}

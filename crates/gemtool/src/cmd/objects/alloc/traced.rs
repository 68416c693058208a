//! The kernel's flushes of the first BO, as its trace shows them, beside the predicted ones.

use std::time::{Duration, Instant};

use gem_coherency::device::Device;
use gemtool::kernel_trace::{Follower, Row, Scope, TraceEvent, Tracer};
use serde::Serialize;

use crate::cmd::programs::trace::follow_device;
use crate::failure::Failure;

/// Time that a worker may take for a flush.
const GRACE: Duration = Duration::from_millis(500);
/// Interval between reads of the trace.
const PERIOD: Duration = Duration::from_millis(20);

/// A trace of the device.
#[derive(Debug)]
pub struct Tracing {
    tracer: Tracer,
    first: FirstBo,
}

/// The first BO that a thread creates, in a trace.
#[derive(Debug)]
struct FirstBo {
    follower: Follower,
    /// The thread.
    tid: u32,
    /// The BO's number, once it was created.
    number: Option<u32>,
    /// The time of the last event.
    last_ns: u64,
}

/// The flushes of one BO, seen and predicted.
#[derive(Clone, Debug, Serialize)]
pub struct Traced {
    /// The BO's handle.
    pub handle: u32,
    /// The flushes, by time.
    pub flushes: Vec<Row>,
    /// Functions that could not be probed; their effects are not followed.
    pub missing: Vec<&'static str>,
}

impl Tracing {
    /// Starts the trace.
    ///
    /// # Errors
    /// A software device; a missing requirement of tracing.
    pub fn start(device: &Device) -> Result<Self, Failure> {
        if device.drm().name().starts_with(gem_coherency_sim::PREFIX) {
            let why = "the software i915 has no kernel to trace: name a device file with --device";
            return Err(Failure::flag("--trace", why));
        }
        let mut tracer = Tracer::of(Scope::Calls)?;
        let (follower, tid) = follow_device(device, *device.rules(), &mut tracer)?;
        Ok(Self { tracer, first: FirstBo { follower, tid, number: None, last_ns: 0 } })
    }

    /// Ends the trace; returns the flushes of the first BO that this thread created since the start, which has `handle`.
    ///
    /// # Errors
    /// The errors of reading the trace, and a trace that does not show the creation.
    pub fn end(mut self, handle: u32) -> Result<Traced, Failure> {
        let start = Instant::now();
        loop {
            for seen in self.tracer.take()? {
                self.first.feed(&seen);
            }
            let waited = start.elapsed();
            if waited >= GRACE || !self.first.follower.is_waiting() && waited >= PERIOD {
                break;
            }
            std::thread::sleep(PERIOD);
        }
        let missing = self.tracer.missing().to_vec();
        let flushes = self.first.flushes().ok_or_else(|| {
            let missing = missing.join(", ");
            Failure::flag(
                "--trace",
                format!("the kernel's trace does not show the BO (not probed: {missing})"),
            )
        })?;
        Ok(Traced { handle, flushes, missing })
    }
}

impl FirstBo {
    /// Takes an event. Every event must be passed, in order.
    fn feed(&mut self, seen: &TraceEvent) {
        self.last_ns = self.last_ns.max(seen.time_ns);
        let before = self.follower.counts().objects;
        self.follower.feed(seen);
        let objects = self.follower.counts().objects;
        if self.number.is_none() && seen.tid == self.tid && objects > before {
            self.number = u32::try_from(objects).ok();
        }
    }

    /// Ends the trace; returns the flushes of the BO, by time. `None` if it was not created.
    fn flushes(mut self) -> Option<Vec<Row>> {
        let number = self.number?;
        self.follower.finish(self.last_ns);
        let mut flushes = self.follower.rows();
        flushes.retain(|row| row.object == Some(number));
        flushes.sort_by_key(|row| row.time_ns);
        Some(flushes)
    }
}

impl Traced {
    /// Returns whether every flush that was seen is predicted, and every predicted one was seen.
    pub fn passed(&self) -> bool {
        !self.flushes.iter().any(|row| row.verdict.is_mismatch())
    }
}

#[cfg(test)]
mod tests {
    use gem_coherency::platform::by_name;
    use gem_coherency::policy::Rule;
    use gem_coherency::policy::kernel::KernelRules;
    use gem_coherency::vocabulary::KernelVersion;
    use gemtool::kernel_trace::{Shape, Verdict, parse};

    use super::*;

    /// `gemtool alloc --caching=none` of the thread 171 on Jasper Lake.
    const JSL: &str = include_str!("../../../kernel_trace/recorded/jsl-6.12.trace");
    const OWN: u32 = 171;

    /// Follows `trace`; returns the flushes of the first BO that the thread created.
    fn of(trace: &str, tid: u32) -> Option<Traced> {
        let kernel = KernelVersion::new(6, 12);
        let machine = by_name("jsl").unwrap().machine(kernel, false);
        let follower = Follower::new(machine.caps, KernelRules::of(kernel).unwrap());
        let mut first = FirstBo { follower, tid, number: None, last_ns: 0 };
        trace.lines().filter_map(parse).for_each(|seen| first.feed(&seen));
        Some(Traced { handle: 1, flushes: first.flushes()?, missing: Vec::new() })
    }

    /// Returns the recorded trace with each flush of an object's pages `count` times.
    fn with_flushes(count: usize) -> String {
        let times = |line: &str| if line.contains(" gemco_sg: ") { count } else { 1 };
        JSL.lines().map(|line| format!("{line}\n").repeat(times(line))).collect()
    }

    #[test]
    fn the_flush_of_the_acquire_is_that_of_the_recorded_trace() {
        let traced = of(JSL, OWN).unwrap();
        let [flush] = &traced.flushes[..] else { panic!("{traced:#?}") };
        let whole = Some(Shape::Whole);
        assert_eq!((flush.call, flush.seen, flush.predicted), (Some("fault"), whole, whole));
        assert_eq!((flush.rule, flush.bytes), (Some(Rule::BypassAcquire), Some(65536)));
        assert!(traced.passed());
    }

    #[test]
    fn the_bo_is_that_of_the_thread_and_the_first() {
        assert!(of(JSL, OWN + 1).is_none(), "another thread creates none");
        // The batch comes later.
        let named = |line: &&str| line.contains(" gemco_named: ");
        let first = JSL.lines().find(named).expect("the BO gets its handle");
        let other = JSL.replacen(first, &first.replace("-171 ", "-172 "), 1);
        let traced = of(&other, OWN).unwrap();
        assert!(traced.flushes.iter().all(|row| row.bytes == Some(4096)), "{traced:#?}");
        assert_eq!(of(&other, OWN + 1).unwrap().flushes[0].bytes, Some(65536));
    }

    #[test]
    fn a_flush_that_is_not_predicted_and_one_that_did_not_come_are_mismatches() {
        for (count, verdict) in [(0, Verdict::Unseen), (2, Verdict::Unpredicted)] {
            let traced = of(&with_flushes(count), OWN).unwrap();
            assert!(!traced.passed(), "{traced:#?}");
            assert!(traced.flushes.iter().any(|row| row.verdict == verdict), "{traced:#?}");
        }
        assert!(of(&with_flushes(1), OWN).unwrap().passed());
    }
}

//! The times after which the kernel ends a batch that does not end itself.

use std::time::Duration;

use super::fault_log::Remedy;
use crate::kernel::spec::THREAD_TIME;
use gem_coherency::platform::{Driver, Machine};

/// The preemption of a batch: an engine may preempt it if arbitration is on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Arbitration {
    On,
    Off,
}

/// The times of the kernel's watch over batches; 0 turns it off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GpuTimes {
    /// The time between two heartbeats (`heartbeat_interval_ms` of an engine); 2.5 s by default.
    pub heartbeat: Duration,
    /// The time in which an engine must respond to a preemption (`preempt_timeout_ms`); 640 ms by default.
    pub preempt: Duration,
    /// The time that a batch may take on an engine that can be preempted, its time in the queue after other batches
    /// included (`i915.request_timeout_ms`); 20 s by default.
    pub request: Duration,
    /// The time that a batch may run under xe (`job_timeout_ms` of an engine class); 5 s by default.
    pub job: Duration,
    /// The time that a thread of a shader may take in the simulation, which is slower than the hardware: a thread that takes longer does not
    /// end. 10 s by default; the name of a device sets it (`hang=10s`). It holds for every GPU, also without `gpu=timed`.
    pub thread: Duration,
}

impl Default for GpuTimes {
    fn default() -> Self {
        Self {
            heartbeat: Duration::from_millis(2500),
            preempt: Duration::from_millis(640),
            request: Duration::from_secs(20),
            job: Duration::from_secs(5),
            thread: THREAD_TIME,
        }
    }
}

impl GpuTimes {
    /// Returns whether a submission that could have started this long ago is cancelled before it starts, as by i915.
    pub(super) fn is_over(&self, machine: Machine, waited: Duration) -> bool {
        machine.driver == Driver::I915
            && machine.can_preempt()
            && !self.request.is_zero()
            && waited >= self.request
    }

    /// Returns the time that a batch may take, and the kernel's remedy; `None` without limit.
    ///
    /// The heartbeat is a request of its own after the batch; at each following heartbeat its priority rises, and
    /// at the highest priority the engine is reset (`heartbeat` in `intel_engine_heartbeat.c`). It passes a batch
    /// that can be preempted. Engines without execlists know no priorities. xe counts the time that the batch runs, whether it can be preempted or
    /// not (`guc_exec_queue_timedout_job`).
    pub(super) fn limit(&self, machine: Machine, arbitration: Arbitration) -> Option<(Duration, Remedy)> {
        if machine.driver == Driver::Xe {
            return (!self.job.is_zero()).then_some((self.job, Remedy::Reset));
        }
        let preempts = machine.can_preempt();
        let (time, remedy, is_on) = match arbitration {
            Arbitration::On if preempts => (self.request, Remedy::Cancelled, !self.request.is_zero()),
            // The third heartbeat has a higher priority than every batch.
            Arbitration::On | Arbitration::Off if preempts => {
                (self.heartbeat * 3 + self.preempt, Remedy::Reset, !self.heartbeat.is_zero())
            }
            Arbitration::On | Arbitration::Off if machine.has_execlists() => {
                (self.heartbeat * 5, Remedy::Reset, !self.heartbeat.is_zero())
            }
            Arbitration::On | Arbitration::Off => {
                (self.heartbeat * 2, Remedy::Reset, !self.heartbeat.is_zero())
            }
        };
        is_on.then_some((time, remedy))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gem_coherency::platform::by_name;
    use gem_coherency::vocabulary::KernelVersion;

    #[test]
    fn the_limit_follows_from_priorities_and_preemption() {
        let limit = |times: GpuTimes, name, arbitration| {
            let machine = by_name(name).unwrap().machine(KernelVersion::new(6, 12), false);
            times.limit(machine, arbitration).map(|(time, remedy)| (time.as_millis(), remedy))
        };
        let times = GpuTimes::default();
        assert_eq!(limit(times, "hsw", Arbitration::On), Some((5000, Remedy::Reset)));
        assert_eq!(limit(times, "bdw", Arbitration::On), Some((12_500, Remedy::Reset)));
        assert_eq!(limit(times, "tgl", Arbitration::Off), Some((8140, Remedy::Reset)));
        assert_eq!(limit(times, "tgl", Arbitration::On), Some((20_000, Remedy::Cancelled)));
        let off = GpuTimes { heartbeat: Duration::ZERO, request: Duration::ZERO, ..times };
        for (name, arbitration) in
            [("hsw", Arbitration::On), ("tgl", Arbitration::On), ("tgl", Arbitration::Off)]
        {
            assert_eq!(limit(off, name, arbitration), None, "{name}");
        }
        let lnl = gem_coherency::xe::device("lnl", KernelVersion::new(7, 2)).unwrap().machine();
        for arbitration in [Arbitration::On, Arbitration::Off] {
            let five = Duration::from_secs(5);
            assert_eq!(times.limit(lnl, arbitration), Some((five, Remedy::Reset)));
        }
        assert_eq!(GpuTimes { job: Duration::ZERO, ..times }.limit(lnl, Arbitration::On), None);
        assert!(!times.is_over(lnl, Duration::from_secs(60)), "it waits as long as it has to");
    }
}

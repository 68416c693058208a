//! Traces i915: compares the kernel's flushes with the rules' predictions.

use gem_coherency::device::Device;
use gem_coherency::policy::Rule;
use gem_coherency::policy::kernel::KernelRules;
use gemtool::kernel_trace::{Counts, Follower, Row, Scope, TraceEvent, Tracer};
use serde::Serialize;

use super::session::{self, Kept, Listener, Run};
use crate::args;
use crate::cmd::device::DeviceLine;
use crate::failure::Failure;

/// The results of a trace of i915.
#[derive(Clone, Debug, Serialize)]
pub struct I915Trace {
    /// The device.
    pub device: DeviceLine,
    /// What was traced.
    #[serde(flatten)]
    pub run: Run,
    /// The rule that the predictions leave out.
    pub without: Option<Rule>,
    /// The flushes, by time.
    pub flushes: Vec<Row>,
    /// Number of predicted flushes that are counted and not listed.
    pub left_out: u64,
    /// Numbers of flushes.
    pub counts: Counts,
    /// No mismatch was found.
    pub passed: bool,
}

/// Traces a command, or the device for a time.
///
/// # Errors
/// A missing requirement of tracing; a command that cannot be used.
pub(super) fn run(args: &args::Trace, json: bool, device: &Device) -> Result<I915Trace, Failure> {
    let without = args.without.as_ref().map(|name| args::rule(&name.0)).transpose();
    let without = without.map_err(|why| Failure::flag("--without", why))?;
    let mut tracer = Tracer::of(Scope::Calls)?;
    let line = DeviceLine::of(device)?;
    let rules = KernelRules { without, ..*device.rules() };
    let (follower, _) = follow_device(device, rules, &mut tracer)?;
    let start_ns = session::start(&mut tracer)?;
    let mut listener = Flushes { follower, kept: Kept::default() };
    let (run, last_ns) = session::run(args, json, &mut tracer, start_ns, &mut listener)?;
    listener.follower.finish(last_ns);
    listener.keep();
    let Flushes { follower, mut kept } = listener;
    kept.rows.sort_by_key(|row| row.time_ns);
    let counts = follower.counts();
    Ok(I915Trace {
        device: line,
        run,
        without,
        flushes: kept.rows,
        left_out: kept.left_out,
        passed: counts.mismatches == 0,
        counts,
    })
}

/// Compares the flushes.
struct Flushes {
    follower: Follower,
    kept: Kept<Row>,
}

impl Listener for Flushes {
    fn feed(&mut self, seen: &TraceEvent) {
        self.follower.feed(seen);
    }

    fn keep(&mut self) {
        for row in self.follower.rows() {
            let is_mismatch = row.verdict.is_mismatch();
            self.kept.add(row, is_mismatch);
        }
    }

    fn is_waiting(&self) -> bool {
        self.follower.is_waiting()
    }
}

/// Follows the objects of the device; returns this thread's number in the trace, too.
///
/// # Errors
/// The errors of [`session::identify`].
pub fn follow_device(
    device: &Device,
    rules: KernelRules,
    tracer: &mut Tracer,
) -> Result<(Follower, u32), Failure> {
    let mut follower = Follower::new(device.machine().caps, rules);
    let (address, tid) = session::identify(device, tracer)?;
    follower.on(address);
    Ok((follower, tid))
}

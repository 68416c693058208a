//! `gemtool trace`: the kernel's flushes beside what the rules predict.

mod watch;

use std::process::ExitStatus;
use std::time::{Duration, Instant};

use gem_coherency::policy::Rule;
use gem_coherency::policy::kernel::KernelRules;
use gemtool::kernel_trace::{Counts, Follower, Row, Scope, TraceEvent, Tracer, What};
use serde::Serialize;

use super::device::{self, DeviceLine};
use crate::args;
use crate::failure::Failure;
use watch::Watch;

/// The rows that are kept of flushes that were as predicted.
const KEPT_ROWS: usize = 10_000;
/// The mark that tells this thread from others.
const OWN_MARK: &str = "gemtool trace: this thread";
/// How often the trace is read.
const PERIOD: Duration = Duration::from_millis(20);
/// How long a worker may take after everything else is over.
const GRACE: Duration = Duration::from_millis(500);

/// What was traced.
#[derive(Clone, Debug, Serialize)]
pub struct TraceReport {
    /// The device.
    pub device: DeviceLine,
    /// The command that was traced; empty if the device was watched.
    pub command: Vec<String>,
    /// How the command ended: `exit status: 0`.
    pub ended: Option<String>,
    /// The rule without which was predicted.
    pub without: Option<Rule>,
    /// What could not be probed: what these functions do is not followed.
    pub missing: Vec<&'static str>,
    /// When the trace began, CLOCK_MONOTONIC in nanoseconds.
    pub start_ns: u64,
    /// The flushes, by time.
    pub flushes: Vec<Row>,
    /// Flushes as predicted that are counted and not listed.
    pub left_out: u64,
    /// How many there were.
    pub counts: Counts,
    /// Whether there was no mismatch.
    pub held: bool,
}

/// Traces a command, or the device for a while.
///
/// # Errors
/// What tracing needs and does not have; a device or a command that cannot be used.
pub fn run(args: &args::Trace, json: bool) -> Result<TraceReport, Failure> {
    if args.device.device.as_deref().is_some_and(|name| name.starts_with("sim:")) {
        return Err(Failure::flag(
            "--device",
            "the software i915 has no kernel to trace: name a device file",
        ));
    }
    let mut tracer = Tracer::of(Scope::Calls)?;
    let (line, mut follower) = follow(args, &mut tracer)?;
    let start_ns = now(&mut tracer)?;
    let mut session = Session { rows: Vec::new(), left_out: 0, last_ns: start_ns };
    let mut watch = Watch::start(args, json)?;
    while watch.goes_on(PERIOD)? {
        session.read(&mut tracer, &mut follower)?;
    }
    // What the command left to workers comes a little later.
    let end = Instant::now();
    loop {
        session.read(&mut tracer, &mut follower)?;
        if end.elapsed() >= GRACE || !follower.is_waiting() && end.elapsed() >= PERIOD {
            break;
        }
        std::thread::sleep(PERIOD);
    }
    follower.finish(session.last_ns);
    session.keep(&mut follower);
    session.rows.sort_by_key(|row| row.time_ns);
    let counts = follower.counts();
    Ok(TraceReport {
        device: line,
        command: args.command.iter().map(|word| word.to_string_lossy().into_owned()).collect(),
        ended: watch.ended().map(|status: ExitStatus| status.to_string()),
        without: args.without,
        missing: tracer.missing().to_vec(),
        start_ns,
        flushes: session.rows,
        left_out: session.left_out,
        held: counts.mismatches == 0,
        counts,
    })
}

/// What was read so far.
struct Session {
    rows: Vec<Row>,
    left_out: u64,
    last_ns: u64,
}

impl Session {
    /// Reads what was traced since the last time.
    fn read(&mut self, tracer: &mut Tracer, follower: &mut Follower) -> Result<(), Failure> {
        for seen in tracer.take()? {
            self.last_ns = self.last_ns.max(seen.time_ns);
            follower.feed(&seen);
        }
        self.keep(follower);
        Ok(())
    }

    /// Keeps the rows: all mismatches, and of the rest as many as anybody reads.
    fn keep(&mut self, follower: &mut Follower) {
        for row in follower.rows() {
            if row.verdict.is_mismatch() || self.rows.len() < KEPT_ROWS {
                self.rows.push(row);
            } else {
                self.left_out += 1;
            }
        }
    }
}

/// Follows the objects of the device: it is told from others by an object that is made on it.
fn follow(args: &args::Trace, tracer: &mut Tracer) -> Result<(DeviceLine, Follower), Failure> {
    let device = device::open(&args.device)?;
    let line = DeviceLine::of(&device)?;
    let rules = KernelRules { without: args.without, ..*device.rules() };
    let mut follower = Follower::new(device.machine().caps, rules);
    tracer.take()?;
    // The kernel's number of this thread: in a container the process has another one.
    tracer.mark(OWN_MARK)?;
    let created =
        device.drm().create(gem_coherency::units::PAGE_BYTES).map_err(Failure::step("GEM_CREATE"))?;
    let seen = tracer.take()?;
    device.drm().close(created.handle).map_err(Failure::step("GEM_CLOSE"))?;
    let own = seen.iter().find(|seen| matches!(&seen.what, What::Mark(text) if text == OWN_MARK));
    let created = seen
        .iter()
        .filter(|seen| own.is_some_and(|own| own.tid == seen.tid))
        .find_map(|seen| if let What::Created { device, .. } = seen.what { Some(device) } else { None });
    let created = created.ok_or_else(|| {
        let missing = tracer.missing().join(", ");
        Failure::Environment(format!(
            "the kernel's trace does not show the creation of an object (not probed: {missing})"
        ))
    })?;
    follower.on(created);
    Ok((line, follower))
}

/// What the clock of the trace says; what came before is forgotten.
fn now(tracer: &mut Tracer) -> Result<u64, Failure> {
    tracer.mark("gemtool trace")?;
    let seen: Vec<TraceEvent> = tracer.take()?;
    Ok(seen.last().map_or(0, |seen| seen.time_ns))
}

//! `gemtool trace`: compares the kernel's flushes with the rules' predictions.

mod watch;

use std::process::ExitStatus;
use std::time::{Duration, Instant};

use gem_coherency::device::Device;
use gem_coherency::policy::Rule;
use gem_coherency::policy::kernel::KernelRules;
use gemtool::kernel_trace::{Counts, EventKind, Follower, Row, Scope, TraceEvent, Tracer};
use serde::Serialize;

use crate::args;
use crate::cmd::device::{self, DeviceLine};
use crate::failure::Failure;
use watch::Watch;

/// Largest number of rows of predicted flushes to keep.
const KEPT_ROWS: usize = 10_000;
/// The mark that identifies this thread in the trace.
const OWN_MARK: &str = "gemtool trace: this thread";
/// Interval between reads of the trace.
const PERIOD: Duration = Duration::from_millis(20);
/// Time that a worker may take after the command or the duration has ended.
const GRACE: Duration = Duration::from_millis(500);

/// The results of a trace.
#[derive(Clone, Debug, Serialize)]
pub struct TraceReport {
    /// The device.
    pub device: DeviceLine,
    /// The traced command; empty if the whole device was traced.
    pub command: Vec<String>,
    /// The command's exit status or signal: `exit status: 0`.
    pub ended: Option<String>,
    /// The rule that the predictions leave out.
    pub without: Option<Rule>,
    /// Functions that could not be probed; their effects are not followed.
    pub missing: Vec<&'static str>,
    /// The start of the trace, CLOCK_MONOTONIC in nanoseconds.
    pub start_ns: u64,
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
/// A missing requirement of tracing; a device or a command that cannot be used.
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
    while watch.is_running(PERIOD)? {
        session.read(&mut tracer, &mut follower)?;
    }
    // Flushes that the command left to workers come a little later.
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
        passed: counts.mismatches == 0,
        counts,
    })
}

/// The events and rows so far.
struct Session {
    rows: Vec<Row>,
    left_out: u64,
    last_ns: u64,
}

impl Session {
    /// Reads the events since the last read.
    fn read(&mut self, tracer: &mut Tracer, follower: &mut Follower) -> Result<(), Failure> {
        for seen in tracer.take()? {
            self.last_ns = self.last_ns.max(seen.time_ns);
            follower.feed(&seen);
        }
        self.keep(follower);
        Ok(())
    }

    /// Keeps the rows: all mismatches, and of the others up to the limit.
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

/// Opens the device, and follows its objects.
fn follow(args: &args::Trace, tracer: &mut Tracer) -> Result<(DeviceLine, Follower), Failure> {
    let device = device::open(&args.device)?;
    let line = DeviceLine::of(&device)?;
    let rules = KernelRules { without: args.without, ..*device.rules() };
    Ok((line, follow_device(&device, rules, tracer)?.0))
}

/// Follows the objects of the device; returns this thread's number in the trace, too. Creates an object on the device, whose event
/// identifies it.
///
/// # Errors
/// The errors of the trace and of the device, and a trace that does not show the creation.
pub fn follow_device(
    device: &Device,
    rules: KernelRules,
    tracer: &mut Tracer,
) -> Result<(Follower, u32), Failure> {
    let mut follower = Follower::new(device.machine().caps, rules);
    tracer.take()?;
    // The kernel's ID of this thread: a container sees another one.
    tracer.mark(OWN_MARK)?;
    let created =
        device.drm().create(gem_coherency::units::PAGE_BYTES).map_err(Failure::step("GEM_CREATE"))?;
    let seen = tracer.take()?;
    device.drm().close(created.handle).map_err(Failure::step("GEM_CLOSE"))?;
    let own = seen.iter().find(|seen| matches!(&seen.what, EventKind::Mark(text) if text == OWN_MARK));
    let created = seen.iter().filter(|seen| own.is_some_and(|own| own.tid == seen.tid)).find_map(|seen| {
        if let EventKind::Created { device, .. } = seen.what { Some((device, seen.tid)) } else { None }
    });
    let (created, tid) = created.ok_or_else(|| {
        let missing = tracer.missing().join(", ");
        Failure::Environment(format!(
            "the kernel's trace does not show the creation of an object (not probed: {missing})"
        ))
    })?;
    follower.on(created);
    Ok((follower, tid))
}

/// Returns the trace's current time; drops the earlier events.
fn now(tracer: &mut Tracer) -> Result<u64, Failure> {
    tracer.mark("gemtool trace")?;
    let seen: Vec<TraceEvent> = tracer.take()?;
    Ok(seen.last().map_or(0, |seen| seen.time_ns))
}

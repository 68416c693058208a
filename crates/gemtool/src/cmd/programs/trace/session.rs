//! A trace from its start to its end, of either driver.

use std::process::ExitStatus;
use std::time::{Duration, Instant};

use gem_coherency::device::Device;
use gemtool::kernel_trace::{EventKind, TraceEvent, Tracer};
use serde::Serialize;

use super::watch::Watch;
use crate::args;
use crate::failure::Failure;

/// Largest number of rows of predicted flushes, or requests, to keep.
const KEPT_ROWS: usize = 10_000;
/// The mark that identifies this thread in the trace.
const OWN_MARK: &str = "gemtool trace: this thread";
/// Interval between reads of the trace.
const PERIOD: Duration = Duration::from_millis(20);
/// Time that a worker may take after the command or the duration has ended.
const GRACE: Duration = Duration::from_millis(500);

/// What was traced.
#[derive(Clone, Debug, Serialize)]
pub struct Run {
    /// The traced command; empty if the whole device was traced.
    pub command: Vec<String>,
    /// The command's exit status or signal: `exit status: 0`.
    pub ended: Option<String>,
    /// Functions that could not be probed; their effects are not followed.
    pub missing: Vec<&'static str>,
    /// The start of the trace, CLOCK_MONOTONIC in nanoseconds.
    pub start_ns: u64,
}

/// Takes the events of a trace.
pub(super) trait Listener {
    /// Takes an event.
    fn feed(&mut self, seen: &TraceEvent);
    /// Keeps the rows so far.
    fn keep(&mut self);
    /// Returns whether a worker's flush is to come.
    fn is_waiting(&self) -> bool;
}

/// Rows: all mismatches, and of the others up to the limit.
pub(super) struct Kept<R> {
    /// The rows.
    pub rows: Vec<R>,
    /// Number of rows that are not kept.
    pub left_out: u64,
}

impl<R> Default for Kept<R> {
    fn default() -> Self {
        Self { rows: Vec::new(), left_out: 0 }
    }
}

impl<R> Kept<R> {
    /// Keeps a row, if it is a mismatch or below the limit.
    pub(super) fn add(&mut self, row: R, is_mismatch: bool) {
        if is_mismatch || self.rows.len() < KEPT_ROWS {
            self.rows.push(row);
        } else {
            self.left_out += 1;
        }
    }
}

/// Traces a command, or the device for a time, from `start_ns` on; returns the time of the last event, too.
///
/// # Errors
/// The errors of the trace, and a command that cannot be started.
pub(super) fn run(
    args: &args::Trace,
    json: bool,
    tracer: &mut Tracer,
    start_ns: u64,
    listener: &mut impl Listener,
) -> Result<(Run, u64), Failure> {
    let mut last_ns = start_ns;
    let mut watch = Watch::start(args, json)?;
    while watch.is_running(PERIOD)? {
        read(tracer, listener, &mut last_ns)?;
    }
    // Flushes that the command left to workers come a little later.
    let end = Instant::now();
    loop {
        read(tracer, listener, &mut last_ns)?;
        if end.elapsed() >= GRACE || !listener.is_waiting() && end.elapsed() >= PERIOD {
            break;
        }
        std::thread::sleep(PERIOD);
    }
    let run = Run {
        command: args.command.iter().map(|word| word.to_string_lossy().into_owned()).collect(),
        ended: watch.ended().map(|status: ExitStatus| status.to_string()),
        missing: tracer.missing().to_vec(),
        start_ns,
    };
    Ok((run, last_ns))
}

/// Reads the events since the last read.
fn read(tracer: &mut Tracer, listener: &mut impl Listener, last_ns: &mut u64) -> Result<(), Failure> {
    for seen in tracer.take()? {
        *last_ns = (*last_ns).max(seen.time_ns);
        listener.feed(&seen);
    }
    listener.keep();
    Ok(())
}

/// Starts the trace: returns its current time, and drops the earlier events.
///
/// # Errors
/// The errors of the trace.
pub(super) fn start(tracer: &mut Tracer) -> Result<u64, Failure> {
    tracer.mark("gemtool trace")?;
    let seen: Vec<TraceEvent> = tracer.take()?;
    Ok(seen.last().map_or(0, |seen| seen.time_ns))
}

/// Returns how the trace identifies the device, and this thread. Creates an object on the device, whose event shows it.
///
/// # Errors
/// The errors of the trace and of the device, and a trace that does not show the creation.
pub(super) fn identify(device: &Device, tracer: &mut Tracer) -> Result<(u64, u32), Failure> {
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
    created.ok_or_else(|| {
        let missing = tracer.missing().join(", ");
        Failure::Environment(format!(
            "the kernel's trace does not show the creation of an object (not probed: {missing})"
        ))
    })
}

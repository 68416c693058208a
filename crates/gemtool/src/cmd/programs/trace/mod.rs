//! `gemtool trace`: compares what the kernel does with the rules' predictions.

mod i915;
mod session;
mod watch;
mod xe;

use gemtool::kernel_trace::Tracer;
use serde::Serialize;

pub use i915::{I915Trace, follow_device};
pub use session::Run;
pub use xe::XeTrace;

use crate::args;
use crate::cmd::device;
use crate::failure::Failure;

/// The results of a trace.
#[derive(Clone, Debug, Serialize)]
#[serde(untagged)]
pub enum TraceReport {
    /// Of i915.
    I915(I915Trace),
    /// Of xe.
    Xe(XeTrace),
}

impl TraceReport {
    /// Returns whether no mismatch was found.
    pub const fn passed(&self) -> bool {
        match self {
            Self::I915(trace) => trace.passed,
            Self::Xe(trace) => trace.passed,
        }
    }
}

/// Traces a command, or the device for a time.
///
/// # Errors
/// A missing requirement of tracing; a device, a rule or a command that cannot be used.
pub fn run(args: &args::Trace, json: bool) -> Result<TraceReport, Failure> {
    if args.device.device.as_deref().is_some_and(|name| name.starts_with("sim:")) {
        return Err(Failure::flag(
            "--device",
            "the software i915 has no kernel to trace: name a device file",
        ));
    }
    // Without root the device may be out of reach, too.
    Tracer::check()?;
    let device = device::open_any(&args.device)?;
    match device.xe() {
        Some(rules) => xe::run(args, json, &device, rules).map(TraceReport::Xe),
        None => i915::run(args, json, &device).map(TraceReport::I915),
    }
}

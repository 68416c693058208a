//! `gemtool verify`: measures the device's coherency.

mod expect;
mod measure;
mod object;
pub mod paths;
mod plan;
pub mod report;
mod setup;
mod shuffle;
pub mod xe;

pub use expect::Chance;

use gem_coherency::Errno;
use gem_coherency::units::{LINE_BYTES, PAGE_LINES};
use gemtool::script::Target;
use serde::Serialize;

use crate::args;
use crate::cmd::device::{self, DeviceLine};
use crate::cmd::progress::bar;
use crate::failure::Failure;
use measure::Measuring;
pub use plan::Skip;
use plan::{Cell, Plan};
use report::{Refused, Row, VerifyReport};
use setup::Setup;
use xe::report::XeVerifyReport;

/// The measurements of a device, by its driver.
#[derive(Clone, Debug, Serialize)]
#[serde(untagged)]
pub enum Verified {
    /// Of i915.
    I915(Box<VerifyReport>),
    /// Of xe.
    Xe(Box<XeVerifyReport>),
}

impl Verified {
    /// Returns whether every check passed.
    pub fn passed(&self) -> bool {
        match self {
            Self::I915(report) => report.passed,
            Self::Xe(report) => report.passed,
        }
    }

    /// Returns the failure for refused measurements, if no check failed.
    pub fn stopped(&self) -> Option<Failure> {
        match self {
            Self::I915(report) => report::stopped(&report.refused, &report.totals),
            Self::Xe(report) => report::stopped(&report.refused, &report.totals),
        }
    }
}

/// Runs the measurements.
///
/// # Errors
/// The errors of the device. A measurement that it refuses is listed in the report.
pub fn run(args: &args::Verify, progress: bool) -> Result<Verified, Failure> {
    let target = device::any_target(&args.device)?;
    if let Some(rules) = target.device().xe() {
        return Ok(Verified::Xe(Box::new(xe::run(args, target.device(), &rules, progress)?)));
    }
    if !args.pat.is_empty() {
        return Err(Failure::flag(
            "--pat",
            "under i915 an object's caching mode decides, and no PAT index of a mapping",
        ));
    }
    Ok(Verified::I915(Box::new(run_i915(args, target, progress)?)))
}

/// Runs the measurements of a device of i915.
fn run_i915(args: &args::Verify, target: Target, progress: bool) -> Result<VerifyReport, Failure> {
    let line = DeviceLine::of(target.device())?;
    let lines = args.lines.next_multiple_of(PAGE_LINES);
    let counts = shuffle::counts(lines, args.quick);
    let setup = Setup::new(target, lines * LINE_BYTES).map_err(Failure::step("alloc"))?;
    let plan = Plan::new(&setup, args).map_err(Failure::step("alloc"))?;
    if plan.cells.is_empty() {
        let why = plan.skipped.iter().map(|skip| format!("{}: {}", skip.what, skip.why));
        let why = why.collect::<Vec<_>>().join("; ");
        return Err(Failure::Environment(format!("nothing to measure: {why}")));
    }
    let measuring =
        Measuring { setup: &setup, counts: counts.clone(), lines, seed: args.seed, forget: args.forget };
    let bar = bar(plan.cells.len() as u64, "{bar:40} {pos}/{len} measurements, {eta} left", progress);
    let Plan { cells, mut skipped } = plan;
    let (mut rows, mut refused) = (Vec::<Row>::new(), Vec::new());
    for (number, cell) in cells.iter().enumerate() {
        match measuring.row(cell) {
            Ok(row) => rows.push(row),
            Err(error) => {
                refused.push(Refused { what: cell.to_string(), error: error.to_string() });
                // The shaders come last. Each of the others would hang, too, and the driver bans a context that hangs often.
                if cell.runs_shader() && error.errno() == Errno::EIO {
                    let skip = |cell: &Cell| Skip { what: cell.to_string(), why: HUNG.to_owned() };
                    skipped.extend(cells.iter().skip(number + 1).map(skip));
                    break;
                }
            }
        }
        bar.inc(1);
    }
    bar.finish_and_clear();
    let is_unproven = setup.target.soft().is_none() && rows.iter().any(Row::ran_shader);
    let unproven = is_unproven.then_some(UNPROVEN);
    Ok(VerifyReport::new(line, (args.seed, lines, counts), skipped, refused, unproven, rows))
}

/// The reason to skip the shaders after one that failed.
const HUNG: &str = "an earlier shader failed with EIO";

/// The caution about shaders on a real device.
const UNPROVEN: &str = "gpu-shader is unproven on this part: nobody has reported that its MOCS entries do what i915 and this library \
    assume. `gemtool info` says how to report it.";

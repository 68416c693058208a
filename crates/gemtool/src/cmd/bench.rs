//! `gemtool bench`: the cost of the library's hot paths and of alternatives, measured in one run.

use gem_coherency_bench::{Begun, BenchReport, Error, Options};

use crate::args;
use crate::cmd::progress::bar;
use crate::failure::Failure;

/// Measures the requested rows; a bar shows the progress.
///
/// # Errors
/// An unknown row; a CPU or a device that cannot be used.
pub fn run(args: &args::Bench, progress: bool) -> Result<BenchReport, Failure> {
    let args::Bench { quick, rows, device } = args.clone();
    let options = Options { rows, quick, device: device.device };
    let bar = bar(0, "{bar:40} {pos}/{len} rows, {msg}, {elapsed}", progress);
    let begin = |Begun { row, done, count }| {
        bar.set_length(count as u64);
        bar.set_position(done as u64);
        bar.set_message(row);
    };
    let report = gem_coherency_bench::run_each(&options, begin);
    bar.finish_and_clear();
    report.map_err(|error| match error {
        Error::Library(error) => error.into(),
        Error::UnknownRow { .. } => Failure::flag("NAME", error),
        Error::CannotOpen { error, .. } => Failure::refused("--device", error),
        Error::FromC { .. } | Error::Clock { .. } | Error::Panicked { .. } => {
            Failure::Environment(error.to_string())
        }
    })
}

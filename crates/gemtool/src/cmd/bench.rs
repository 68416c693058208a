//! `gemtool bench`: the cost of the library's hot paths and of alternatives, measured in one run.

use gem_coherency_bench::{BenchReport, Error, Options};

use crate::args;
use crate::failure::Failure;

/// Measures the requested rows.
///
/// # Errors
/// An unknown row; a CPU or a device that cannot be used.
pub fn run(args: &args::Bench) -> Result<BenchReport, Failure> {
    let args::Bench { quick, rows, device } = args.clone();
    let options = Options { rows, quick, device: device.device };
    gem_coherency_bench::run(&options).map_err(|error| match error {
        Error::Library(error) => error.into(),
        Error::UnknownRow { .. } => Failure::flag("NAME", error),
        Error::CannotOpen { error, .. } => Failure::refused("--device", error),
        Error::FromC { .. } | Error::Clock { .. } | Error::Panicked { .. } => {
            Failure::Environment(error.to_string())
        }
    })
}

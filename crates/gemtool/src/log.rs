//! Writes the library's log to standard error.

use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;

use crate::failure::Failure;

/// The environment variable with a filter in the syntax of `tracing_subscriber::filter::Targets`: `debug`, `gem_coherency=debug`.
const VARIABLE: &str = "GEM_COHERENCY_LOG";

/// Enables logging if the variable is set, or as `verbose` requests; the variable takes precedence.
///
/// # Errors
/// A filter that cannot be parsed.
pub fn start(verbose: u8) -> Result<(), Failure> {
    let filter = match std::env::var(VARIABLE) {
        Ok(filter) if !filter.trim().is_empty() => filter,
        Ok(_) | Err(std::env::VarError::NotPresent) => match verbose {
            0 => return Ok(()),
            1 => "gem_coherency=debug,gemtool=debug".to_owned(),
            2.. => "gem_coherency=trace,gemtool=trace".to_owned(),
        },
        Err(error @ std::env::VarError::NotUnicode(_)) => {
            return Err(Failure::Environment(format!("{VARIABLE}: {error}")));
        }
    };
    let filter: Targets = filter.parse().map_err(|error| {
        Failure::Environment(format!(
            "{VARIABLE}='{filter}': {error} (try debug, or gem_coherency::object=debug)"
        ))
    })?;
    tracing_subscriber::fmt()
        .with_max_level(LevelFilter::TRACE)
        .with_writer(std::io::stderr)
        .with_ansi(crate::render::stderr_colours())
        .without_time()
        // A line that cannot be written is lost: reporting the error would panic on the same standard error.
        .log_internal_errors(false)
        .finish()
        .with(filter)
        .try_init()
        .map_err(|error| Failure::Environment(format!("{VARIABLE}: {error}")))
}

//! Runs a program, and reports its mistakes.

use std::num::NonZeroUsize;
use std::sync::Arc;

use gem_coherency_report::{PictureOf, Run, Sanitized, read_suppressions};
use gem_coherency_sanitizer::Sanitizer;
use gem_coherency_server::Settings;

use super::machine_of;
use super::run::on_server;
use crate::args;
use crate::cmd::model::check::has_folder;
use crate::failure::Failure;

/// Runs the program and collects the findings.
///
/// # Errors
/// As [`on_server`], and [`read_suppressions`].
pub fn sanitize(args: &args::Sanitize) -> Result<Sanitized, Failure> {
    let suppressions = args.suppressions.as_deref().map_or(Ok(Vec::new()), read_suppressions);
    let suppressions = suppressions.map_err(|why| Failure::flag("--suppressions", why))?;
    if let Some(path) = &args.svg {
        has_folder(path)?;
    }
    let devices = args.specs();
    let kernels: Vec<_> =
        devices.iter().filter_map(|device| machine_of(device)).map(|machine| machine.kernel).collect();
    let judges = args.platforms.as_ref().map_or(Ok(Vec::new()), |judges| judges.under(&kernels));
    let judges = judges.map_err(|error| Failure::flag("--platforms", error))?;
    let sanitizer = Arc::new(Sanitizer::new(&judges, args.svg.is_some()));
    let settings = Settings { folder: None, judge: Some(sanitizer.clone()) };
    let (status, server) = on_server(&devices, &args.program, &settings)?;
    let program = args.program.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    let finding = args.finding.unwrap_or(NonZeroUsize::MIN);
    let picture = args.svg.clone().map(|path| PictureOf { path, finding });
    let run = Run { devices, program, status };
    Ok(Sanitized::of(run, &server, &sanitizer, &judges, suppressions, picture))
}

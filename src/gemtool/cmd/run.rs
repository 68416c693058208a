//! `gemtool run`: a script, carried out on a device.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use gem_coherency::script::{self, MAX_BYTES, Report, Script, Stopped};
use serde::Serialize;

use super::device::{self, DeviceLine};
use crate::args;
use crate::failure::Failure;

/// What came of a script.
#[derive(Clone, Debug, Serialize)]
pub struct RunReport {
    /// The device.
    pub device: DeviceLine,
    /// The script's name.
    pub script: String,
    /// Whether it came to its end and every expectation held.
    pub held: bool,
    /// What came of it.
    #[serde(flatten)]
    pub report: Report,
    /// Whether people want to see every step with all that happened.
    #[serde(skip)]
    pub timeline: bool,
}

impl RunReport {
    /// Why the script stopped, if it did.
    pub fn stopped(&self) -> Option<Failure> {
        let Stopped { error, .. } = self.report.stopped.as_ref()?;
        Some(wrong(&self.script, error))
    }
}

/// Reads the script, opens the device, and carries the script out.
///
/// # Errors
/// What is wrong with the script's file, its text, or the device. A script that stops on its way is a
/// report, which says so.
pub fn run(args: &args::Run) -> Result<RunReport, Failure> {
    let name = if is_stdin(&args.script) { "<stdin>".to_owned() } else { args.script.display().to_string() };
    // First the text: what is wrong with it needs no device to be found.
    let script = read(&args.script, &name)?;
    let target = device::target(&args.device)?;
    let device = DeviceLine::of(target.device())?;
    let report = script::run(&script, &target);
    Ok(RunReport { device, script: name, held: report.held(), report, timeline: args.timeline })
}

/// Whether the script comes from standard input.
fn is_stdin(path: &Path) -> bool {
    path.as_os_str() == "-"
}

/// Reads the script.
fn read(path: &Path, name: &str) -> Result<Script, Failure> {
    let bytes = if is_stdin(path) { all(io::stdin().lock()) } else { File::open(path).and_then(all) };
    let bytes = bytes.map_err(|error| Failure::Environment(format!("cannot read '{name}': {error}")))?;
    script::parse_bytes(&bytes).map_err(|error| wrong(name, &error))
}

/// Everything there is to read, or one byte more than a script may have.
fn all(from: impl Read) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    from.take(MAX_BYTES as u64 + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// What is wrong with the script `name`, as compilers say it.
fn wrong(name: &str, error: &script::Error) -> Failure {
    let place = error.place();
    Failure::Environment(format!(
        "{name}:{}:{}: {}\n{}",
        place.line,
        place.column,
        error.why(),
        error.excerpt()
    ))
}

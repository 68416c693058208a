//! `gemtool run`: runs a script on a device.

use std::cell::OnceCell;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use gemtool::script::{self, MAX_BYTES, Report, Script, StepReport, Stopped, Target};
use serde::ser::{Serialize, SerializeMap, SerializeSeq, Serializer};

use crate::args;
use crate::cmd::device::{self, DeviceLine};
use crate::failure::Failure;

/// A script and its device. The script runs while the results are written ([`Run::steps`]), so that only a
/// part of the results is in memory at a time.
#[derive(Debug)]
pub struct Run {
    /// The device.
    pub device: DeviceLine,
    /// The script's name.
    pub name: String,
    /// The text form shows every step with all decisions and flushes.
    pub timeline: bool,
    script: Script,
    target: Target,
    /// The results without the steps, once the script has ended.
    ended: OnceCell<Report>,
}

impl Run {
    /// Runs the script, and passes the result of each step to `each`. After the first error of `each` the
    /// script continues without calling it.
    ///
    /// # Errors
    /// The first error of `each`.
    pub fn steps<E>(&self, mut each: impl FnMut(StepReport) -> Result<(), E>) -> Result<&Report, E> {
        let mut seen = Ok(());
        let report = script::run_each(&self.script, &self.target, |step| {
            if seen.is_ok() {
                seen = each(step);
            }
        });
        let report = self.ended.get_or_init(|| report);
        seen.map(|()| report)
    }

    /// Returns the line of the last step.
    pub fn last_line(&self) -> usize {
        self.script.steps().last().map_or(1, |step| step.place.line)
    }

    /// Returns whether the script ran to its end and every expectation held.
    pub fn passed(&self) -> bool {
        self.ended.get().is_some_and(Report::passed)
    }

    /// Returns why the script stopped, if it did.
    pub fn stopped(&self) -> Option<Failure> {
        let Stopped { error, .. } = self.ended.get()?.stopped.as_ref()?;
        Some(wrong(&self.name, error))
    }
}

impl Serialize for Run {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        /// The steps, which run as they are serialized.
        struct Steps<'a>(&'a Run);

        impl Serialize for Steps<'_> {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                let mut steps = serializer.serialize_seq(None)?;
                self.0.steps(|step| steps.serialize_element(&step))?;
                steps.end()
            }
        }

        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("device", &self.device)?;
        map.serialize_entry("script", &self.name)?;
        map.serialize_entry("steps", &Steps(self))?;
        if let Some(Report { counts, stopped, open, .. }) = self.ended.get() {
            map.serialize_entry("passed", &self.passed())?;
            map.serialize_entry("counts", counts)?;
            map.serialize_entry("stopped", stopped)?;
            map.serialize_entry("open", open)?;
        }
        map.end()
    }
}

/// Reads the script, and opens the device.
///
/// # Errors
/// The errors of the script's file, of its text, and of opening the device. A script that stops before its
/// end is not an error here: the run reports it.
pub fn start(args: &args::Run) -> Result<Run, Failure> {
    let name = if is_stdin(&args.script) { "<stdin>".to_owned() } else { args.script.display().to_string() };
    // The text comes first: its errors can be found without a device.
    let script = read(&args.script, &name)?;
    let target = device::any_target(&args.device)?;
    let device = DeviceLine::of(target.device())?;
    Ok(Run { device, name, timeline: args.timeline, script, target, ended: OnceCell::new() })
}

/// Returns whether the script comes from standard input.
fn is_stdin(path: &Path) -> bool {
    path.as_os_str() == "-"
}

/// Reads the script.
fn read(path: &Path, name: &str) -> Result<Script, Failure> {
    let bytes = if is_stdin(path) { all(io::stdin().lock()) } else { File::open(path).and_then(all) };
    let bytes = bytes.map_err(|error| Failure::Environment(format!("cannot read '{name}': {error}")))?;
    let script = script::parse_bytes(&bytes).map_err(|error| wrong(name, &error))?;
    // The files that a script names are beside it.
    Ok(script.in_folder(path.parent().unwrap_or(path)))
}

/// Reads everything, or one byte more than the limit of a script.
fn all(from: impl Read) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    from.take(MAX_BYTES as u64 + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Returns the failure for an error of the script `name`, in the form of a compiler's message.
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

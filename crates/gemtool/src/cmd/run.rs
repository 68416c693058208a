//! `gemtool run`: a script, carried out on a device.

use std::cell::OnceCell;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use gemtool::script::{self, MAX_BYTES, Report, Script, StepReport, Stopped, Target};
use serde::ser::{Serialize, SerializeMap, SerializeSeq, Serializer};

use super::device::{self, DeviceLine};
use crate::args;
use crate::failure::Failure;

/// A script on its device. It runs while it is written ([`Run::steps`]), so that only a part of what came of it is in
/// memory at a time.
#[derive(Debug)]
pub struct Run {
    /// The device.
    pub device: DeviceLine,
    /// The script's name.
    pub name: String,
    /// Whether people want to see every step with all that happened.
    pub timeline: bool,
    script: Script,
    target: Target,
    /// What came of it in the end, without its steps.
    ended: OnceCell<Report>,
}

impl Run {
    /// Runs the script, and gives what came of each step to `each`; after its first error the script goes on unseen.
    ///
    /// # Errors
    /// That of `each`.
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

    /// The line of the last step.
    pub fn last_line(&self) -> usize {
        self.script.steps().last().map_or(1, |step| step.place.line)
    }

    /// Whether it came to its end and every expectation held.
    pub fn held(&self) -> bool {
        self.ended.get().is_some_and(Report::held)
    }

    /// Why the script stopped, if it did.
    pub fn stopped(&self) -> Option<Failure> {
        let Stopped { error, .. } = self.ended.get()?.stopped.as_ref()?;
        Some(wrong(&self.name, error))
    }
}

impl Serialize for Run {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        /// The steps, which run as they are written.
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
            map.serialize_entry("held", &self.held())?;
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
/// What is wrong with the script's file, its text, or the device. A script that stops on its way is none: the run says
/// so.
pub fn start(args: &args::Run) -> Result<Run, Failure> {
    let name = if is_stdin(&args.script) { "<stdin>".to_owned() } else { args.script.display().to_string() };
    // First the text: what is wrong with it needs no device to be found.
    let script = read(&args.script, &name)?;
    let target = device::target(&args.device)?;
    let device = DeviceLine::of(target.device())?;
    Ok(Run { device, name, timeline: args.timeline, script, target, ended: OnceCell::new() })
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

//! Scenarios as text: parses scripts, and runs them on a device.
//!
//! [`parse()`] reads a script without opening a device; [`run()`] runs it on a [`Target`], a real device or a
//! software one, and returns the results as data. `docs/scripts.md` describes the language.
//!
//! ```
//! use gemtool::script::{self, Target};
//!
//! let script = script::parse(
//!     "a = alloc 4KiB caching=none map=wb\n\
//!      write a all fill=0xa5\n\
//!      submit a\n\
//!      expect verdict a flush lines=64 rule=non-coherent-read\n\
//!      where software: expect gpu-reads a all 0xa5\n",
//! )?;
//! let report = script::run(&script, &Target::open("sim:glk")?);
//! assert!(report.passed());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod claims;
mod error;
mod gpu;
mod parse;
mod report;
mod run;
mod shader;
mod state;
mod statement;
mod target;
mod values;

use std::path::PathBuf;

pub use error::{Error, Place};
pub use parse::{MAX_BYTES, Subject, Verb, parse, parse_bytes};
pub use report::{
    BoState, Counts, Decided, Dispatched, GpuLines, KernelFlushed, Outcome, Report, StepReport, Stopped,
};
pub use run::{run, run_each};
pub use shader::{BoundBo, Dispatch, Touch};
pub use statement::{
    Action, Attempt, Claim, Condition, Edge, Fact, Making, Name, Power, Range, Statement, Step, Use, Way,
};
pub use target::Target;
pub use values::count::{Compare, Count};
pub use values::pattern::Pattern;

/// A parsed script.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Script {
    text: String,
    steps: usize,
    names: Vec<String>,
    /// The folder in which files are looked for; the current one if it is empty.
    folder: PathBuf,
}

impl Script {
    /// Looks for the script's files in `folder` instead of the current one.
    #[must_use]
    pub fn in_folder(self, folder: impl Into<PathBuf>) -> Self {
        Self { folder: folder.into(), ..self }
    }

    /// Returns the steps, in order; parses the text again, so that memory holds one step at a time.
    pub fn steps(&self) -> impl Iterator<Item = Step<'_>> {
        parse::steps(&self.text)
    }

    /// Returns the number of steps.
    pub fn len(&self) -> usize {
        self.steps
    }

    /// Returns whether there are no steps.
    pub fn is_empty(&self) -> bool {
        self.steps == 0
    }

    /// Returns the letters of a name.
    pub fn name(&self, name: Name) -> &str {
        self.names.get(name.0).map_or("", String::as_str)
    }
}

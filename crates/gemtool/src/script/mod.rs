//! Scenarios as text: a language of lines, what a script says, and what came of it on a device.
//!
//! [`parse()`] reads a script and touches nothing else; [`run()`] carries it out on a [`Target`], a real
//! device or a software one, and returns what happened as data. `docs/gemtool.md` has the language.
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
//! assert!(report.held());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod bytes;
mod claims;
mod error;
mod parse;
mod pattern;
mod report;
mod run;
pub mod size;
mod state;
mod statement;
mod target;
mod words;

pub use error::{Error, Place};
pub use parse::{MAX_BYTES, Subject, Verb, parse, parse_bytes};
pub use pattern::Pattern;
pub use report::{BoState, Counts, Decided, KernelFlushed, Outcome, Report, StepReport, Stopped};
pub use run::{run, run_each};
pub use statement::{
    Action, Attempt, Claim, Compare, Condition, Count, Fact, Making, Name, Power, Range, Statement, Step,
    Use, Way,
};
pub use target::Target;

/// A text that was read, and says something line by line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Script {
    text: String,
    steps: usize,
    names: Vec<String>,
}

impl Script {
    /// What it says, in order; read from the text again, so that memory holds one step at a time.
    pub fn steps(&self) -> impl Iterator<Item = Step<'_>> {
        parse::steps(&self.text)
    }

    /// How many steps it has.
    pub fn len(&self) -> usize {
        self.steps
    }

    /// Whether it says nothing.
    pub fn is_empty(&self) -> bool {
        self.steps == 0
    }

    /// The letters of a name.
    pub fn name(&self, name: Name) -> &str {
        self.names.get(name.0).map_or("", String::as_str)
    }
}

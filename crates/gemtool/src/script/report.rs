//! What came of a script.

use serde::Serialize;

use super::error::Error;
use gem_coherency::access::{FlushReport, Step};
use gem_coherency::drm::OpenCounts;
use gem_coherency::policy::kernel::Action;
use gem_coherency::policy::{Rule, Verdict};
use gem_coherency::vocabulary::{CacheLevel, MmapMode};

/// What came of one step.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "result", rename_all = "kebab-case")]
pub enum Outcome {
    /// It was done.
    Done,
    /// What was expected is so.
    Held,
    /// What was expected is not so.
    NotHeld {
        /// What was expected.
        expected: String,
        /// What was seen.
        seen: String,
    },
    /// It is not for this device.
    Skipped {
        /// Why not.
        why: String,
    },
    /// It could not be done; the script stops here.
    Failed {
        /// The errno's name, if the library or the device refused.
        errno: Option<String>,
        /// Why.
        why: String,
    },
}

/// What the library decided about a BO, and did.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Decided {
    /// The BO's name.
    pub bo: String,
    /// At which step of its life.
    pub step: Step,
    /// What was needed.
    pub verdict: Verdict,
    /// Lines that were flushed or invalidated.
    pub lines: u64,
    /// The same, in bytes.
    pub bytes: u64,
    /// The rule that decided.
    pub rule: Rule,
}

impl Decided {
    /// What `report` says about the BO called `bo`.
    pub(super) fn new(bo: &str, report: &FlushReport) -> Self {
        let FlushReport { step, decision, lines, bytes } = *report;
        Self { bo: bo.to_owned(), step, verdict: decision.verdict, lines, bytes, rule: decision.rule }
    }
}

/// A flush by the kernel of a software device.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct KernelFlushed {
    /// The BO's name; null for every BO of the machine, and for what has no name.
    pub bo: Option<String>,
    /// Its handle; null likewise.
    pub handle: Option<u32>,
    /// The request that led to it.
    pub call: &'static str,
    /// What was issued.
    pub action: Action,
    /// The rule that decided.
    pub rule: Rule,
    /// Bytes that the flush went over.
    pub bytes: u64,
    /// Lines that were dirty.
    pub lines_written: u64,
}

/// What the library knows of a BO after a step.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct BoState {
    /// The BO's name.
    pub bo: String,
    /// Its level.
    pub level: CacheLevel,
    /// How it is mapped, or will be.
    pub map: MmapMode,
    /// Lines that may be newer in the CPU's cache than in memory.
    pub dirty: u64,
    /// Lines that may be newer in memory than in the CPU's cache.
    pub stale: u64,
}

/// One step, and what came of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct StepReport {
    /// Its line.
    pub line: usize,
    /// Its column.
    pub column: usize,
    /// What it says.
    pub statement: String,
    /// What came of it.
    #[serde(flatten)]
    pub outcome: Outcome,
    /// What there is to say about it.
    pub note: Option<String>,
    /// What the library decided.
    pub decisions: Vec<Decided>,
    /// What the kernel flushed; null where nobody can tell, on a real device.
    pub kernel_flushes: Option<Vec<KernelFlushed>>,
    /// The BOs that it names, afterwards.
    pub bos: Vec<BoState>,
}

/// How many steps came to what.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// Statements that were done.
    pub done: u64,
    /// Expectations that held.
    pub held: u64,
    /// Expectations that did not hold.
    pub not_held: u64,
    /// Steps that are not for this device.
    pub skipped: u64,
    /// Steps that the script did not come to.
    pub not_reached: u64,
}

/// Where a script stopped, and why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Stopped {
    /// The line.
    pub line: usize,
    /// The column.
    pub column: usize,
    /// Why.
    pub why: String,
    /// The same as an error, with the line.
    #[serde(skip)]
    pub error: Error,
}

/// What came of a script.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// How many steps came to what.
    pub counts: Counts,
    /// Every step that the script came to.
    pub steps: Vec<StepReport>,
    /// Where it stopped before its end, and why.
    pub stopped: Option<Stopped>,
    /// What is open on the device after everything was given back.
    pub open: OpenCounts,
}

impl Report {
    /// Whether it came to its end and every expectation held.
    pub fn held(&self) -> bool {
        self.stopped.is_none() && self.counts.not_held == 0
    }
}

//! The results of a script.

use serde::Serialize;

use super::error::Error;
use crate::dispatch::Place;
use crate::line_set::LineSet;
use gem_coherency::backend::OpenCounts;
use gem_coherency::object::{FlushReport, Step};
use gem_coherency::policy::kernel::Action;
use gem_coherency::policy::{Rule, Verdict};
use gem_coherency::vocabulary::{CacheLevel, MmapMode};

/// The result of one step.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "result", rename_all = "kebab-case")]
pub enum Outcome {
    /// The statement was performed.
    Done,
    /// The expectation is met.
    Passed,
    /// The expectation is not met.
    Mismatch {
        /// The expected value.
        expected: String,
        /// The actual value.
        seen: String,
    },
    /// The step does not apply to this device.
    Skipped {
        /// The reason.
        why: String,
    },
    /// The statement failed; the script stops here.
    Failed {
        /// The errno's name, if the library or the device refused.
        errno: Option<String>,
        /// The reason.
        why: String,
    },
}

/// A decision of the library on a BO, and its effect.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Decided {
    /// The BO's name.
    pub bo: String,
    /// The step of the BO's use.
    pub step: Step,
    /// The rules' verdict.
    pub verdict: Verdict,
    /// Lines flushed or invalidated.
    pub lines: u64,
    /// Bytes of these lines.
    pub bytes: u64,
    /// The rule that decided.
    pub rule: Rule,
}

impl Decided {
    /// Creates the decision in `report` on the BO called `bo`.
    pub(super) fn new(bo: &str, report: &FlushReport) -> Self {
        let FlushReport { step, decision, lines, bytes } = *report;
        Self { bo: bo.to_owned(), step, verdict: decision.verdict, lines, bytes, rule: decision.rule }
    }
}

/// A flush by the kernel of a software device.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct KernelFlushed {
    /// The BO's name; null for a flush of all BOs, and for a BO without a name.
    pub bo: Option<String>,
    /// The BO's handle; null likewise.
    pub handle: Option<u32>,
    /// The object's number on the software device; 0 for a flush of all BOs.
    #[serde(skip)]
    pub object: u64,
    /// The request that led to it.
    pub call: &'static str,
    /// The kernel's action.
    pub action: Action,
    /// The rule that decided.
    pub rule: Rule,
    /// Bytes in the flushed range.
    pub bytes: u64,
    /// Lines among them that were dirty.
    pub lines_written: u64,
}

/// The accesses of a shader on a software device.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Dispatched {
    /// Number of instructions that all threads executed.
    pub executed: u64,
    /// Number of early returns and discards that were hoisted.
    pub hoisted_discards: usize,
    /// The surfaces, in the order of the binding table.
    pub surfaces: Vec<GpuLines>,
}

/// The lines of a BO that a shader accessed through one of its surfaces.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct GpuLines {
    /// The shader's declaration of the surface.
    pub binding: Place,
    /// The BO's name.
    pub bo: String,
    /// The lines that it read.
    pub read: LineSet,
    /// The lines that it wrote.
    pub written: LineSet,
    /// The lines among both of which the CPU's cache had newer bytes, and the GPU accessed memory.
    pub stale: LineSet,
}

/// The library's tracked state of a BO after a step.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct BoState {
    /// The BO's name.
    pub bo: String,
    /// Its level.
    pub level: CacheLevel,
    /// The map mode, now or of the next mapping.
    pub map: MmapMode,
    /// Lines that may be newer in the CPU's cache than in memory.
    pub dirty: u64,
    /// Lines that may be newer in memory than in the CPU's cache.
    pub stale: u64,
}

/// One step and its result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct StepReport {
    /// Its line.
    pub line: usize,
    /// Its column.
    pub column: usize,
    /// The statement.
    pub statement: String,
    /// The result.
    #[serde(flatten)]
    pub outcome: Outcome,
    /// Additional information.
    pub note: Option<String>,
    /// The library's decisions.
    pub decisions: Vec<Decided>,
    /// The kernel's flushes; null on a real device, where they are unknown.
    pub kernel_flushes: Option<Vec<KernelFlushed>>,
    /// The accesses of the step's shader; null without one, and on a real device.
    pub dispatched: Option<Dispatched>,
    /// The states of its BOs after the step.
    pub bos: Vec<BoState>,
}

/// Numbers of results.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// Statements that were performed.
    pub done: u64,
    /// Expectations that are met.
    pub passed: u64,
    /// Expectations that failed.
    pub mismatches: u64,
    /// Steps that do not apply to this device.
    pub skipped: u64,
    /// Steps that the script did not reach.
    pub not_reached: u64,
}

/// The place at which a script stopped, and the reason.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Stopped {
    /// The line.
    pub line: usize,
    /// The column.
    pub column: usize,
    /// The reason.
    pub why: String,
    /// The reason as an error, with the line.
    #[serde(skip)]
    pub error: Error,
}

/// The results of a script.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// Numbers of results.
    pub counts: Counts,
    /// Every step that the script reached.
    pub steps: Vec<StepReport>,
    /// The place before its end at which it stopped, and the reason.
    pub stopped: Option<Stopped>,
    /// Objects and mappings still open on the device after everything was released.
    pub open: OpenCounts,
}

impl Report {
    /// Returns whether the script ran to its end and every expectation held.
    pub fn passed(&self) -> bool {
        self.stopped.is_none() && self.counts.mismatches == 0
    }
}

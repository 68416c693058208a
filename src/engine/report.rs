//! What was flushed or not, at which step, by which rule.

use serde::Serialize;

use crate::policy::{Decision, Rule, Verdict};
use crate::units::LINE_BYTES;
use crate::vocabulary::{Handle, words};

words! {
    /// A step of a BO's life at which something may have to be flushed.
    Step, "step" {
        /// The CPU writes.
        Write = "write",
        /// The BO is handed to the GPU.
        Submit = "submit",
        /// The BO is handed to the display engine.
        Scanout = "scanout",
        /// The CPU reads.
        Read = "read",
        /// The BO is handed to another process or device.
        Export = "export",
        /// The BO is given back.
        Release = "release",
    }
}

/// What one step did to one BO's lines, or why it did nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct FlushReport {
    /// The step.
    pub step: Step,
    /// What was needed, and the rule that says so.
    pub decision: Decision,
    /// Lines that were flushed or invalidated.
    pub lines: u64,
    /// The same, in bytes.
    pub bytes: u64,
}

impl FlushReport {
    /// A step that touched `lines` lines.
    pub(crate) fn new(step: Step, decision: Decision, lines: u64) -> Self {
        Self { step, decision, lines, bytes: lines * LINE_BYTES }
    }

    /// A step at which nothing had to be done, by `rule`.
    pub fn nothing(step: Step, rule: Rule) -> Self {
        Self::new(step, Decision::new(Verdict::NotNeeded, rule), 0)
    }

    /// Emits the report as an event.
    pub(crate) fn trace(&self, handle: Handle) {
        tracing::debug!(
            handle = handle.get(),
            step = %self.step,
            verdict = %self.decision.verdict,
            rule = %self.decision.rule,
            lines = self.lines,
            bytes = self.bytes,
            "decision"
        );
    }

    /// Adds what a later part of the same step did.
    pub(crate) fn add(&mut self, later: Self) {
        if later.decision.is_needed() && (!self.decision.is_needed() || self.lines == 0) {
            self.decision = later.decision;
        }
        self.lines += later.lines;
        self.bytes += later.bytes;
    }
}

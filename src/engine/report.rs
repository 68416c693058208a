//! Reports of what was flushed, at which step and by which rule.

use crate::policy::{Decision, Rule, Verdict};
use crate::units::LINE_BYTES;
use crate::vocabulary::{Handle, words};

words! {
    /// A step in a BO's lifetime at which a flush may be required.
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
        /// The BO is released.
        Release = "release",
        /// Memory is made current for readers that the library does not know.
        Sync = "sync",
    }
}

/// The flush of one BO at one step, or the reason why there was none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct FlushReport {
    /// The step.
    pub step: Step,
    /// The required operation and the rule for it.
    pub decision: Decision,
    /// Number of lines flushed or invalidated.
    pub lines: u64,
    /// The same in bytes.
    pub bytes: u64,
}

impl FlushReport {
    /// Creates the report of a step that touched `lines` lines.
    #[inline]
    pub(crate) fn new(step: Step, decision: Decision, lines: u64) -> Self {
        Self { step, decision, lines, bytes: lines * LINE_BYTES }
    }

    /// Creates the report of a step at which `rule` required nothing.
    pub fn nothing(step: Step, rule: Rule) -> Self {
        Self::new(step, Decision::new(Verdict::NotNeeded, rule), 0)
    }

    /// Emits the report as a tracing event.
    #[inline]
    pub(crate) fn trace(&self, handle: Handle) {
        if tracing::Level::DEBUG <= tracing::level_filters::LevelFilter::current() {
            self.emit(handle);
        }
    }

    #[cold]
    fn emit(&self, handle: Handle) {
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

    /// Adds the report of a later part of the same step. The decision stays that of the first part that touched
    /// lines; the lines are summed, also if the parts' operations differ.
    #[inline]
    pub(crate) fn add(&mut self, later: Self) {
        if later.decision.is_needed() && self.lines == 0 {
            self.decision = later.decision;
        }
        self.lines += later.lines;
        self.bytes += later.bytes;
    }
}

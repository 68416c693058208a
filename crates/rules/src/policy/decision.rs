//! A verdict, and what it rests on.

use super::rules::Rule;
use crate::vocabulary::words;

words! {
    /// What has to happen before the next agent may access the memory.
    Verdict, "verdict" {
        /// Nothing.
        NotNeeded = "none",
        /// Dirty lines have to be written back.
        Flush = "flush",
        /// Possibly stale lines have to be dropped before they are read, or partly overwritten.
        Invalidate = "invalidate",
        /// Stores have to leave the CPU's write-combining buffers, or the chipset's.
        Drain = "drain",
        /// There is no such access: the platform or the kernel refuses it.
        Refused = "refused",
    }
}

/// A verdict with the rule that gave it; "not needed" has one too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Decision {
    /// What has to happen.
    pub verdict: Verdict,
    /// The rule that says so.
    pub rule: Rule,
}

impl Decision {
    /// The decision `verdict` by `rule`.
    pub const fn new(verdict: Verdict, rule: Rule) -> Self {
        Self { verdict, rule }
    }

    /// Whether anything has to happen.
    pub const fn is_needed(self) -> bool {
        match self.verdict {
            Verdict::Flush | Verdict::Invalidate | Verdict::Drain => true,
            Verdict::NotNeeded | Verdict::Refused => false,
        }
    }
}

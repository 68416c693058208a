//! A verdict and the rule that gives it.

use super::rules::Rule;
use crate::vocabulary::words;

words! {
    /// The operation that is required before the next agent may access the memory.
    Verdict, "verdict" {
        /// No operation is required.
        NotNeeded = "none",
        /// Dirty lines must be written back.
        Flush = "flush",
        /// Possibly stale lines must be invalidated before they are read or overwritten in part.
        Invalidate = "invalidate",
        /// Stores must be drained from the CPU's write-combining buffers, or from the chipset's.
        Drain = "drain",
        /// The platform or the kernel refuses the access.
        Refused = "refused",
    }
}

/// A verdict with the rule that gives it. "Not needed" has a rule, too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Decision {
    /// The required operation.
    pub verdict: Verdict,
    /// The rule that requires it, or the reason why none is required.
    pub rule: Rule,
}

impl Decision {
    /// Creates a decision.
    pub const fn new(verdict: Verdict, rule: Rule) -> Self {
        Self { verdict, rule }
    }

    /// Returns whether an operation is required.
    pub const fn is_needed(self) -> bool {
        match self.verdict {
            Verdict::Flush | Verdict::Invalidate | Verdict::Drain => true,
            Verdict::NotNeeded | Verdict::Refused => false,
        }
    }

    /// Returns the one of two decisions that requires more, for a caller who does not know which of two accesses
    /// comes next; `self` if both have one verdict. From the least: refused (the access does not exist), none,
    /// invalidate, drain, flush.
    #[must_use]
    pub const fn stronger(self, other: Self) -> Self {
        const fn strength(verdict: Verdict) -> u8 {
            match verdict {
                Verdict::Refused => 0,
                Verdict::NotNeeded => 1,
                Verdict::Invalidate => 2,
                Verdict::Drain => 3,
                Verdict::Flush => 4,
            }
        }
        if strength(other.verdict) > strength(self.verdict) { other } else { self }
    }
}

//! A flush that was seen or predicted, and the verdict on it.

use serde::Serialize;

use gem_coherency::policy::Rule;
use gem_coherency::policy::kernel::{Action, Event};
use gem_coherency::vocabulary::words;

words! {
    /// The verdict on a flush: the comparison with the rules.
    Verdict, "verdict" {
        /// Seen and predicted.
        Predicted = "predicted",
        /// Seen and not predicted: a mismatch.
        Unpredicted = "unpredicted",
        /// Predicted and not seen: a mismatch.
        Unseen = "unseen",
        /// Seen for an object that is not followed: no verdict.
        NotFollowed = "not-followed",
    }
}

impl Verdict {
    /// Returns whether rules and kernel disagree.
    pub const fn is_mismatch(self) -> bool {
        match self {
            Self::Unpredicted | Self::Unseen => true,
            Self::Predicted | Self::NotFollowed => false,
        }
    }
}

words! {
    /// The extent of a flush, and the thread that performs it.
    Shape, "shape of a flush" {
        /// All pages of the object, during the call.
        Whole = "whole",
        /// All pages of the object, by a worker.
        Deferred = "whole, by a worker",
        /// Copied bytes.
        Bytes = "bytes",
        /// Every line of the system.
        Wbinvd = "wbinvd",
        /// Not a flush: the kernel made a call that the rules refuse.
        Done = "done",
    }
}

impl Shape {
    /// Returns the shape of `action`; `None` if it flushes nothing.
    pub const fn of(action: Action) -> Option<Self> {
        match action {
            Action::FlushSync => Some(Self::Whole),
            Action::FlushAsync => Some(Self::Deferred),
            Action::FlushBefore | Action::FlushAfter => Some(Self::Bytes),
            Action::Wbinvd => Some(Self::Wbinvd),
            Action::Barrier | Action::WriteBarrier | Action::FlushGgtt | Action::FlushChipset => None,
        }
    }
}

/// A flush that was seen or predicted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Row {
    /// The time, CLOCK_MONOTONIC in nanoseconds; for a flush that was not seen, the end of the call.
    pub time_ns: u64,
    /// The thread.
    pub tid: u32,
    /// The thread's name.
    pub comm: String,
    /// The call during which it happened; null outside of all traced calls.
    pub call: Option<&'static str>,
    /// The object's number, in the order of creation; null if its creation was not seen.
    pub object: Option<u32>,
    /// A handle of the object.
    pub handle: Option<u32>,
    /// The object's size in bytes; for copied bytes, the number of bytes flushed.
    pub bytes: Option<u64>,
    /// The shape that was seen; null if none was.
    pub seen: Option<Shape>,
    /// The shape that was predicted; null if none was.
    pub predicted: Option<Shape>,
    /// The event of the rules.
    pub event: Option<Event>,
    /// The rule that predicts the flush, or its absence.
    pub rule: Option<Rule>,
    /// The verdict.
    pub verdict: Verdict,
    /// The reason why there is no verdict.
    pub why: Option<&'static str>,
}

/// Numbers of calls, objects and flushes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// Traced calls.
    pub calls: u64,
    /// Objects that userspace created.
    pub objects: u64,
    /// Flushes of objects that userspace has a handle of.
    pub flushes: u64,
    /// Flushes among them that the rules predict.
    pub predicted: u64,
    /// Flushes that were not predicted, and predictions that were not seen.
    pub mismatches: u64,
    /// Flushes of objects that are not followed.
    pub not_followed: u64,
    /// Events of the trace that were lost.
    pub lost: u64,
}

impl Counts {
    /// Counts a row.
    pub(super) fn add(&mut self, row: &Row) {
        let seen = match row.seen {
            Some(Shape::Whole | Shape::Deferred | Shape::Bytes | Shape::Wbinvd) => 1,
            Some(Shape::Done) | None => 0,
        };
        self.flushes += seen;
        match row.verdict {
            Verdict::Predicted => self.predicted += 1,
            Verdict::Unpredicted | Verdict::Unseen => self.mismatches += 1,
            Verdict::NotFollowed => self.not_followed += 1,
        }
    }
}

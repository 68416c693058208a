//! A flush that was seen, or predicted, and the verdict on it.

use serde::Serialize;

use gem_coherency::policy::Rule;
use gem_coherency::policy::kernel::{Action, Event};
use gem_coherency::vocabulary::words;

words! {
    /// Whether a flush was as the rules say.
    Verdict, "verdict" {
        /// Seen, and predicted.
        Predicted = "predicted",
        /// Seen, and not predicted: a mismatch.
        Unpredicted = "unpredicted",
        /// Predicted, and not seen: a mismatch.
        Unseen = "unseen",
        /// Seen of an object that is not followed: no verdict.
        NotFollowed = "not-followed",
    }
}

impl Verdict {
    /// Whether rules and kernel disagree.
    pub const fn is_mismatch(self) -> bool {
        match self {
            Self::Unpredicted | Self::Unseen => true,
            Self::Predicted | Self::NotFollowed => false,
        }
    }
}

words! {
    /// What a flush is like.
    Shape, "shape of a flush" {
        /// All pages of the object, during the call.
        Whole = "whole",
        /// All pages of the object, by a worker.
        Deferred = "whole, by a worker",
        /// The bytes that are copied.
        Bytes = "bytes",
        /// Every line of the system.
        Wbinvd = "wbinvd",
        /// Not a flush: the kernel made a call that the rules refuse.
        Done = "done",
    }
}

impl Shape {
    /// What `action` looks like; `None` of those that flush nothing.
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

/// A flush, seen or predicted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Row {
    /// When, CLOCK_MONOTONIC in nanoseconds; of a flush that was not seen, when the call ended.
    pub time_ns: u64,
    /// The thread.
    pub tid: u32,
    /// Its name.
    pub comm: String,
    /// The call that it was part of; null outside of all calls that are traced.
    pub call: Option<&'static str>,
    /// The object: they are numbered in the order of their creation. Null of one that was not seen.
    pub object: Option<u32>,
    /// A handle of the object.
    pub handle: Option<u32>,
    /// The object's size in bytes; of copied bytes, how many were flushed.
    pub bytes: Option<u64>,
    /// What was seen; null if nothing was.
    pub seen: Option<Shape>,
    /// What was predicted; null if nothing was.
    pub predicted: Option<Shape>,
    /// The event of the rules.
    pub event: Option<Event>,
    /// The rule that predicts the flush, or that there is none.
    pub rule: Option<Rule>,
    /// The verdict.
    pub verdict: Verdict,
    /// Why there is no verdict.
    pub why: Option<&'static str>,
}

/// How many there were.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// Calls that were traced.
    pub calls: u64,
    /// Objects that userspace made.
    pub objects: u64,
    /// Flushes of objects that userspace knows.
    pub flushes: u64,
    /// Of those: as the rules predict.
    pub predicted: u64,
    /// Flushes that were not predicted, or predicted and not seen.
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

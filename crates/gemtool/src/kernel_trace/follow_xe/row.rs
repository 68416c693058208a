//! A request or a flush, with its prediction and the verdict.

use std::fmt;

use gem_coherency::Errno;
use gem_coherency::vocabulary::words;
use gem_coherency::xe::{BindOp, CpuCaching, CreateFlags, LOCAL, Rule, SYSTEM};
use serde::{Serialize, Serializer};

use crate::kernel_trace::Verdict;
use crate::kernel_trace::xe::XeCall;

/// The kernel's answer to a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// Success.
    Accepted,
    /// This errno.
    Refused(Errno),
}

impl Answer {
    /// Returns the answer of a return value.
    pub(super) const fn of(result: i32) -> Self {
        if result < 0 { Self::Refused(Errno::new(result.saturating_neg())) } else { Self::Accepted }
    }
}

impl fmt::Display for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Accepted => f.pad("accepted"),
            Self::Refused(errno) => match errno.name() {
                Some(name) => f.pad(name),
                None => write!(f, "errno {}", errno.get()),
            },
        }
    }
}

impl Serialize for Answer {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// What a program asked for: the fields that decide about caching. Null: the request has no such field.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Asked {
    /// `cpu_caching`; null also for an unknown number.
    pub caching: Option<CpuCaching>,
    /// The mask of memory regions.
    pub placement: Option<u32>,
    /// The flags, by their numbers in the header.
    pub flags: Option<u32>,
    /// The operation of VM_BIND; null also for an unknown number.
    pub operation: Option<BindOp>,
    /// The number of operations of a VM_BIND whose operations are not known.
    pub operations: Option<u32>,
    /// The GPU's address.
    pub address: Option<u64>,
    /// The PAT index.
    pub pat_index: Option<u16>,
}

impl fmt::Display for Asked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut words: Vec<String> = Vec::new();
        words.extend(self.caching.map(|caching| caching.to_string()));
        if let Some(placement) = self.placement {
            let regions = [(SYSTEM, "system"), (LOCAL, "local")];
            words.extend(
                regions.iter().filter(|(bit, _)| placement & bit != 0).map(|(_, name)| (*name).to_owned()),
            );
            let flags = CreateFlags::from_bits_retain(self.flags.unwrap_or(0));
            words.extend(flags.iter_names().map(|(name, _)| name.to_lowercase().replace('_', "-")));
        }
        words.extend(self.operation.map(|operation| operation.to_string()));
        words.extend(self.operations.map(|count| format!("{count} operations")));
        // The others check the index, and do not use it.
        let is_used = matches!(self.operation, None | Some(BindOp::Map | BindOp::MapUserptr));
        words.extend(self.pat_index.filter(|_| is_used).map(|index| format!("by PAT {index}")));
        f.pad(&words.join(" "))
    }
}

/// A request that the rules judge; an operation of a VM_BIND, or all of them if they are not known.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RequestRow {
    /// The time at which it returned, CLOCK_MONOTONIC in nanoseconds.
    pub time_ns: u64,
    /// The thread.
    pub tid: u32,
    /// The thread's name.
    pub comm: String,
    /// The call.
    pub call: XeCall,
    /// The object's number, in the order of creation; null without a known one.
    pub object: Option<u32>,
    /// The object's handle.
    pub handle: Option<u32>,
    /// Bytes created, bound or advised.
    pub bytes: Option<u64>,
    /// What was asked for.
    pub asked: Asked,
    /// The kernel's answer to the whole request.
    pub answer: Answer,
    /// The predicted one; null where the rules cannot say.
    pub predicted: Option<Answer>,
    /// The check that fails, by the rules.
    pub rule: Option<Rule>,
    /// The verdict.
    pub verdict: Verdict,
    /// The reason why there is no verdict, or why it is a mismatch.
    pub why: Option<&'static str>,
}

words! {
    /// What was flushed.
    XeShape, "shape of a flush" {
        /// Pages that became write-combining.
        NewPages = "new pages",
        /// Nothing: write-combining pages came from the pool, where they were flushed before.
        Pool = "pool",
        /// Nothing, although pages became write-combining, or are not known to have been flushed before.
        None = "none",
        /// Lines, by a function that xe never calls for an object.
        Lines = "lines",
    }
}

/// A flush of an object's pages that was seen or predicted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FlushRow {
    /// The time, CLOCK_MONOTONIC in nanoseconds.
    pub time_ns: u64,
    /// The thread.
    pub tid: u32,
    /// The thread's name.
    pub comm: String,
    /// The call during which it happened; null outside of all traced calls.
    pub call: Option<XeCall>,
    /// The object's number, in the order of creation; null if its creation was not seen.
    pub object: Option<u32>,
    /// A handle of the object.
    pub handle: Option<u32>,
    /// Bytes of the pages that the object got.
    pub bytes: Option<u64>,
    /// Bytes that were flushed.
    pub flushed_bytes: u64,
    /// Bytes of pages from the pool.
    pub pooled_bytes: u64,
    /// What was seen.
    pub seen: XeShape,
    /// What was predicted; null where the rules cannot say.
    pub predicted: Option<XeShape>,
    /// The rule that predicts the flush, or its absence.
    pub rule: Option<Rule>,
    /// The verdict.
    pub verdict: Verdict,
    /// The reason why there is no verdict, or why it is a mismatch.
    pub why: Option<&'static str>,
}

/// Number of calls of a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct CallCount {
    /// The call.
    pub call: XeCall,
    /// How often it was made.
    pub calls: u64,
    /// How often it was refused.
    pub refused: u64,
    /// Number of flushes during it, also of the driver's own objects.
    pub flushes: u64,
}

/// Numbers of calls, objects, requests and flushes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct XeCounts {
    /// The traced calls, by name.
    pub calls: Vec<CallCount>,
    /// Objects that userspace created or imported.
    pub objects: u64,
    /// Requests, or operations of VM_BIND, that the rules judge.
    pub requests: u64,
    /// Flushes of objects that userspace has a handle of.
    pub flushes: u64,
    /// Requests and flushes as predicted.
    pub predicted: u64,
    /// Requests and flushes that differ from the prediction.
    pub mismatches: u64,
    /// Requests and flushes without a verdict.
    pub not_followed: u64,
    /// Flushes of the driver's own objects, such as page tables.
    pub own_flushes: u64,
    /// Events of the trace that were lost.
    pub lost: u64,
}

impl XeCounts {
    /// Returns the counter of a call.
    pub(super) fn call(&mut self, call: XeCall) -> &mut CallCount {
        let at = self.calls.iter().position(|count| count.call >= call).unwrap_or(self.calls.len());
        if self.calls.get(at).is_none_or(|count| count.call != call) {
            self.calls.insert(at, CallCount { call, calls: 0, refused: 0, flushes: 0 });
        }
        &mut self.calls[at]
    }

    /// Counts a verdict.
    pub(super) const fn judge(&mut self, verdict: Verdict) {
        match verdict {
            Verdict::Predicted => self.predicted += 1,
            Verdict::Unpredicted | Verdict::Unseen => self.mismatches += 1,
            Verdict::NotFollowed => self.not_followed += 1,
        }
    }
}

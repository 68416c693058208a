//! Traces the cache flushes of i915 and xe, call by call.
//!
//! A [`Tracer`] sets kprobes on the functions with which i915 flushes (`drm_clflush_sg`,
//! `drm_clflush_virt_range`, `wbinvd_on_all_cpus`) and on those that give objects their handles and pages,
//! and returns [`TraceEvent`]s. [`Attribution`] attributes the flushes to objects and to calls; [`Follower`]
//! compares them with the rules' predictions. All of it is plain input and output on tracefs, and requires
//! root.
//!
//! Under xe ([`Tracer::of_xe`]) the kernel flushes new write-combining pages alone (`set_pages_array_wc`), and refuses what would need more:
//! [`XeFollower`] compares its answers, too.
//!
//! It works on real devices only. The software i915 executes no flush instructions; the policy predicts its
//! flushes.

mod arguments;
mod attribution;
mod call;
mod error;
mod follow;
mod follow_xe;
mod parse;
mod probes;
mod trace_event;
mod tracefs;
mod tracer;
mod xe;

pub use attribution::{Attribution, Kind, SeenFlush, Toucher, TracedCall};
pub use call::{Call, CallEvent};
pub use error::Error;
pub use follow::{Counts, Follower, Row, Shape, Verdict};
pub use follow_xe::{
    Answer, Asked, CallCount, FlushRow, RequestRow, XeCounts, XeFollower, XeShape, pooled_pages,
};
pub use parse::parse;
pub use probes::Scope;
pub use trace_event::{EventKind, TraceEvent};
pub use tracer::Tracer;
pub use xe::{XeCall, XeEvent};

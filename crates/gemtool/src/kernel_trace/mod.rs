//! The kernel's own flushes, seen: i915's cache flushes as its trace shows them, call by call.
//!
//! A [`Tracer`] sets kprobes on what i915 flushes with (`drm_clflush_sg`, `drm_clflush_virt_range`,
//! `wbinvd_on_all_cpus`) and on what gives objects their names and pages, and reads them back as
//! [`TraceEvent`]. [`Attribution`] ties the flushes to objects and to calls; [`Follower`] holds them beside
//! what the rules predict. All of it is plain input and output on tracefs, and needs root.
//!
//! A real device only: the software i915 flushes nothing. What it would flush, the policy says.

mod attribution;
mod call;
mod error;
mod follow;
mod parse;

mod probes;
mod trace_event;
mod tracefs;
mod tracer;

pub use attribution::{Attribution, Kind, SeenFlush, Toucher, TracedCall};
pub use call::{Call, CallEvent};
pub use error::Error;
pub use follow::{Counts, Follower, Row, Shape, Verdict};
pub use parse::parse;
pub use probes::Scope;
pub use trace_event::{TraceEvent, What};
pub use tracer::Tracer;

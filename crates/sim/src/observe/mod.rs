//! What a device tells about itself: its trace, and its logs of flushes, incoherent accesses, refusals, lines and skipped work.

pub(crate) mod asked;
pub(crate) mod bound;
pub(crate) mod coverage;
pub(crate) mod domain_calls;
pub(crate) mod epochs;
pub(crate) mod history;
pub(crate) mod incoherent;
pub(crate) mod log;
pub(crate) mod refusals;
pub(crate) mod trace;
pub(crate) mod trace_event;

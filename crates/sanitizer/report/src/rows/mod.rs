//! The rows of a report: what was found and what was simulated, with functions and lines of source.

pub(crate) mod coverage;
pub(crate) mod disagreements;
pub(crate) mod domain_changes;
pub(crate) mod findings;
pub(crate) mod flushes;
mod key;
pub(crate) mod places;
pub(crate) mod platform_verdicts;
pub(crate) mod rules;

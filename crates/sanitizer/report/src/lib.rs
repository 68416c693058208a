//! What a [`Sanitizer`](gem_coherency_sanitizer::Sanitizer) found, as rows for people and tools: with functions and lines of source, the rule
//! that wants a flush, the platforms, and the suppressions that hide it. `gemtool sanitize` writes them as text, JSON and SARIF.
//!
//! # Layers
//!
//! Imports point down only, and within a layer along the arrows (`ci/layers` checks both):
//!
//! ```text
//! L3  sanitized
//! L2  history   platform_verdicts   suppressions -> domain_changes -> flushes
//! L1  findings
//! L0  coverage   disagreements
//! ```
//!
//! * `sanitized`: the whole report of a run. Not its text.
//! * `history`: what happened to the object of a finding, for a picture. Not the picture.
//! * `platform_verdicts`: the verdicts of many platforms on one run. Not how they judge.
//! * `suppressions`: findings that are known and accepted, each with a reason. Not findings.
//! * `domain_changes`: the changes of domains, by place. Not flushes.
//! * `flushes`: the flushes, by place. Not findings.
//! * `findings`: the findings, and places in programs. Not flushes.
//! * `coverage`: what the devices simulated of a program's work. Not what was found.
//! * `disagreements`: the requests that a real kernel answered otherwise. Not findings.

#![deny(unsafe_code)]

mod coverage;
mod disagreements;
mod domain_changes;
mod findings;
mod flushes;
mod history;
mod platform_verdicts;
mod sanitized;
mod suppressions;

pub use coverage::{CoverageRow, rows as coverage};
pub use disagreements::DisagreementRow;
pub use domain_changes::{DomainRow, USELESS_SET_DOMAIN};
pub use findings::{FindingRow, FlushedRow, PlaceRow};
pub use flushes::{FlushRow, USELESS_FLUSH, VerdictRow};
pub use history::{HistoryView, Picture, StepView};
pub use platform_verdicts::PlatformsRow;
pub use sanitized::{PictureOf, Run, Sanitized};
pub use suppressions::{Suppression, read as read_suppressions};

//! What a [`Sanitizer`](gem_coherency_sanitizer::Sanitizer) found, as rows for people and tools: with functions and lines of source, the rule
//! that wants a flush, the platforms, and the suppressions that hide it. `gemtool sanitize` writes them as text, JSON and SARIF.
//!
//! # Layers
//!
//! Imports point down only, and within a layer along the arrows (`ci/layers` checks both):
//!
//! ```text
//! L2  sanitized
//! L1  history   accepted
//! L0  rows
//! ```
//!
//! * `sanitized`: the whole report of a run. Not its text.
//! * `history`: what happened to the object of a finding, for a picture. Not the picture.
//! * `accepted`: findings that are known and accepted, each with a reason. Not findings.
//! * `rows`: findings, flushes and domain changes, with the places in programs, and what was simulated. Not what is accepted.

#![deny(unsafe_code)]

mod accepted;
mod history;
mod rows;
mod sanitized;

use accepted::suppressions;
use rows::{coverage, disagreements, domain_changes, findings, flushes, platform_verdicts};

pub use coverage::{CoverageRow, rows as coverage};
pub use disagreements::DisagreementRow;
pub use domain_changes::{DomainRow, USELESS_SET_DOMAIN};
pub use findings::{FindingRow, FlushedRow, PlaceRow};
pub use flushes::{FlushRow, USELESS_FLUSH, VerdictRow};
pub use history::{HistoryView, Picture, StepView};
pub use platform_verdicts::PlatformsRow;
pub use sanitized::{PictureOf, Run, Sanitized};
pub use suppressions::{Suppression, read as read_suppressions};

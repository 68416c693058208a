//! What a [`Sanitizer`](gem_coherency_sanitizer::Sanitizer) found, as rows for people and tools: with functions and lines of source, the rule
//! that wants a flush, the platforms, and the suppressions that hide it. `gemtool sanitize` writes them as text, JSON and SARIF.
//!
//! # Layers
//!
//! Imports point down only, and within a layer along the arrows (`ci/layers` checks both):
//!
//! ```text
//! L4  suite -> live
//! L3  sanitized
//! L2  collection   history   accepted
//! L1  rows
//! ```
//!
//! * `suite`: the tests of a suite, each with a judge. Not how programs are started.
//! * `live`: findings when they happen. Not their text.
//! * `sanitized`: the whole report of a run. Not its text.
//! * `collection`: what the judges of one or many sessions found, equal rows merged. Not what is accepted.
//! * `history`: what happened to the object of a finding, for a picture. Not the picture.
//! * `accepted`: findings that are accepted for a reason, or known from before. Not findings.
//! * `rows`: findings, flushes and domain changes, with the places in programs, and what was simulated. Not what is accepted.

#![deny(unsafe_code)]

mod accepted;
mod collection;
mod history;
mod live;
mod rows;
mod sanitized;
mod suite;

pub use accepted::baseline::Baseline;
pub use accepted::suppressions::{Suppression, read as read_suppressions};
pub use collection::{Collection, TestRow};
pub use history::{HistoryView, Picture, StepView};
pub use live::Live;
pub use rows::coverage::{CoverageRow, rows as coverage};
pub use rows::disagreements::DisagreementRow;
pub use rows::domain_changes::{DomainRow, USELESS_SET_DOMAIN};
pub use rows::findings::{FindingRow, FlushedRow, RefusedRow};
pub use rows::flushes::{FlushRow, USELESS_FLUSH, VerdictRow};
pub use rows::places::PlaceRow;
pub use rows::platform_verdicts::PlatformsRow;
pub use rows::rules::{DriverRule, machine_of};
pub use sanitized::{Accepted, PictureOf, Run, Sanitized};
pub use suite::Tests;

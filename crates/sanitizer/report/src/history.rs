//! The history of a finding's object, for a picture.

use std::path::PathBuf;

use gem_coherency::policy::kernel::Event;
use gem_coherency::units::{LINE_BYTES, LineRange};
use gem_coherency::vocabulary::Access;
use gem_coherency_memory_model::Mistake;
use gem_coherency_sanitizer::{Finding, History, What};
use gem_coherency_sim::LineStates;
use serde::Serialize;

use crate::rows::findings::FindingRow;
use crate::rows::places::{PlaceRow, Places};

/// A picture of a finding that was asked for.
#[derive(Clone, Debug, Serialize)]
pub struct Picture {
    /// Its path.
    pub path: PathBuf,
    /// The number of the finding among those that are not suppressed, from 1.
    pub finding: usize,
    /// The picture was written; false without such a finding, without a history of its object, or after an error.
    pub written: bool,
    /// What it shows.
    #[serde(skip)]
    pub view: Option<HistoryView>,
}

/// The history of a finding's object, up to the access that is wrong.
#[derive(Clone, Debug)]
pub struct HistoryView {
    /// The finding.
    pub finding: FindingRow,
    /// Its kind.
    pub kind: Mistake,
    /// The wrong lines.
    pub wrong: Vec<LineRange>,
    /// Number of lines of the object.
    pub lines: u64,
    /// The states of the lines at first.
    pub before: LineStates,
    /// Number of earlier steps that are not kept.
    pub dropped: u64,
    /// The steps; the last one is the wrong one.
    pub steps: Vec<StepView>,
}

/// A step of a history.
#[derive(Clone, Debug)]
pub struct StepView {
    /// What happened.
    pub what: What,
    /// The place in the program, innermost first; empty if it is not known.
    pub place: Vec<PlaceRow>,
    /// The lines that were stored, flushed or accessed; none for a request.
    pub lines: Vec<LineRange>,
    /// The dirty lines that were written back.
    pub written_back: Vec<LineRange>,
    /// The states of the lines afterwards.
    pub after: LineStates,
}

/// Returns the history of a finding; `None` if the wrong access is not in it.
pub(crate) fn view(
    places: &mut Places,
    finding: &Finding,
    row: &FindingRow,
    history: History,
) -> Option<HistoryView> {
    let wrong = history.steps.iter().rposition(|step| is_wrong(finding, step.what))?;
    let steps = history.steps.into_iter().take(wrong + 1).map(|step| StepView {
        what: step.what,
        // The address of a store, a load or a flush is the instruction's; a request's is after a call.
        place: places.stack(&step.stack, !matches!(step.what, What::Stored | What::Loaded | What::Flushed)),
        lines: step.lines,
        written_back: step.written_back,
        after: step.after,
    });
    Some(HistoryView {
        finding: row.clone(),
        kind: finding.kind,
        wrong: finding.lines.clone(),
        lines: finding.size / LINE_BYTES,
        before: history.before,
        dropped: history.dropped,
        steps: steps.collect(),
    })
}

/// Returns whether a step is of the accesses that a finding is about.
fn is_wrong(finding: &Finding, what: What) -> bool {
    let kind = match finding.kind {
        Mistake::StaleRead | Mistake::StaleCpuRead | Mistake::UnflushedGpuWrite | Mistake::UndrainedStore => {
            Access::Read
        }
        Mistake::LostWrite => Access::Write,
        Mistake::MissingInvalidate => return what == What::Loaded,
        // No request shows it.
        Mistake::DirtyOnScreen | Mistake::RefusedRequest => return false,
        Mistake::DirtySurface | Mistake::DirtyAtSubmission => {
            return matches!(what, What::Request { event: Event::Exec(_), .. });
        }
    };
    matches!(what, What::Access { route, access } if Some(route) == finding.route && access == kind)
}

//! What the devices simulated of the program's work, and what they skipped.

use std::collections::BTreeMap;
use std::fmt;

use gem_coherency_server::Session;
use gem_coherency_sim::Coverage;
use serde::Serialize;

/// The exit status of a run of which nothing was judged, if the program's was 0.
pub const NOTHING_JUDGED: u8 = 3;

/// What a device simulated.
#[derive(Clone, Debug, Serialize)]
pub struct CoverageRow {
    /// The device.
    pub device: String,
    /// Number of requests on the device's files.
    pub requests: u64,
    /// What it simulated of the batches.
    #[serde(flatten)]
    pub simulated: Coverage,
}

/// Returns what each device of a session simulated.
pub fn rows(session: &Session) -> Vec<CoverageRow> {
    let rows = session.coverage().into_iter();
    rows.map(|row| CoverageRow { device: row.device, requests: row.requests, simulated: row.simulated })
        .collect()
}

/// Adds the rows of another session with the same devices.
pub(crate) fn add(all: &mut Vec<CoverageRow>, rows: Vec<CoverageRow>) {
    if all.is_empty() {
        *all = rows;
        return;
    }
    for (known, row) in all.iter_mut().zip(rows) {
        known.requests += row.requests;
        known.simulated.add(&row.simulated);
    }
}

/// Returns the sentence that nothing was judged, with the reason; `None` if something was.
pub(crate) fn nothing_judged(rows: &[CoverageRow]) -> Option<String> {
    if rows.iter().any(|row| row.simulated.is_judged()) {
        return None;
    }
    let submissions: u64 = rows.iter().map(|row| row.simulated.submissions).sum();
    let why = match submissions {
        0 => "the program made no submission".to_owned(),
        1 => format!("the accesses of its only submission were not followed: {}", skipped(rows)),
        _ => {
            format!("the accesses of none of its {submissions} submissions were followed: {}", skipped(rows))
        }
    };
    Some(format!("Nothing was judged: {why}."))
}

/// Returns what all devices skipped, in one text.
fn skipped(rows: &[CoverageRow]) -> String {
    let mut all: BTreeMap<(Skipped, &str), u64> = BTreeMap::new();
    for skip in rows.iter().flat_map(CoverageRow::skips) {
        *all.entry((skip.what, skip.why)).or_default() += skip.count;
    }
    let text = |((what, why), count)| Skip { what, why, count }.to_string();
    if all.is_empty() {
        "no command accessed memory".to_owned()
    } else {
        all.into_iter().map(text).collect::<Vec<_>>().join("; ")
    }
}

/// A kind of work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Skipped {
    Draw,
    Dispatch,
    /// Another command, whose name is the reason.
    Command,
    /// The rest of a batch.
    Batch,
}

/// Work that was skipped for a reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Skip<'a> {
    what: Skipped,
    why: &'a str,
    count: u64,
}

impl fmt::Display for Skip<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { what, why, count } = self;
        let what = match (what, count) {
            (Skipped::Draw, 1) => "draw skipped",
            (Skipped::Draw, _) => "draws skipped",
            (Skipped::Dispatch, 1) => "dispatch skipped",
            (Skipped::Dispatch, _) => "dispatches skipped",
            (Skipped::Command, 1) => "command skipped",
            (Skipped::Command, _) => "commands skipped",
            (Skipped::Batch, 1) => "batch not followed to its end",
            (Skipped::Batch, _) => "batches not followed to their ends",
        };
        write!(f, "{count} {what}: {why}")
    }
}

impl CoverageRow {
    /// Returns what the device skipped, by reason.
    pub fn skips(&self) -> Vec<Skip<'_>> {
        let Coverage { draws, dispatches, skipped_commands, unfinished, .. } = &self.simulated;
        let kinds = [
            (Skipped::Draw, &draws.skipped),
            (Skipped::Dispatch, &dispatches.skipped),
            (Skipped::Command, skipped_commands),
            (Skipped::Batch, unfinished),
        ];
        let mut skips = Vec::new();
        for (what, reasons) in kinds {
            skips.extend(reasons.iter().map(|(why, &count)| Skip { what, why, count }));
        }
        skips
    }
}

#[cfg(test)]
mod tests {
    use gem_coherency_sim::Reasons;

    use super::*;

    fn row(simulated: Coverage) -> CoverageRow {
        CoverageRow { device: "sim:glk".to_owned(), requests: 1, simulated }
    }

    #[test]
    fn nothing_is_judged_without_a_submission() {
        let sentence = nothing_judged(&[row(Coverage::default()), row(Coverage::default())]);
        assert_eq!(sentence.as_deref(), Some("Nothing was judged: the program made no submission."));
        let shown = Coverage { display_reads: 1, ..Coverage::default() };
        assert_eq!(nothing_judged(&[row(Coverage::default()), row(shown)]), None);
    }

    #[test]
    fn nothing_is_judged_if_no_submission_is_followed_and_the_reasons_are_named() {
        let reasons = |text: &str, count| Reasons::from([(text.to_owned(), count)]);
        let mut coverage = Coverage { submissions: 2, ..Coverage::default() };
        coverage.draws.skipped = reasons("it depends on a predicate", 3);
        let other = Coverage { submissions: 1, unfinished: reasons("the GPU hangs", 1), ..coverage.clone() };
        assert_eq!(
            nothing_judged(&[row(coverage.clone()), row(other)]).as_deref(),
            Some(
                "Nothing was judged: the accesses of none of its 3 submissions were followed: \
                 6 draws skipped: it depends on a predicate; 1 batch not followed to its end: the GPU hangs."
            )
        );
        coverage.followed_submissions = 1;
        assert_eq!(nothing_judged(&[row(coverage)]), None);
    }
}

//! The verdicts of many platforms on one run.

use std::collections::BTreeMap;

use gem_coherency_sanitizer::{JudgingPlatform, NotAlike};
use serde::Serialize;

use crate::rows::findings::FindingRow;

/// Platforms with the same verdict.
#[derive(Clone, Debug, Serialize)]
pub struct PlatformsRow {
    /// Their names: `glk`, `lnl`; `tgl,driver=xe`, where i915 drives the platform, too, and xe is meant.
    pub platforms: Vec<&'static str>,
    /// The findings that are mistakes there, by their numbers from 1, without those that are suppressed.
    pub findings: Vec<usize>,
    /// Why the kernel refuses requests that the program made; empty if it refuses none. What a rule of caching of xe refuses is a finding.
    pub refused: Vec<String>,
    /// What is not judged there, and why.
    pub not_judged: Vec<String>,
}

/// Returns the verdicts, in the order of the platforms; `not_alike` is what is not the same on a platform.
pub(crate) fn verdicts(
    judges: &[JudgingPlatform],
    not_alike: &BTreeMap<&'static str, NotAlike>,
    findings: &[FindingRow],
) -> Vec<PlatformsRow> {
    let mut rows: Vec<PlatformsRow> = Vec::new();
    for name in judges.iter().map(|platform| platform.name()) {
        let is_wrong =
            |finding: &FindingRow| finding.suppressed.is_none() && finding.platforms.contains(&name);
        let numbered = (1..).zip(findings).filter(|(_, finding)| is_wrong(finding));
        let numbers: Vec<usize> = numbered.map(|(number, _)| number).collect();
        let NotAlike { refused, not_judged } = not_alike.get(name).cloned().unwrap_or_default();
        let new = PlatformsRow { platforms: vec![name], findings: numbers, refused, not_judged };
        let same = |row: &&mut PlatformsRow| {
            (&row.findings, &row.refused, &row.not_judged) == (&new.findings, &new.refused, &new.not_judged)
        };
        match rows.iter_mut().find(same) {
            Some(row) => row.platforms.push(name),
            None => rows.push(new),
        }
    }
    rows
}

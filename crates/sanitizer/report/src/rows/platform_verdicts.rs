//! The verdicts of many platforms on one run.

use std::collections::BTreeMap;

use gem_coherency::platform::Platform;
use serde::Serialize;

use crate::rows::findings::FindingRow;

/// Platforms with the same verdict.
#[derive(Clone, Debug, Serialize)]
pub struct PlatformsRow {
    /// Their names.
    pub platforms: Vec<&'static str>,
    /// The findings that are mistakes there, by their numbers from 1, without those that are suppressed.
    pub findings: Vec<usize>,
    /// Why the kernel refuses requests that the program made; empty if it refuses none.
    pub refused: Vec<&'static str>,
}

/// Returns the verdicts, in the order of the platforms; `refusals` are the kernel's reasons, by platform.
pub(crate) fn verdicts(
    judges: &[&'static Platform],
    refusals: &BTreeMap<&'static str, Vec<&'static str>>,
    findings: &[FindingRow],
) -> Vec<PlatformsRow> {
    let mut rows: Vec<PlatformsRow> = Vec::new();
    for name in judges.iter().map(|platform| platform.name) {
        let is_wrong =
            |finding: &FindingRow| finding.suppressed.is_none() && finding.platforms.contains(&name);
        let numbered = (1..).zip(findings).filter(|(_, finding)| is_wrong(finding));
        let numbers: Vec<usize> = numbered.map(|(number, _)| number).collect();
        let refused = refusals.get(name).cloned().unwrap_or_default();
        match rows.iter_mut().find(|row| (&row.findings, &row.refused) == (&numbers, &refused)) {
            Some(row) => row.platforms.push(name),
            None => rows.push(PlatformsRow { platforms: vec![name], findings: numbers, refused }),
        }
    }
    rows
}

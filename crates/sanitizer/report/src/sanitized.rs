//! The report of a run.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use gem_coherency_sanitizer::{Finding, JudgingPlatform, Sanitizer};
use gem_coherency_server::Session;
use serde::Serialize;

use crate::accepted::baseline::Baseline;
use crate::accepted::suppressions::{self, Suppression};
use crate::collection::{Collection, TestRow};
use crate::history::{self, Picture};
use crate::rows::coverage::{self, CoverageRow, NOTHING_JUDGED};
use crate::rows::disagreements::DisagreementRow;
use crate::rows::domain_changes::DomainRow;
use crate::rows::findings::FindingRow;
use crate::rows::flushes::FlushRow;
use crate::rows::places::Places;
use crate::rows::platform_verdicts::{self, PlatformsRow};

/// The mistakes of a program.
#[derive(Clone, Debug, Serialize)]
pub struct Sanitized {
    /// The devices.
    pub devices: Vec<String>,
    /// The program and its arguments.
    pub program: Vec<String>,
    /// The program's exit status, as a shell has it.
    pub status: u8,
    /// The findings, in the order of their first times.
    pub findings: Vec<FindingRow>,
    /// The places that flushed lines of objects.
    pub flushes: Vec<FlushRow>,
    /// The requests that moved objects between domains.
    pub domain_changes: Vec<DomainRow>,
    /// The picture, if one was asked for.
    pub picture: Option<Picture>,
    /// The suppressions, and what each of them hid.
    pub suppressions: Vec<Suppression>,
    /// How the findings differ from the baseline, if there is one.
    pub baseline: Option<Baseline>,
    /// The tests, if the program is a suite of them.
    pub tests: Vec<TestRow>,
    /// The verdicts of the platforms, if there are several judges.
    pub platforms: Vec<PlatformsRow>,
    /// Number of lines that the GPU wrote, and may have lost: the program may have stored the bytes that were there, and flushed
    /// nothing.
    pub possibly_lost: u64,
    /// Number of flushes and accesses that the judges did not see: more than the logs have room for between two requests.
    pub lost: u64,
    /// Number of rows that the report leaves out: more than it holds.
    pub dropped: u64,
    /// The requests that the kernel of a real device answered otherwise than the software device.
    pub disagreements: Vec<DisagreementRow>,
    /// The sentence that nothing was judged, with the reason; `None` if something was.
    pub nothing_judged: Option<String>,
    /// What the devices simulated of the program's work.
    pub coverage: Vec<CoverageRow>,
}

/// A program that has run.
#[derive(Clone, Debug)]
pub struct Run {
    /// The devices.
    pub devices: Vec<String>,
    /// The program and its arguments.
    pub program: Vec<String>,
    /// Its exit status, as a shell has it.
    pub status: u8,
}

/// A picture that is asked for.
#[derive(Clone, Debug)]
pub struct PictureOf {
    /// Its path.
    pub path: PathBuf,
    /// The number of the finding among those that are not suppressed, from 1.
    pub finding: NonZeroUsize,
}

/// What is known of findings before a run.
#[derive(Clone, Debug, Default)]
pub struct Accepted {
    /// Findings that are accepted, each with a reason.
    pub suppressions: Vec<Suppression>,
    /// Findings that were known before.
    pub baseline: Option<Baseline>,
}

impl Accepted {
    /// Returns whether a finding is suppressed or known.
    pub(crate) fn accepts(&self, finding: &FindingRow) -> bool {
        self.suppressions.iter().any(|line| line.hides(finding))
            || self.baseline.as_ref().is_some_and(|baseline| baseline.has(finding))
    }
}

impl Sanitized {
    /// Returns what was collected of a run, judged by the platforms in `judges`, or if there are none by the devices' own.
    #[must_use]
    pub fn of(
        run: Run,
        collection: Collection,
        judges: &[JudgingPlatform],
        Accepted { mut suppressions, mut baseline }: Accepted,
    ) -> Self {
        let dropped = collection.dropped();
        let Collection {
            findings,
            flushes,
            domain_changes,
            tests,
            coverage,
            not_alike,
            possibly_lost,
            lost,
            ..
        } = collection;
        let (mut findings, mut flushes, mut domain_changes) = (findings.all, flushes.all, domain_changes.all);
        for number in tests.all.iter().flat_map(|test| &test.findings) {
            findings.get_mut(number - 1).into_iter().for_each(|finding| finding.test_count += 1);
        }
        suppressions::apply(&mut suppressions, &mut findings, &mut flushes, &mut domain_changes);
        baseline.iter_mut().for_each(|baseline| baseline.compare(&mut findings));
        // What was found was judged.
        let nothing_judged = if findings.is_empty() { coverage::nothing_judged(&coverage) } else { None };
        let platforms = platform_verdicts::verdicts(judges, &not_alike, &findings);
        let Run { devices, program, status } = run;
        Self {
            devices,
            program,
            status,
            findings,
            flushes,
            domain_changes,
            picture: None,
            suppressions,
            baseline,
            tests: tests.all,
            platforms,
            possibly_lost,
            lost,
            dropped,
            disagreements: Vec::new(),
            nothing_judged,
            coverage,
        }
    }

    /// Adds what only a run with one session has: the requests that a real kernel answered otherwise, and a picture if one is asked for.
    #[must_use]
    pub fn with_session(self, session: &Session, sanitizer: &Sanitizer, picture: Option<PictureOf>) -> Self {
        let found = sanitizer.findings(session);
        let picture = picture.map(|picture| self.draw(sanitizer, &found, picture));
        let disagreements = session.disagreements().iter().map(DisagreementRow::of).collect();
        Self { picture, disagreements, ..self }
    }

    /// Returns the picture of one of the findings, which the rows are of.
    fn draw(&self, sanitizer: &Sanitizer, found: &[Finding], of: PictureOf) -> Picture {
        let PictureOf { path, finding } = of;
        let rows = self.findings.iter().enumerate();
        let shown = rows.filter(|(_, row)| row.suppressed.is_none()).nth(finding.get() - 1);
        let view = shown.and_then(|(at, row)| {
            history::view(&mut Places::new(), found.get(at)?, row, sanitizer.history(at)?)
        });
        Picture { path, finding: finding.get(), written: false, view }
    }

    /// Replaces the baseline, if there is one, by the findings; keeps it if a signal ended the program, or nothing was judged.
    ///
    /// # Errors
    /// As [`Baseline::update`].
    pub fn update_baseline(&mut self) -> Result<(), String> {
        let Some(baseline) = &mut self.baseline else { return Ok(()) };
        baseline.kept = match (self.status, &self.nothing_judged) {
            (129.., _) => Some("a signal ended the program"),
            (_, Some(_)) => Some("nothing was judged"),
            (_, None) => None,
        };
        if baseline.kept.is_some() { Ok(()) } else { baseline.update(&self.findings) }
    }

    /// Returns whether nothing was found, other than flushes that are merely useless, and what is suppressed, known, or in the baseline now.
    #[must_use]
    pub fn is_clean(&self) -> bool {
        let updated = self.baseline.as_ref().is_some_and(|baseline| baseline.updated);
        updated || self.findings.iter().all(FindingRow::is_accepted)
    }

    /// Returns the exit status: the program's, unless there are findings and a status for them, or nothing was judged and that is not
    /// allowed.
    #[must_use]
    pub fn exit_status(&self, for_findings: Option<u8>, allow_nothing_judged: bool) -> u8 {
        match for_findings {
            Some(status) if !self.is_clean() => status,
            _ if self.nothing_judged.is_some() && self.status == 0 && !allow_nothing_judged => NOTHING_JUDGED,
            Some(_) | None => self.status,
        }
    }
}

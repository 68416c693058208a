//! The report of a run.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use gem_coherency::platform::Platform;
use gem_coherency_sanitizer::Sanitizer;
use gem_coherency_server::Server;
use serde::Serialize;

use crate::coverage::{self, CoverageRow, NOTHING_JUDGED};
use crate::disagreements::DisagreementRow;
use crate::domain_changes::{self, DomainRow};
use crate::findings::{FindingRow, Places};
use crate::flushes::{self, FlushRow};
use crate::history::{self, Picture};
use crate::platform_verdicts::{self, PlatformsRow};
use crate::suppressions::{self, Suppression};

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
    /// The verdicts of the platforms, if there are several judges.
    pub platforms: Vec<PlatformsRow>,
    /// Number of lines that the GPU wrote, and may have lost: the program may have stored the bytes that were there, and flushed
    /// nothing.
    pub possibly_lost: u64,
    /// Number of flushes and accesses that the judges did not see: more than the logs have room for between two requests.
    pub lost: u64,
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

impl Sanitized {
    /// Returns what `sanitizer`, the judge of `server`, found in a run: by the platforms in `judges`, or if there are none by the devices'
    /// own.
    #[must_use]
    pub fn of(
        run: Run,
        server: &Server,
        sanitizer: &Sanitizer,
        judges: &[&'static Platform],
        mut suppressions: Vec<Suppression>,
        picture: Option<PictureOf>,
    ) -> Self {
        let by_many = !judges.is_empty();
        let mut places = Places::new();
        let found = sanitizer.findings(server);
        let mut findings: Vec<_> = found.iter().map(|finding| places.finding(finding)).collect();
        let mut flushes = flushes::rows(&mut places, &sanitizer.flush_sites(server), by_many);
        let mut domain_changes = domain_changes::rows(&mut places, &sanitizer.domain_sites(), by_many);
        suppressions::apply(&mut suppressions, &mut findings, &mut flushes, &mut domain_changes);
        let coverage = coverage::rows(server);
        // What was found was judged.
        let nothing_judged = if findings.is_empty() { coverage::nothing_judged(&coverage) } else { None };
        let platforms = platform_verdicts::verdicts(judges, &sanitizer.refusals(server), &findings);
        let picture = picture.map(|PictureOf { path, finding }| {
            let finding = finding.get();
            let shown =
                findings.iter().enumerate().filter(|(_, row)| row.suppressed.is_none()).nth(finding - 1);
            let view = shown.and_then(|(at, row)| {
                history::view(&mut places, found.get(at)?, row, sanitizer.history(at)?)
            });
            Picture { path, finding, written: false, view }
        });
        let Run { devices, program, status } = run;
        Self {
            devices,
            program,
            status,
            findings,
            flushes,
            domain_changes,
            picture,
            suppressions,
            platforms,
            possibly_lost: sanitizer.possibly_lost(),
            lost: sanitizer.lost(),
            disagreements: server.disagreements().iter().map(DisagreementRow::of).collect(),
            nothing_judged,
            coverage,
        }
    }

    /// Returns whether nothing was found, other than flushes that are merely useless, and what is suppressed.
    #[must_use]
    pub fn is_clean(&self) -> bool {
        self.findings.iter().all(|finding| finding.suppressed.is_some())
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

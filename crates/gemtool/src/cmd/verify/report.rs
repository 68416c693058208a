//! What `gemtool verify` found.

use gem_coherency::policy::{Decision, Rule, Verdict};
use gem_coherency::vocabulary::{CacheLevel, CachingMode};
use serde::Serialize;

use super::expect::Chance;
use super::paths::Mocs;
use super::plan::{Cell, Deed, Skip};
use crate::args::Via;
use crate::cmd::device::DeviceLine;
use crate::failure::Failure;

/// A dword that is not what it has to be.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Wrong {
    /// The line.
    pub line: u64,
    /// The byte's offset in the object.
    pub offset: u64,
    /// What was read, as a little-endian dword.
    pub got: u32,
    /// What was to be read.
    pub want: u32,
    /// Whether what was read is what was there before the last write.
    pub is_old: bool,
    /// How many lines were stored to in that round.
    pub lines_stored: u64,
}

/// Whether the reader saw the last value of every byte.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Check {
    /// It did.
    Right,
    /// It did not.
    Wrong(Wrong),
    /// Nobody claims that it does; why.
    NotCovered(&'static str),
}

impl Check {
    /// What was wrong.
    pub fn wrong(&self) -> Option<&Wrong> {
        match self {
            Self::Wrong(wrong) => Some(wrong),
            Self::Right | Self::NotCovered(_) => None,
        }
    }
}

/// What came of accesses that nobody saw to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Bare {
    /// Whether wrong bytes could show.
    pub chance: Chance,
    /// What showed.
    pub shown: Option<Wrong>,
}

/// What kind of measurement it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// The first read of a new object.
    Fresh,
    /// A write over another.
    Overwrite,
    /// A read of what was written.
    HandOver,
}

/// One measurement.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    /// Which kind.
    pub kind: Kind,
    /// The caching mode; none where the device decides.
    pub caching: Option<CachingMode>,
    /// The level that it is.
    pub level: CacheLevel,
    /// Who wrote the old values.
    pub over: Option<Via>,
    /// Who wrote the new ones.
    pub write: Option<Via>,
    /// Who read.
    pub read: Option<Via>,
    /// How the GPU got at the object, where one of the last two names a MOCS entry, or could.
    pub mocs: Option<Mocs>,
    /// What the rules ask for at the last hand-over.
    pub verdict: Verdict,
    /// By which rule.
    pub rule: Rule,
    /// By which rule the kernel does it unasked.
    pub by_kernel: Option<Rule>,
    /// Lines that the library flushed or invalidated for the last hand-over, in all rounds.
    pub lines: u64,
    /// Seen to by the library.
    #[serde(rename = "library")]
    pub with_library: Check,
    /// Seen to by the kernel; none where that was not tried.
    pub kernel: Option<Check>,
    /// Seen to by nobody.
    pub nobody: Bare,
}

impl Row {
    /// What came of `cell`, in which the sampler reads through `sampler`.
    pub fn new(
        (cell, sampler): (&Cell, Mocs),
        decision: Decision,
        by_kernel: Option<Rule>,
        lines: u64,
        with_library: Check,
        kernel: Option<Check>,
        nobody: Bare,
    ) -> Self {
        let (kind, over, write, read) = match cell.deed {
            Deed::HandOver(over, write, read) => (Kind::HandOver, Some(over), Some(write), Some(read)),
            Deed::Overwrite(over, write) => (Kind::Overwrite, Some(over), Some(write), None),
            Deed::Fresh(read) => (Kind::Fresh, None, None, Some(read)),
        };
        let decided: &[Option<Via>] = if kind == Kind::Overwrite { &[over, write] } else { &[write, read] };
        let mocs = match decided {
            _ if read == Some(Via::GpuSampler) => Some(sampler),
            vias if vias.contains(&Some(Via::GpuBlit)) => Some(cell.mocs),
            _ => None,
        };
        Self {
            kind,
            caching: cell.cached.caching,
            level: cell.cached.level,
            over,
            write,
            read,
            mocs,
            verdict: decision.verdict,
            rule: decision.rule,
            by_kernel,
            lines,
            with_library,
            kernel,
            nobody,
        }
    }

    /// Whether everything held.
    pub fn held(&self) -> bool {
        let kernel = self.kernel.as_ref().and_then(Check::wrong);
        self.with_library.wrong().is_none() && kernel.is_none() && self.nobody.held()
    }
}

/// How much of what.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Totals {
    /// Checks that held: by the library, by the kernel, and where nothing is needed.
    pub passed: u64,
    /// Checks that did not.
    pub failed: u64,
    /// What was not measured.
    pub skipped: u64,
    /// Measurements that nobody saw to, where the rules ask for something: the old bytes showed.
    pub stale: u64,
    /// They did not.
    pub not_shown: u64,
}

impl Totals {
    fn add(&mut self, row: &Row) {
        let mut note = |held: bool| {
            let counter = if held { &mut self.passed } else { &mut self.failed };
            *counter += 1;
        };
        note(row.with_library.wrong().is_none());
        match &row.kernel {
            Some(Check::Right) => note(true),
            Some(Check::Wrong(_)) => note(false),
            Some(Check::NotCovered(_)) | None => {}
        }
        match row.nobody.chance {
            Chance::Expected | Chance::Never => note(row.nobody.held()),
            Chance::Possible => {}
        }
        match (row.nobody.chance, &row.nobody.shown) {
            (Chance::Expected | Chance::Possible, Some(_)) => self.stale += 1,
            (Chance::Expected | Chance::Possible, None) => self.not_shown += 1,
            (Chance::Never, _) => {}
        }
    }
}

/// A measurement that the library or the device refused.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Refused {
    /// Which.
    pub what: String,
    /// With what error.
    pub error: String,
}

/// All of it.
#[derive(Clone, Debug, Serialize)]
pub struct VerifyReport {
    /// The device.
    pub device: DeviceLine,
    /// The seed; a string in JSON, because JavaScript's numbers are exact up to 2^53 only.
    #[serde(serialize_with = "as_text")]
    pub seed: u64,
    /// Lines of each object.
    pub lines: u64,
    /// How many of them were stored to, round after round.
    pub counts: Vec<u64>,
    /// Whether everything held.
    pub held: bool,
    /// How much of what.
    pub totals: Totals,
    /// What was not measured, and why.
    pub skipped: Vec<Skip>,
    /// What was refused.
    pub refused: Vec<Refused>,
    /// What was measured.
    pub rows: Vec<Row>,
}

/// Writes a number as text.
fn as_text<S: serde::Serializer>(number: &u64, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(number)
}

impl VerifyReport {
    /// The report about `rows`.
    pub fn new(
        device: DeviceLine,
        (seed, lines, counts): (u64, u64, Vec<u64>),
        skipped: Vec<Skip>,
        refused: Vec<Refused>,
        rows: Vec<Row>,
    ) -> Self {
        let mut totals = Totals { skipped: skipped.len() as u64, ..Totals::default() };
        rows.iter().for_each(|row| totals.add(row));
        let held = totals.failed == 0 && refused.is_empty();
        Self { device, seed, lines, counts, held, totals, skipped, refused, rows }
    }

    /// What the device refused, if nothing worse happened.
    pub fn stopped(&self) -> Option<Failure> {
        let first = self.refused.first().filter(|_| self.totals.failed == 0)?;
        let refused = format!("{}: {}", first.what, first.error);
        let many = self.refused.len();
        Some(Failure::Environment(match many {
            1 => refused,
            many => format!("{many} measurements were refused; the first: {refused}"),
        }))
    }
}

//! The results of `gemtool verify`.

use gem_coherency::policy::{Decision, Rule, Verdict};
use gem_coherency::vocabulary::{CacheLevel, CachingMode};
use serde::Serialize;

use super::expect::Chance;
use super::paths::Mocs;
use super::plan::{Accesses, Cell, Skip};
use crate::args::Via;
use crate::cmd::device::DeviceLine;
use crate::failure::Failure;

/// A dword with a wrong value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Wrong {
    /// The line.
    pub line: u64,
    /// Offset of the dword in the object in bytes.
    pub offset: u64,
    /// The dword that was read, little-endian.
    pub got: u32,
    /// The expected dword.
    pub want: u32,
    /// The read returned the value before the last write.
    pub is_old: bool,
    /// Number of lines stored to in that round.
    pub lines_stored: u64,
}

/// The result of comparing the bytes that were read with the newest values.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Check {
    /// The reader saw the newest value of every byte.
    Right,
    /// The reader saw a wrong value.
    Wrong(Wrong),
    /// The newest values are not guaranteed, with the reason.
    NotCovered(&'static str),
}

impl Check {
    /// Returns the wrong dword.
    pub fn wrong(&self) -> Option<&Wrong> {
        match self {
            Self::Wrong(wrong) => Some(wrong),
            Self::Right | Self::NotCovered(_) => None,
        }
    }
}

/// The result of accesses without flushes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Unflushed {
    /// The predicted visibility of old bytes.
    pub chance: Chance,
    /// The wrong dword that was read, if any.
    pub shown: Option<Wrong>,
}

/// The kind of a measurement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// The first read of a new object.
    Fresh,
    /// A write over another.
    Overwrite,
    /// A read after a write.
    HandOver,
}

/// One measurement.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    /// Its kind.
    pub kind: Kind,
    /// The caching mode; none if the device decides.
    pub caching: Option<CachingMode>,
    /// Its level.
    pub level: CacheLevel,
    /// The path that wrote the old values.
    pub over: Option<Via>,
    /// The path that wrote the new values.
    pub write: Option<Via>,
    /// The path that read.
    pub read: Option<Via>,
    /// The GPU's MOCS setting, if one of the last two paths selects or could select an entry.
    pub mocs: Option<Mocs>,
    /// The rules' verdict on the last hand-over.
    pub verdict: Verdict,
    /// The rule that decides.
    pub rule: Rule,
    /// The rule by which the kernel flushes implicitly.
    pub by_kernel: Option<Rule>,
    /// Lines that the library flushed or invalidated for the last hand-over, in all rounds.
    pub lines: u64,
    /// Result with the library's flushes.
    #[serde(rename = "library")]
    pub with_library: Check,
    /// Result with the kernel's flushes; none if that was not measured.
    pub kernel: Option<Check>,
    /// Result without flushes.
    pub without_flushes: Unflushed,
}

impl Row {
    /// Creates the row of `cell`.
    pub fn new(
        cell: &Cell,
        decision: Decision,
        by_kernel: Option<Rule>,
        lines: u64,
        with_library: Check,
        kernel: Option<Check>,
        without_flushes: Unflushed,
    ) -> Self {
        let (kind, over, write, read) = match cell.accesses {
            Accesses::HandOver(over, write, read) => (Kind::HandOver, Some(over), Some(write), Some(read)),
            Accesses::Overwrite(over, write) => (Kind::Overwrite, Some(over), Some(write), None),
            Accesses::Fresh(read) => (Kind::Fresh, None, None, Some(read)),
        };
        let decided: &[Option<Via>] = if kind == Kind::Overwrite { &[over, write] } else { &[write, read] };
        let selects = |via: &Option<Via>| matches!(via, Some(Via::GpuBlit | Via::GpuShader));
        let mocs = decided.iter().any(selects).then_some(cell.mocs);
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
            without_flushes,
        }
    }

    /// Returns whether the GPU ran a shader.
    pub fn ran_shader(&self) -> bool {
        [self.over, self.write, self.read].contains(&Some(Via::GpuShader))
    }

    /// Returns whether every check passed.
    pub fn passed(&self) -> bool {
        let kernel = self.kernel.as_ref().and_then(Check::wrong);
        self.with_library.wrong().is_none() && kernel.is_none() && self.without_flushes.passed()
    }
}

/// Numbers of results.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Totals {
    /// Checks that passed: with the library's flushes, with the kernel's, and where none is needed.
    pub passed: u64,
    /// Checks that failed.
    pub failed: u64,
    /// Combinations that were not measured.
    pub skipped: u64,
    /// Measurements without the required flushes in which old bytes were visible.
    pub stale: u64,
    /// Measurements without the required flushes in which they were not.
    pub not_shown: u64,
}

impl Totals {
    fn add(&mut self, row: &Row) {
        self.note(row.with_library.wrong().is_none());
        match &row.kernel {
            Some(Check::Right) => self.note(true),
            Some(Check::Wrong(_)) => self.note(false),
            Some(Check::NotCovered(_)) | None => {}
        }
        self.add_unflushed(&row.without_flushes);
    }

    /// Counts a check.
    pub(super) fn note(&mut self, held: bool) {
        let counter = if held { &mut self.passed } else { &mut self.failed };
        *counter += 1;
    }

    /// Counts accesses without flushes.
    pub(super) fn add_unflushed(&mut self, unflushed: &Unflushed) {
        match unflushed.chance {
            Chance::Expected | Chance::Never => self.note(unflushed.passed()),
            Chance::Possible => {}
        }
        match (unflushed.chance, &unflushed.shown) {
            (Chance::Expected | Chance::Possible, Some(_)) => self.stale += 1,
            (Chance::Expected | Chance::Possible, None) => self.not_shown += 1,
            (Chance::Never, _) => {}
        }
    }
}

/// A measurement that the library or the device refused.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Refused {
    /// The measurement.
    pub what: String,
    /// The error.
    pub error: String,
}

/// The report of all measurements.
#[derive(Clone, Debug, Serialize)]
pub struct VerifyReport {
    /// The device.
    pub device: DeviceLine,
    /// The seed; a string in JSON, because JavaScript's numbers are exact up to 2^53 only.
    #[serde(serialize_with = "as_text")]
    pub seed: u64,
    /// Number of lines of each object.
    pub lines: u64,
    /// Number of lines stored to, for each round.
    pub counts: Vec<u64>,
    /// Every check passed.
    pub passed: bool,
    /// Numbers of results.
    pub totals: Totals,
    /// The combinations left out, with reasons.
    pub skipped: Vec<Skip>,
    /// The measurements that were refused.
    pub refused: Vec<Refused>,
    /// A caution about the rows of shaders; none if there are no such rows, or the device is software.
    pub unproven: Option<&'static str>,
    /// The measurements.
    pub rows: Vec<Row>,
}

/// Serializes a number as text.
pub(super) fn as_text<S: serde::Serializer>(number: &u64, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(number)
}

impl VerifyReport {
    /// Creates the report on `rows`.
    pub fn new(
        device: DeviceLine,
        (seed, lines, counts): (u64, u64, Vec<u64>),
        skipped: Vec<Skip>,
        refused: Vec<Refused>,
        unproven: Option<&'static str>,
        rows: Vec<Row>,
    ) -> Self {
        let mut totals = Totals { skipped: skipped.len() as u64, ..Totals::default() };
        rows.iter().for_each(|row| totals.add(row));
        let passed = totals.failed == 0 && refused.is_empty();
        Self { device, seed, lines, counts, passed, totals, skipped, refused, unproven, rows }
    }
}

/// Returns the failure for refused measurements, if no check failed.
pub(super) fn stopped(refused: &[Refused], totals: &Totals) -> Option<Failure> {
    let first = refused.first().filter(|_| totals.failed == 0)?;
    let one = format!("{}: {}", first.what, first.error);
    Some(Failure::Environment(match refused.len() {
        1 => one,
        many => format!("{many} measurements were refused; the first: {one}"),
    }))
}

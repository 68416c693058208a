//! What the judges of one or many sessions found, equal rows merged.

use std::collections::{BTreeMap, HashMap};

use gem_coherency_sanitizer::{NotAlike, Sanitizer};
use gem_coherency_server::{Ended, Session};
use serde::Serialize;

use crate::rows::coverage::{self, CoverageRow};
use crate::rows::domain_changes::{self, DomainRow};
use crate::rows::findings::FindingRow;
use crate::rows::flushes::{self, FlushRow};
use crate::rows::places::{PlaceRow, Places};

/// Frames of a call stack that must be equal for the findings of two tests to be one.
const SAME_FRAMES: usize = 4;

/// Most findings, places of flushes, and places of domain changes that are kept, and most tests.
const MOST_PLACES: usize = 1 << 14;
const MOST_TESTS: usize = 1 << 17;

/// Most tests that a finding names.
const MOST_NAMES: usize = 16;

/// A test of a suite.
#[derive(Clone, Debug, Serialize)]
pub struct TestRow {
    /// Its name, or the command line of its program.
    pub name: String,
    /// How often it ran.
    pub runs: u64,
    /// Number of its programs, without children that executed none.
    pub programs: u64,
    /// Number of those that did not exit: a signal ended them, or the report came first.
    pub unfinished: u64,
    /// The first exit status other than 0; 0 if there is none.
    pub status: i32,
    /// The time that it took.
    pub seconds: f64,
    /// Its findings, by their numbers from 1.
    pub findings: Vec<usize>,
    /// The sentence that nothing was judged, with the reason; `None` if something was.
    pub nothing_judged: Option<String>,
}

/// The findings of sessions.
#[derive(Debug)]
pub struct Collection {
    by_many: bool,
    places: Places,
    pub(crate) findings: Rows<FindingRow>,
    pub(crate) flushes: Rows<FlushRow>,
    pub(crate) domain_changes: Rows<DomainRow>,
    pub(crate) tests: Rows<TestRow>,
    pub(crate) coverage: Vec<CoverageRow>,
    pub(crate) not_alike: BTreeMap<&'static str, NotAlike>,
    pub(crate) possibly_lost: u64,
    pub(crate) lost: u64,
}

/// Different rows, at most so many.
#[derive(Debug)]
pub(crate) struct Rows<T> {
    pub(crate) all: Vec<T>,
    /// The indices, by what makes rows one.
    at: HashMap<String, usize>,
    most: usize,
    /// Number of rows that were one too many.
    pub(crate) dropped: u64,
}

impl<T> Rows<T> {
    fn new(most: usize) -> Self {
        Self { all: Vec::new(), at: HashMap::new(), most, dropped: 0 }
    }

    /// Adds a row, by `merge` to the one with the same text if there is one; returns its index if it is kept.
    fn add(&mut self, same: Option<String>, row: T, merge: impl FnOnce(&mut T, T)) -> Option<usize> {
        let known = same.as_ref().and_then(|same| self.at.get(same).copied());
        if let Some((index, other)) = known.and_then(|index| Some((index, self.all.get_mut(index)?))) {
            merge(other, row);
            return Some(index);
        }
        let index = self.all.len();
        if index == self.most {
            self.dropped += 1;
            return None;
        }
        self.all.push(row);
        self.at.extend(same.map(|same| (same, index)));
        Some(index)
    }
}

impl Collection {
    /// Creates an empty one, of sessions that several platforms judge or not.
    pub fn new(by_many: bool) -> Self {
        Self {
            by_many,
            places: Places::new(),
            findings: Rows::new(MOST_PLACES),
            flushes: Rows::new(MOST_PLACES),
            domain_changes: Rows::new(MOST_PLACES),
            tests: Rows::new(MOST_TESTS),
            coverage: Vec::new(),
            not_alike: BTreeMap::new(),
            possibly_lost: 0,
            lost: 0,
        }
    }

    /// Adds what `sanitizer`, the judge of `session`, found, of a test that ended if it is one's.
    pub fn add(&mut self, session: &Session, sanitizer: &Sanitizer, test: Option<(&str, Ended)>) {
        // The rows of one session are different.
        let same = |identity: &dyn Fn() -> String| test.map(|_| identity());
        let mut numbers = Vec::new();
        for finding in sanitizer.findings(session) {
            let mut row = self.places.finding(&finding);
            row.tests.extend(test.map(|(name, _)| name.to_owned()));
            let index = self.findings.add(same(&|| identity(&row)), row, FindingRow::merge);
            numbers.extend(index.map(|index| index + 1));
        }
        for row in flushes::rows(&mut self.places, &sanitizer.flush_sites(session), self.by_many) {
            let same = same(&|| stack(&row.place, usize::MAX));
            self.flushes.add(same, row, |known, row| known.lines.merge(&row.lines));
        }
        for row in domain_changes::rows(&mut self.places, &sanitizer.domain_sites(), self.by_many) {
            let same = same(&|| format!("{} {}", row.call, stack(&row.place, usize::MAX)));
            self.domain_changes.add(same, row, |known, row| known.requests.merge(&row.requests));
        }
        for (platform, more) in sanitizer.not_alike(session) {
            let known = self.not_alike.entry(platform).or_default();
            known.merge(more);
            known.refused.sort_unstable();
            known.not_judged.sort_unstable();
        }
        self.possibly_lost += sanitizer.possibly_lost();
        self.lost += sanitizer.lost();
        let coverage = coverage::rows(session);
        if let Some((name, ended)) = test {
            self.add_test(name, ended, numbers, coverage::nothing_judged(&coverage));
        }
        coverage::add(&mut self.coverage, coverage);
    }

    fn add_test(&mut self, name: &str, ended: Ended, findings: Vec<usize>, nothing_judged: Option<String>) {
        let Ended { programs, unfinished, status, time } = ended;
        // What was found was judged.
        let nothing_judged = nothing_judged.filter(|_| findings.is_empty());
        let (name, seconds) = (name.to_owned(), time.as_secs_f64());
        let same = Some(name.clone());
        let row = TestRow { name, runs: 1, programs, unfinished, status, seconds, findings, nothing_judged };
        self.tests.add(same, row, TestRow::merge);
    }

    /// Returns the number of rows that were not kept.
    pub(crate) fn dropped(&self) -> u64 {
        self.findings.dropped + self.flushes.dropped + self.domain_changes.dropped + self.tests.dropped
    }
}

impl TestRow {
    /// Adds another run of the test. Something was judged if that was in one of them.
    fn merge(&mut self, other: Self) {
        self.runs += other.runs;
        self.programs += other.programs;
        self.unfinished += other.unfinished;
        self.status = if self.status == 0 { other.status } else { self.status };
        self.seconds += other.seconds;
        self.findings.extend(other.findings);
        self.findings.sort_unstable();
        self.findings.dedup();
        self.nothing_judged =
            self.nothing_judged.take().and(other.nothing_judged).filter(|_| self.findings.is_empty());
    }
}

impl FindingRow {
    /// Adds the same finding of another test.
    fn merge(&mut self, other: Self) {
        self.times += other.times;
        self.halted |= other.halted;
        let room = MOST_NAMES.saturating_sub(self.tests.len());
        let new: Vec<_> =
            other.tests.into_iter().filter(|name| !self.tests.contains(name)).take(room).collect();
        self.tests.extend(new);
    }
}

/// Returns what makes the findings of two tests one: kind, device, level, agent, platforms and places.
fn identity(row: &FindingRow) -> String {
    let stacks = [&row.store, &row.load];
    let mut text = format!("{} {} {} {:?} {:?}", row.kind, row.device, row.level, row.agent, row.platforms);
    for places in stacks {
        text += &stack(places, SAME_FRAMES);
        text.push('/');
    }
    if stacks.iter().all(|places| places.is_empty()) {
        text += &format!("{} {}", stack(&row.request, SAME_FRAMES), row.key);
    }
    text
}

/// Returns the first places of a call stack, by line of the source, or else by address.
fn stack(places: &[PlaceRow], most: usize) -> String {
    let mut text = String::new();
    for place in places.iter().take(most) {
        text += &match (&place.file, place.line) {
            (Some(file), Some(line)) => {
                format!("{file}:{line} {} ", place.function.as_deref().unwrap_or_default())
            }
            _ => format!("{}+{:#x} ", place.module, place.address),
        };
    }
    text
}

//! The flushes of a program, by place, and the verdicts on them.

use std::path::Path as FilePath;

use gem_coherency_sanitizer::{Counts, FlushSite, Need};
use serde::Serialize;

use crate::rows::places::{PlaceRow, Places};

/// The kind of a flush that was not needed.
pub const USELESS_FLUSH: &str = "useless flush";

/// Numbers of lines or requests by verdict, and the verdict on all of them.
#[derive(Clone, Debug, Serialize)]
pub struct VerdictRow {
    /// Those without which a later access of the run would have read old bytes, or newer ones would have been lost. With several
    /// judges, the numbers are those of the first platform.
    pub needed: u64,
    /// Those for an agent that has not accessed the object yet, or whose accesses were not simulated.
    pub precautionary: u64,
    /// Those for which the rules exclude that an agent misses anything.
    pub unneeded: u64,
    /// The greatest one: `needed`, `precautionary`, or `useless`. With several judges, that of all platforms.
    pub verdict: &'static str,
    /// The last one is `useless`.
    pub useless: bool,
    /// The platforms on which one was needed, with several judges; `None` otherwise.
    pub needed_on: Option<Vec<&'static str>>,
    /// The other platforms on which one was precautionary, with several judges; `None` otherwise.
    pub precautionary_on: Option<Vec<&'static str>>,
    /// Why a useless one is accepted; `None` if it is not suppressed.
    pub suppressed: Option<String>,
}

/// The flushes of one place.
#[derive(Clone, Debug, Serialize)]
pub struct FlushRow {
    /// The call stack: the function that the instruction was inlined from, those around it, and their callers.
    pub place: Vec<PlaceRow>,
    /// Lines by verdict.
    #[serde(flatten)]
    pub lines: VerdictRow,
}

impl VerdictRow {
    /// Returns the row of counts, `judged` by several platforms.
    pub(crate) fn new(
        counts: Counts,
        judged: bool,
        needed_on: &[&'static str],
        precautionary_on: &[&'static str],
    ) -> Self {
        let Counts { needed, precautionary, useless } = counts;
        let worst = match (judged, needed_on, precautionary_on) {
            (false, _, _) => counts.worst().unwrap_or(Need::Useless),
            (true, [], []) => Need::Useless,
            (true, [], _) => Need::Precautionary,
            (true, _, _) => Need::Needed,
        };
        Self {
            needed,
            precautionary,
            unneeded: useless,
            verdict: match worst {
                Need::Needed => "needed",
                Need::Precautionary => "precautionary",
                Need::Useless => "useless",
            },
            useless: worst == Need::Useless,
            needed_on: judged.then(|| needed_on.to_vec()),
            precautionary_on: judged.then(|| precautionary_on.to_vec()),
            suppressed: None,
        }
    }

    /// Adds those of another session.
    pub(crate) fn merge(&mut self, other: &Self) {
        let counts = Counts {
            needed: self.needed + other.needed,
            precautionary: self.precautionary + other.precautionary,
            useless: self.unneeded + other.unneeded,
        };
        let union = |one: &Option<Vec<&'static str>>, other: &Option<Vec<&'static str>>| {
            let mut all: Vec<_> = one.iter().chain(other).flatten().copied().collect();
            all.sort_unstable();
            all.dedup();
            all
        };
        let needed_on = union(&self.needed_on, &other.needed_on);
        let mut precautionary_on = union(&self.precautionary_on, &other.precautionary_on);
        precautionary_on.retain(|name| !needed_on.contains(name));
        *self = Self::new(counts, self.needed_on.is_some(), &needed_on, &precautionary_on);
    }

    /// Returns whether it is useless, and not accepted.
    pub fn is_reported(&self) -> bool {
        self.useless && self.suppressed.is_none()
    }

    /// Returns the number of all.
    pub fn all(&self) -> u64 {
        self.needed + self.precautionary + self.unneeded
    }
}

/// Returns the rows of the places that flushed lines of objects, `judged` by several platforms; those of the same lines of the source are
/// one row.
pub(crate) fn rows(places: &mut Places, sites: &[FlushSite], judged: bool) -> Vec<FlushRow> {
    // A compiler unrolls loops, and inlines a function several times in one line.
    let mut merged: Vec<(Vec<PlaceRow>, FlushSite)> = Vec::new();
    for site in sites {
        let place = places.stack(&site.stack, false);
        match merged.iter_mut().find(|(known, _)| is_same_line(known, &place)) {
            Some((_, known)) => known.merge(site),
            None => merged.push((place, site.clone())),
        }
    }
    let row = |(place, site): (Vec<PlaceRow>, FlushSite)| {
        let FlushSite { lines, needed_on, precautionary_on, .. } = site;
        FlushRow { place, lines: VerdictRow::new(lines, judged, &needed_on, &precautionary_on) }
    };
    merged.into_iter().map(row).collect()
}

/// Returns whether two call stacks are of the same lines of the source.
fn is_same_line(one: &[PlaceRow], other: &[PlaceRow]) -> bool {
    one.len() == other.len() && one.iter().zip(other).all(|(one, other)| is_same_place(one, other))
}

/// Returns whether two places are of the same line of the source; without one, of the same address.
fn is_same_place(one: &PlaceRow, other: &PlaceRow) -> bool {
    let of_source = |place: &PlaceRow| Some((place.file.clone()?, place.line?, place.function.clone()));
    match (of_source(one), of_source(other)) {
        (None, None) => {
            (FilePath::new(&one.module), one.address) == (FilePath::new(&other.module), other.address)
        }
        (one, other) => one == other,
    }
}

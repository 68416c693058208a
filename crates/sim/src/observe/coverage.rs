//! What a device simulated of the batches of programs, and what it skipped and why.

use std::collections::BTreeMap;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use gem_coherency::sync::Mutex;
use serde::Serialize;

/// Number of different reasons that are kept of each kind; programs choose some of their text.
const KEPT: usize = 64;
/// The reason that counts those for which there was no room.
const OTHERS: &str = "other reasons";
/// The reason of batches that are stalled, wait, or were cancelled with their device.
const STILL_RUNS: &str = "they had not ended when their device was closed, or when this was counted";

/// What a device simulated of the batches of programs. Each number is of the time since the device was created.
///
/// A command's accesses are followed if they were made: by the rules of the platform, so that the caches are judged by
/// them. Where they are not, the trace has [`TraceEvent::Unfollowed`](crate::TraceEvent::Unfollowed).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Coverage {
    /// Accepted submissions, each of one batch.
    pub submissions: u64,
    /// Submissions whose accesses were followed: those of at least one draw, dispatch, fill or copy, the surfaces of a
    /// dispatch, or, if nothing was skipped, those of the command streamer. A batch without an access does not count.
    pub followed_submissions: u64,
    /// Commands that the command streamers executed, other than MI_NOOP.
    pub commands: u64,
    /// Fills and copies that were executed.
    pub copies: u64,
    /// Draws. The accesses of the fixed functions of the followed ones were judged: vertices, indices, and the state of
    /// surfaces. Shaders of draws are never executed. Draws of nothing do not count.
    pub draws: Work,
    /// Dispatches. The shaders of the followed ones were executed. Dispatches of nothing do not count.
    pub dispatches: Work,
    /// Skipped dispatches of which the binding table was read, and the surfaces were judged as those of a draw.
    pub judged_surfaces: u64,
    /// Other commands that may access memory and were skipped: their number by name.
    pub skipped_commands: Reasons,
    /// Batches that were not followed to their end, by the reason.
    pub unfinished: Reasons,
    /// Reads of pictures by the display engine.
    pub display_reads: u64,
    /// PREAD and PWRITE requests that reached an object's bytes.
    pub transfers: u64,
}

/// Numbers by reason.
pub type Reasons = BTreeMap<String, u64>;

/// Commands of a kind.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Work {
    /// Number of commands that were followed.
    pub followed: u64,
    /// Number of commands that were skipped, by the reason.
    pub skipped: Reasons,
}

impl Coverage {
    /// Returns whether an access by a batch, by the display engine or by the kernel for a program was judged.
    pub fn is_judged(&self) -> bool {
        self.followed_submissions > 0 || self.display_reads > 0 || self.transfers > 0
    }

    /// Adds what another device simulated.
    pub fn add(&mut self, other: &Self) {
        let counts = [
            (&mut self.submissions, other.submissions),
            (&mut self.followed_submissions, other.followed_submissions),
            (&mut self.commands, other.commands),
            (&mut self.copies, other.copies),
            (&mut self.judged_surfaces, other.judged_surfaces),
            (&mut self.display_reads, other.display_reads),
            (&mut self.transfers, other.transfers),
        ];
        counts.into_iter().for_each(|(count, more)| *count += more);
        self.draws.add(&other.draws);
        self.dispatches.add(&other.dispatches);
        add_reasons(&mut self.skipped_commands, &other.skipped_commands);
        add_reasons(&mut self.unfinished, &other.unfinished);
    }
}

/// Adds numbers by reason.
fn add_reasons(reasons: &mut Reasons, others: &Reasons) {
    for (reason, count) in others {
        *reasons.entry(reason.clone()).or_default() += count;
    }
}

impl Work {
    fn add(&mut self, other: &Self) {
        self.followed += other.followed;
        add_reasons(&mut self.skipped, &other.skipped);
    }

    /// Returns the number of commands that were skipped.
    pub fn all_skipped(&self) -> u64 {
        self.skipped.values().sum()
    }
}

/// The kinds of commands that start work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Draw,
    Dispatch,
    /// A fill or a copy.
    Copy,
    /// The surfaces of a dispatch that is skipped.
    Surfaces,
    /// Another command, which is not simulated, by name.
    Other(&'static str),
}

/// The counts of a device.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    counts: Mutex<Coverage>,
    /// Submissions that have ended.
    ended: AtomicU64,
}

/// What was followed of a batch so far.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    /// Commands since they were last added to the counts.
    pub(crate) commands: AtomicU64,
    followed: AtomicBool,
    /// The command streamer accessed memory, other than to fetch commands.
    streamed: AtomicBool,
    missed: AtomicBool,
    /// Why the rest of it is not followed.
    astray: OnceLock<&'static str>,
}

impl Tally {
    /// Takes note of accesses that are not followed; returns whether they are the batch's first.
    pub(crate) fn miss(&self) -> bool {
        // Relaxed: a batch is run by one thread at a time, under a lock.
        !self.missed.swap(true, Ordering::Relaxed)
    }

    /// Takes note of work whose accesses were followed.
    pub(crate) fn follow(&self) {
        // Relaxed: see `miss`.
        self.followed.store(true, Ordering::Relaxed);
    }

    /// Takes note of an access by the command streamer.
    pub(crate) fn stream(&self) {
        // Relaxed: see `miss`.
        self.streamed.store(true, Ordering::Relaxed);
    }

    /// Takes note that the hardware may execute other commands from here on.
    pub(crate) fn stray(&self, why: &'static str) {
        // The first reason counts.
        let _ = self.astray.set(why);
    }
}

impl Counts {
    /// Returns the numbers so far.
    pub(crate) fn so_far(&self) -> Coverage {
        // Relaxed: a statistic. Read first: what ends afterwards counts as running.
        let ended = self.ended.load(Ordering::Relaxed);
        let mut coverage = self.counts.lock().clone();
        let running = coverage.submissions.saturating_sub(ended);
        if running > 0 {
            coverage.unfinished.insert(STILL_RUNS.to_owned(), running);
        }
        coverage
    }

    /// Counts a submission of a batch.
    pub(crate) fn submitted(&self) {
        self.counts.lock().submissions += 1;
    }

    /// Adds the commands that a batch executed.
    pub(crate) fn ran(&self, tally: &Tally) {
        // Relaxed: see `Tally::miss`.
        self.counts.lock().commands += tally.commands.swap(0, Ordering::Relaxed);
    }

    /// Counts the end of a batch, which was not followed further for the reason `unfinished`.
    pub(crate) fn ended(&self, tally: &Tally, unfinished: Option<&str>) {
        // Relaxed: see `Tally::miss`.
        let [followed, streamed, missed] =
            [&tally.followed, &tally.streamed, &tally.missed].map(|flag| flag.load(Ordering::Relaxed));
        let mut counts = self.counts.lock();
        if followed || streamed && !missed {
            counts.followed_submissions += 1;
        }
        if let Some(why) = unfinished.or(tally.astray.get().copied()) {
            count(&mut counts.unfinished, why);
        }
        drop(counts);
        // Relaxed: a statistic.
        self.ended.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts work that was followed.
    pub(crate) fn followed(&self, kind: Kind) {
        let mut counts = self.counts.lock();
        match kind {
            Kind::Draw => counts.draws.followed += 1,
            Kind::Dispatch => counts.dispatches.followed += 1,
            Kind::Copy => counts.copies += 1,
            Kind::Surfaces => counts.judged_surfaces += 1,
            Kind::Other(_) => {}
        }
    }

    /// Counts work that was skipped for a reason.
    pub(crate) fn skipped(&self, kind: Kind, why: &str) {
        let mut counts = self.counts.lock();
        match kind {
            Kind::Draw => count(&mut counts.draws.skipped, why),
            Kind::Dispatch => count(&mut counts.dispatches.skipped, why),
            Kind::Copy | Kind::Surfaces => count(&mut counts.skipped_commands, why),
            Kind::Other(name) => count(&mut counts.skipped_commands, name),
        }
    }

    /// Counts a read of a picture by the display engine.
    pub(crate) fn displayed(&self) {
        self.counts.lock().display_reads += 1;
    }

    /// Counts a PREAD or a PWRITE.
    pub(crate) fn transferred(&self) {
        self.counts.lock().transfers += 1;
    }
}

/// Counts a reason.
fn count(reasons: &mut Reasons, why: &str) {
    let why = if reasons.len() < KEPT || reasons.contains_key(why) { why } else { OTHERS };
    *reasons.entry(why.to_owned()).or_default() += 1;
}

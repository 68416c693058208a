//! The mistakes of programs: accesses that miss newer bytes, by the place in the program that stored them.

use std::collections::BTreeMap;
use std::fmt;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, MutexGuard, Weak};

use gem_coherency::sync::Mutex;
use gem_coherency::units::LineRange;
use gem_coherency::vocabulary::{CacheLevel, Handle};
use gem_coherency::xe::CpuCaching;
use gem_coherency_memory_model::{Mistake, Route};
use gem_coherency_protocol::{Frame, MOST_SITES, SITE_BYTES, SiteCounts};
use gem_coherency_server::RecordWriters;
use gem_coherency_sim::RefusedRequest;

use crate::domain_calls::DomainSites;
use crate::history::{Histories, History};
use crate::records::stores::Stores;
use crate::stale::StaleObjects;

/// Frames of a call stack that must be equal for two findings to be one.
const SAME_FRAMES: usize = 4;

/// Something that a program did wrong, once or several times.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// Its kind.
    pub kind: Mistake,
    /// The device, as the server opened it.
    pub device: String,
    /// The object's number on the device, its first handle, and its size in bytes, at the first time.
    pub object: u64,
    /// See [`Self::object`].
    pub handle: Option<Handle>,
    /// See [`Self::object`].
    pub size: u64,
    /// The object's level.
    pub level: CacheLevel,
    /// How the CPU maps the object, under xe, if that is known.
    pub caching: Option<CpuCaching>,
    /// The request of [`Mistake::RefusedRequest`]; `None` otherwise.
    pub refused: Option<RefusedRequest>,
    /// The route of the access; `None` for [`Mistake::DirtyAtSubmission`].
    pub route: Option<Route>,
    /// The route of the write of which [`Mistake::MissingInvalidate`] missed the bytes; `None` otherwise.
    pub writer: Option<Route>,
    /// The lines at the first time.
    pub lines: Vec<LineRange>,
    /// The call stack of the first store to the first line's page; empty if it is not known.
    pub store: Vec<Frame>,
    /// The call stack of the load of [`Mistake::MissingInvalidate`]; empty otherwise.
    pub load: Vec<Frame>,
    /// The call stack of the request that showed it; for a load, of the one that showed the agent's write.
    pub request: Vec<Frame>,
    /// The last flushes of the object, at the first time.
    pub flushes: Vec<RecentFlush>,
    /// How often it happened.
    pub times: u64,
    /// The platforms on which it is a mistake, if the run is judged by several; otherwise empty.
    pub platforms: Vec<&'static str>,
    /// The program was halted there.
    pub halted: bool,
}

impl Finding {
    /// Returns a finding on an object's lines that happened once, without places, routes or platforms.
    pub(crate) fn new(
        kind: Mistake,
        device: &str,
        (object, handle, size): (u64, Option<Handle>, u64),
        level: CacheLevel,
        lines: Vec<LineRange>,
    ) -> Self {
        Self {
            kind,
            device: device.to_owned(),
            object,
            handle,
            size,
            level,
            caching: None,
            refused: None,
            route: None,
            writer: None,
            lines,
            store: Vec::new(),
            load: Vec::new(),
            request: Vec::new(),
            flushes: Vec::new(),
            times: 1,
            platforms: Vec::new(),
            halted: false,
        }
    }
}

/// Is told of findings when they happen.
pub trait Listener: fmt::Debug + Send + Sync {
    /// Hears of a finding that no other one equals, during the request that shows it; returns whether the program is to be halted there.
    fn hear(&self, finding: &Finding) -> bool;
}

/// Lines of an object that a place flushed lately.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecentFlush {
    /// The call stack: the instruction, then return addresses.
    pub stack: Vec<Frame>,
    /// The lines.
    pub lines: Vec<LineRange>,
}

/// The places that programs' flushes have.
#[derive(Debug, Default)]
struct Records {
    /// The files of programs.
    open: Vec<(Arc<File>, Weak<RecordWriters>)>,
    /// The places of programs that have ended, in objects that exist.
    ended: Vec<SiteCounts>,
}

/// Findings whose objects' histories are kept: the first ones.
const MOST_HISTORIES: usize = 64;

/// The findings of a server, and the domain changes.
#[derive(Debug, Default)]
pub(crate) struct Findings {
    found: Mutex<Vec<Finding>>,
    /// Number of findings that were told to a listener.
    heard: AtomicUsize,
    /// The histories of the first findings' objects, in the order of the findings.
    told: Mutex<Vec<Option<History>>>,
    /// The histories of all objects, if they are recorded.
    pub(crate) histories: Option<Histories>,
    /// The domain changes.
    pub(crate) domains: DomainSites,
    records: Mutex<Records>,
    /// The first stores of programs to pages.
    pub(crate) stores: Stores,
    /// The lines that programs must not load.
    pub(crate) stale: StaleObjects,
    /// What the screens had dirty when a program was about to end.
    dirty_screens: Mutex<Vec<Finding>>,
}

impl Findings {
    /// Creates the findings of a server; with `history`, the histories of objects are recorded.
    pub(crate) fn new(history: bool) -> Self {
        Self { histories: history.then(Histories::default), ..Self::default() }
    }

    /// Adds a finding, to an equal one if there is one; to a new one, the last flushes of its object, which programs may have mapped by
    /// another number, and the history that `history` finds. Returns the index of a new one.
    pub(crate) fn add(
        &self,
        finding: Finding,
        exported_as: Option<u64>,
        history: impl FnOnce(&Histories) -> Option<History>,
    ) -> Option<usize> {
        let mut found = self.found.lock();
        match found.iter_mut().find(|other| is_same(other, &finding)) {
            Some(other) => {
                other.times += finding.times;
                None
            }
            None => {
                let mut told = self.told.lock();
                if told.len() < MOST_HISTORIES {
                    told.push(self.histories.as_ref().and_then(history));
                }
                found.push(Finding {
                    flushes: self.flushes_of([Some(finding.object), exported_as]),
                    ..finding
                });
                Some(found.len() - 1)
            }
        }
    }

    /// Locks what the screens had dirty when a program was about to end.
    pub(crate) fn dirty_screens(&self) -> MutexGuard<'_, Vec<Finding>> {
        self.dirty_screens.lock()
    }

    /// Adds lines to the finding with an index, and to the wrong access of its history.
    pub(crate) fn extend(&self, index: usize, lines: LineRange) {
        if let Some(finding) = self.found.lock().get_mut(index) {
            lines.push_to(&mut finding.lines);
        }
        if let Some(Some(history)) = self.told.lock().get_mut(index)
            && let Some(wrong) = history.steps.last_mut()
        {
            lines.push_to(&mut wrong.lines);
        }
    }

    /// Returns the history of a finding's object before its first time, if it is kept.
    pub(crate) fn history(&self, finding: usize) -> Option<History> {
        self.told.lock().get(finding).cloned().flatten()
    }

    /// Returns the last flushes of an object that may have two numbers, by place.
    fn flushes_of(&self, objects: [Option<u64>; 2]) -> Vec<RecentFlush> {
        let mut flushes = BTreeMap::<Vec<Frame>, Vec<LineRange>>::new();
        for site in self.records().into_iter().filter(|site| !site.runs.is_empty()) {
            let runs =
                site.runs.iter().filter(|run| objects.contains(&Some(run.object)) && run.first < run.end);
            let lines: Vec<_> = runs.map(|run| LineRange::new(run.first, run.end)).collect();
            if !lines.is_empty() {
                flushes.entry(site.stack).or_default().extend(lines);
            }
        }
        let flush = |(stack, mut lines): (Vec<Frame>, Vec<LineRange>)| {
            lines.sort_unstable_by_key(|lines| (lines.first(), lines.end()));
            lines.dedup();
            RecentFlush { stack, lines }
        };
        flushes.into_iter().map(flush).collect()
    }

    /// Returns the records of all programs.
    fn records(&self) -> Vec<SiteCounts> {
        let Records { open, ended } = &*self.records.lock();
        open.iter().flat_map(|(file, _)| records_in(file)).chain(ended.iter().cloned()).collect()
    }

    /// Tells the findings since the last call to `listener`; returns whether it halts the program at one of them.
    pub(crate) fn tell(&self, listener: &dyn Listener) -> bool {
        let (first, untold) = {
            let found = self.found.lock();
            // Relaxed: only changed under the lock.
            let first = self.heard.swap(found.len(), Ordering::Relaxed);
            (first, found.get(first..).unwrap_or_default().to_vec())
        };
        let mut halts = false;
        for (index, finding) in (first..).zip(&untold) {
            if listener.hear(finding) {
                halts = true;
                self.found.lock().get_mut(index).into_iter().for_each(|finding| finding.halted = true);
            }
        }
        halts
    }

    /// Returns the findings, in the order of their first times.
    pub(crate) fn all(&self) -> Vec<Finding> {
        self.found.lock().clone()
    }

    /// Adds the places of a program's processes. The files of those that have ended are closed; of their places, those stay that have
    /// flushed objects for which `exists` holds.
    pub(crate) fn add_records(
        &self,
        file: Arc<File>,
        writers: &Arc<RecordWriters>,
        exists: impl Fn(u64) -> bool,
    ) {
        if let Some(histories) = &self.histories {
            histories.add_log(Arc::clone(&file), writers);
        }
        let Records { open, ended } = &mut *self.records.lock();
        for (file, _) in open.extract_if(.., |(_, writers)| writers.strong_count() == 0) {
            ended.extend(records_in(&file));
        }
        ended.retain(|site| site.runs.iter().any(|run| exists(run.object)));
        open.push((file, Arc::downgrade(writers)));
    }
}

/// Reads a program's records; none if it made the file shorter.
fn records_in(file: &File) -> Vec<SiteCounts> {
    let mut bytes = vec![0; MOST_SITES * SITE_BYTES];
    if file.read_exact_at(&mut bytes, 0).is_err() {
        return Vec::new();
    }
    bytes.as_chunks().0.iter().filter_map(SiteCounts::from_bytes).collect()
}

/// Returns whether two findings are the same mistake: of one kind, by one place of the program.
///
/// Without a place, it is the object that must be the same.
fn is_same(one: &Finding, other: &Finding) -> bool {
    let top = |frames: &[Frame]| frames.iter().take(SAME_FRAMES).cloned().collect::<Vec<_>>();
    if let (Some(refused), Some(other_refused)) = (one.refused, other.refused) {
        let what = |refused: RefusedRequest| (refused.request, refused.rule);
        return (what(refused), &one.device) == (what(other_refused), &other.device)
            && one.platforms == other.platforms
            && top(&one.request) == top(&other.request);
    }
    (one.kind, &one.device, one.level, one.route) == (other.kind, &other.device, other.level, other.route)
        && one.platforms == other.platforms
        && top(&one.store) == top(&other.store)
        && top(&one.load) == top(&other.load)
        && (!one.store.is_empty() || !one.load.is_empty() || one.object == other.object)
}

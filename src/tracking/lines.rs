//! A set of an object's cache lines, shared by threads.

use std::fmt;
use std::ops::Range;

use super::summary::Summary;
use crate::error::{Error, Result};
use crate::sync::{AtomicU64, Ordering, peek, zeroed_words};
use crate::units::{LINE_BYTES, LineRange, PAGE_BYTES, PAGE_LINES, PageLines};

/// A bit for each cache line of an object; one word covers one page.
///
/// An object has two maps: its dirty lines and its stale lines. A map takes 1/512 of the object's size; a
/// large one has a summary that takes 1/32768 more. The kernel allocates a page of a large map when a line in
/// it is first marked.
pub struct LineMap {
    pages: Box<[AtomicU64]>,
    /// The words that may have bits; `None` where checking all words is as fast.
    summary: Option<Summary>,
    size_bytes: u64,
    lines: u64,
}

/// Largest number of words of a map without a summary: one cache line of them.
const FEW_PAGES: usize = 8;

/// Returns the bits of `lines` in the word of page `page`, which contains at least one of them.
fn page_mask(page: u64, lines: LineRange) -> u64 {
    let first = lines.first().saturating_sub(page * PAGE_LINES);
    let end = (lines.end() - page * PAGE_LINES).min(PAGE_LINES);
    (u64::MAX >> (PAGE_LINES - (end - first))) << first
}

impl LineMap {
    /// Creates the empty map of an object of `size_bytes` bytes.
    ///
    /// # Errors
    /// [`Error::NoMemory`] if the map cannot be allocated.
    pub fn new(size_bytes: u64) -> Result<Self> {
        let too_large = || Error::NoMemory {
            what: "a line map",
            bytes: size_bytes / (PAGE_BYTES / size_of::<u64>() as u64),
        };
        let count = usize::try_from(size_bytes.div_ceil(PAGE_BYTES)).map_err(|_| too_large())?;
        let pages = zeroed_words(count).ok_or_else(too_large)?;
        let summary = match count {
            0..=FEW_PAGES => None,
            _ => Some(Summary::new(count).ok_or_else(too_large)?),
        };
        Ok(Self { pages, summary, size_bytes, lines: size_bytes.div_ceil(LINE_BYTES) })
    }

    /// Returns the range of all lines of the object.
    pub fn all(&self) -> LineRange {
        LineRange::new(0, self.lines)
    }

    /// Checks that `lines` does not exceed the object.
    pub(super) fn check(&self, lines: LineRange) -> Result<()> {
        if lines.end() <= self.lines {
            return Ok(());
        }
        Err(Error::RangeOutOfBounds {
            offset: lines.first().saturating_mul(LINE_BYTES),
            len: lines.count().saturating_mul(LINE_BYTES),
            size: self.size_bytes,
        })
    }

    /// Returns the object's pages that `lines` covers.
    fn pages(&self, lines: LineRange) -> Range<u64> {
        let end = lines.end().min(self.lines);
        if lines.first() >= end { 0..0 } else { lines.first() / PAGE_LINES..end.div_ceil(PAGE_LINES) }
    }

    /// Returns the words of `lines`, each with its page and the mask of `lines` in it; lines outside the
    /// object are skipped.
    fn words(&self, lines: LineRange) -> impl Iterator<Item = (u64, &AtomicU64, u64)> {
        let pages = self.pages(lines);
        let lines = LineRange::new(lines.first(), lines.end().min(self.lines));
        let words = self.pages.get(pages.start as usize..pages.end as usize).unwrap_or_default();
        (pages.start..).zip(words).map(move |(page, word)| (page, word, page_mask(page, lines)))
    }

    /// Marks `lines`.
    ///
    /// Mark a dirty line only after the store: a mark made earlier may be taken, and the line flushed, before
    /// the data is there.
    ///
    /// # Errors
    /// [`Error::RangeOutOfBounds`] if `lines` exceeds the object; then no line is marked.
    pub fn mark(&self, lines: LineRange) -> Result<()> {
        self.check(lines)?;
        self.add(lines);
        Ok(())
    }

    /// Marks every line of the object.
    pub fn mark_all(&self) {
        self.add(self.all());
    }

    fn add(&self, lines: LineRange) {
        let page = lines.first() / PAGE_LINES;
        // Most stores are to one page, which needs only one word.
        let is_one_page = !lines.is_empty() && lines.end() <= (page + 1) * PAGE_LINES;
        if let Some(word) = self.pages.get(page as usize).filter(|_| is_one_page) {
            // Release pairs with the Acquire of `take`: a thread that finds the bit sees the store. SeqCst,
            // which the summary requires (`Summary::note`), includes Release.
            word.fetch_or(page_mask(page, lines), Ordering::SeqCst);
            if let Some(summary) = &self.summary {
                summary.note_page(page);
            }
            return;
        }
        for (_, word, mask) in self.words(lines) {
            // A read-modify-write for whole pages, too: a plain store would end the release sequence of
            // another thread's mark, and with it that thread's guarantee.
            word.fetch_or(mask, Ordering::SeqCst);
        }
        if let Some(summary) = &self.summary {
            summary.note(self.pages(lines));
        }
    }

    /// Removes the marks of `lines` and passes the marked lines to `visit`, page by page in order; returns
    /// how many there were.
    ///
    /// A line marked concurrently is either passed to `visit` or stays marked, never lost. Between this call
    /// and the end of the flush, nothing records that the lines are not in memory yet: use
    /// [`super::InFlightFlush::take_dirty`] and [`super::InFlightFlush::take_stale`], which do. Lines outside the object
    /// are never marked.
    pub fn take_pages(&self, lines: LineRange, mut visit: impl FnMut(PageLines)) -> u64 {
        if self.is_swept() {
            return 0;
        }
        self.words(lines).map(|word| take_word(word, &mut visit)).sum()
    }

    /// [`LineMap::take_pages`] for an in-flight flush, which can skip pages that the summary excludes: no
    /// other flush sweeps while this one is open.
    pub(super) fn take_pages_in_flight(&self, lines: LineRange, mut visit: impl FnMut(PageLines)) -> u64 {
        let Some(summary) = &self.summary else { return self.take_pages(lines, visit) };
        let mut taken = 0;
        for run in summary.pages(self.pages(lines)) {
            let words = self.pages.get(run.start as usize..run.end as usize).unwrap_or_default();
            for (page, word) in run.zip(words) {
                taken += take_word((page, word, page_mask(page, lines)), &mut visit);
            }
        }
        taken
    }

    /// [`LineMap::take_pages`], by the longest possible runs.
    pub fn take(&self, lines: LineRange, visit: impl FnMut(LineRange)) -> u64 {
        by_runs(visit, |visit| self.take_pages(lines, visit))
    }

    /// [`LineMap::take_pages_in_flight`], by the longest possible runs.
    pub(super) fn take_in_flight(&self, lines: LineRange, visit: impl FnMut(LineRange)) -> u64 {
        by_runs(visit, |visit| self.take_pages_in_flight(lines, visit))
    }

    /// Removes pages without marks from the summary.
    ///
    /// Call it only while no flush is open and none can begin.
    pub(super) fn sweep(&self) {
        if let Some(summary) = &self.summary {
            summary.sweep(|page| {
                // SeqCst: `Summary::sweep` requires it.
                self.pages.get(page as usize).is_some_and(|word| word.load(Ordering::SeqCst) != 0)
            });
        }
    }

    /// Returns whether a line of `lines` is marked; lines that are being flushed do not count as marked.
    pub fn any(&self, lines: LineRange) -> bool {
        // Acquire: a thread that finds a mark taken sees what the taking thread did before
        // (`Tracked::may_be_stale`).
        !self.is_swept() && self.words(lines).any(|(_, word, mask)| word.load(Ordering::Acquire) & mask != 0)
    }

    /// Returns whether a check of a few words suffices to see that no line of `lines` is marked; like
    /// [`LineMap::any`].
    pub fn is_quickly_clean(&self, lines: LineRange) -> bool {
        let pages = self.pages(lines);
        self.is_swept() || (pages.end - pages.start <= FEW_PAGES as u64 && !self.any(lines))
    }

    /// Returns the number of marked lines.
    pub fn count(&self) -> u64 {
        // Relaxed: a statistic, which must not be used to conclude what memory holds.
        self.pages.iter().map(|word| u64::from(word.load(Ordering::Relaxed).count_ones())).sum()
    }

    /// Returns whether no line is marked; like [`LineMap::any`].
    pub fn is_clean(&self) -> bool {
        // Relaxed: as in `take_word`.
        self.is_swept() || self.pages.iter().all(|word| word.load(Ordering::Relaxed) == 0)
    }

    /// Returns whether the summary shows that no line of the object is marked.
    fn is_swept(&self) -> bool {
        self.summary.as_ref().is_some_and(Summary::is_empty)
    }
}

/// Takes the bits of `mask` from a page's word and passes them to `visit`; returns how many there were.
fn take_word((page, word, mask): (u64, &AtomicU64, u64), visit: &mut impl FnMut(PageLines)) -> u64 {
    // Relaxed: the load finds a mark that happened before this call, by coherence. If another thread's `take`
    // emptied the word, that thread's flush began before this one ends, which the lock of the in-flight flushes orders.
    if peek(word, Ordering::Relaxed) & mask == 0 {
        return 0;
    }
    // Acquire pairs with the Release of `mark`: the line's flush comes after the store. SeqCst includes
    // Acquire, and keeps the load of `sweep` from reading this store when there is a later mark.
    let lines = PageLines::new(page, word.fetch_and(!mask, Ordering::SeqCst) & mask);
    if lines.mask() != 0 {
        visit(lines);
    }
    lines.count()
}

/// Merges the lines that `take` yields into the longest possible runs for `visit`.
fn by_runs(mut visit: impl FnMut(LineRange), take: impl FnOnce(&mut dyn FnMut(PageLines)) -> u64) -> u64 {
    let mut pending = LineRange::new(0, 0);
    let taken = take(&mut |page| {
        for run in page.runs() {
            if pending.is_empty() {
                pending = run;
            } else if pending.end() == run.first() {
                pending = LineRange::new(pending.first(), run.end());
            } else {
                visit(std::mem::replace(&mut pending, run));
            }
        }
    });
    if !pending.is_empty() {
        visit(pending);
    }
    taken
}

impl fmt::Debug for LineMap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {} lines", self.count(), self.lines)
    }
}

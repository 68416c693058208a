//! A set of an object's cache lines that threads share.

use std::fmt;
use std::ops::Range;

use super::summary::Summary;
use crate::error::{Error, Result};
use crate::sync::{AtomicU64, Ordering, look, zeroed_words};
use crate::units::{LINE_BYTES, LineRange, PAGE_BYTES, PAGE_LINES, PageLines};

/// One bit per cache line of an object; one word is one page.
///
/// An object has two: the lines that are dirty, and the lines that are stale. A map takes 1/512 of the
/// object's size, and a summary of it 1/32768 more if it is large; of a large map the system gives a page of
/// memory when a line in it is first marked.
pub struct LineMap {
    pages: Box<[AtomicU64]>,
    /// Which words may have bits; `None` where it is as quick to look at all of them.
    summary: Option<Summary>,
    size_bytes: u64,
    lines: u64,
}

/// Words of a map without a summary, at most: one cache line of them.
const FEW_PAGES: usize = 8;

/// The bits of `lines` in the word of page `page`; at least one of them lies in it.
fn page_mask(page: u64, lines: LineRange) -> u64 {
    let first = lines.first().saturating_sub(page * PAGE_LINES);
    let end = (lines.end() - page * PAGE_LINES).min(PAGE_LINES);
    (u64::MAX >> (PAGE_LINES - (end - first))) << first
}

impl LineMap {
    /// No line of an object of `size_bytes` bytes.
    ///
    /// # Errors
    /// [`Error::NoMemory`] if there is none for the map.
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

    /// Every line of the object.
    pub fn all(&self) -> LineRange {
        LineRange::new(0, self.lines)
    }

    /// Nothing, or the error that `lines` leaves the object.
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

    /// The pages of `lines`, as far as they are the object's.
    fn pages(&self, lines: LineRange) -> Range<u64> {
        let end = lines.end().min(self.lines);
        if lines.first() >= end { 0..0 } else { lines.first() / PAGE_LINES..end.div_ceil(PAGE_LINES) }
    }

    /// The words of `lines`, each with its page and the bits of `lines` in it; lines outside the
    /// object have none.
    fn words(&self, lines: LineRange) -> impl Iterator<Item = (u64, &AtomicU64, u64)> {
        let pages = self.pages(lines);
        let lines = LineRange::new(lines.first(), lines.end().min(self.lines));
        let words = self.pages.get(pages.start as usize..pages.end as usize).unwrap_or_default();
        (pages.start..).zip(words).map(move |(page, word)| (page, word, page_mask(page, lines)))
    }

    /// Adds `lines`.
    ///
    /// A dirty line is marked after the store: marked earlier it may be taken, and flushed, before
    /// the data is there.
    ///
    /// # Errors
    /// [`Error::RangeOutOfBounds`] if `lines` leaves the object; then no line was added.
    pub fn mark(&self, lines: LineRange) -> Result<()> {
        self.check(lines)?;
        self.add(lines);
        Ok(())
    }

    /// Adds every line of the object.
    pub fn mark_all(&self) {
        self.add(self.all());
    }

    fn add(&self, lines: LineRange) {
        let page = lines.first() / PAGE_LINES;
        // Most stores are to one page, and then there is one word to find.
        let is_one_page = !lines.is_empty() && lines.end() <= (page + 1) * PAGE_LINES;
        if let Some(word) = self.pages.get(page as usize).filter(|_| is_one_page) {
            // Release pairs with the Acquire of `take`: who finds the bit sees the store. SeqCst, as the
            // summary wants it (`Summary::note`), is that too.
            word.fetch_or(page_mask(page, lines), Ordering::SeqCst);
            if let Some(summary) = &self.summary {
                summary.note_page(page);
            }
            return;
        }
        for (_, word, mask) in self.words(lines) {
            // A read-modify-write for whole pages too: a plain store would end the release sequence
            // of another thread's mark, and with it the promise made to that thread.
            word.fetch_or(mask, Ordering::SeqCst);
        }
        if let Some(summary) = &self.summary {
            summary.note(self.pages(lines));
        }
    }

    /// Removes the marked lines of `lines` and hands them to `visit`, page by page in order; returns how many
    /// there were.
    ///
    /// A line that is marked meanwhile is handed out here or stays marked, never lost. Between this
    /// call and the end of the flush nothing says that the lines are not in memory yet: use
    /// [`super::Flight::take_dirty`] and [`super::Flight::take_stale`], which do.
    /// Lines outside the object were never marked.
    pub fn take_pages(&self, lines: LineRange, mut visit: impl FnMut(PageLines)) -> u64 {
        if self.is_swept() {
            return 0;
        }
        self.words(lines).map(|word| take_word(word, &mut visit)).sum()
    }

    /// [`LineMap::take_pages`] of a flight, which need not look where the summary says that nothing is: no
    /// other flight sweeps while this one is open.
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

    /// [`LineMap::take_pages`] by the longest possible runs.
    pub fn take(&self, lines: LineRange, visit: impl FnMut(LineRange)) -> u64 {
        by_runs(visit, |visit| self.take_pages(lines, visit))
    }

    /// [`LineMap::take_pages_in_flight`] by the longest possible runs.
    pub(super) fn take_in_flight(&self, lines: LineRange, visit: impl FnMut(LineRange)) -> u64 {
        by_runs(visit, |visit| self.take_pages_in_flight(lines, visit))
    }

    /// Makes the summary forget the pages without marks.
    ///
    /// Only while no flight is open and none can begin.
    pub(super) fn sweep(&self) {
        if let Some(summary) = &self.summary {
            summary.sweep(|page| {
                // SeqCst: what `Summary::sweep` asks for.
                self.pages.get(page as usize).is_some_and(|word| word.load(Ordering::SeqCst) != 0)
            });
        }
    }

    /// Returns whether a line of `lines` is marked; false says nothing about lines that are being flushed.
    pub fn any(&self, lines: LineRange) -> bool {
        // Relaxed: as in `take_word`.
        !self.is_swept() && self.words(lines).any(|(_, word, mask)| word.load(Ordering::Relaxed) & mask != 0)
    }

    /// Returns whether it takes no more than a look at few words to see that no line of `lines` is marked; as
    /// [`LineMap::any`].
    pub fn is_quickly_clean(&self, lines: LineRange) -> bool {
        let pages = self.pages(lines);
        self.is_swept() || (pages.end - pages.start <= FEW_PAGES as u64 && !self.any(lines))
    }

    /// How many lines are marked.
    pub fn count(&self) -> u64 {
        // Relaxed: a statistic; nobody concludes from it what memory holds.
        self.pages.iter().map(|word| u64::from(word.load(Ordering::Relaxed).count_ones())).sum()
    }

    /// Returns whether no line is marked; as [`LineMap::any`].
    pub fn is_clean(&self) -> bool {
        // Relaxed: as in `take_word`.
        self.is_swept() || self.pages.iter().all(|word| word.load(Ordering::Relaxed) == 0)
    }

    /// Returns whether the summary says of the whole object that no line is marked.
    fn is_swept(&self) -> bool {
        self.summary.as_ref().is_some_and(Summary::is_empty)
    }
}

/// Takes the bits of `mask` from a page's word, and hands them to `visit`; returns how many there were.
fn take_word((page, word, mask): (u64, &AtomicU64, u64), visit: &mut impl FnMut(PageLines)) -> u64 {
    // Relaxed: a line whose mark happened before this call is found, because a load cannot
    // read what is older than what it must know; and a word that another thread's `take` has
    // emptied was emptied in a flight that began before this one ends, which the lock of the
    // flights orders.
    if look(word, Ordering::Relaxed) & mask == 0 {
        return 0;
    }
    // Acquire pairs with the Release of `mark`: the flush of the line, after this, flushes the store. SeqCst is
    // that too, and keeps the load of `sweep` from reading this store when a later mark is there.
    let lines = PageLines::new(page, word.fetch_and(!mask, Ordering::SeqCst) & mask);
    if lines.mask() != 0 {
        visit(lines);
    }
    lines.count()
}

/// Joins what `take` hands out to the longest possible runs for `visit`.
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

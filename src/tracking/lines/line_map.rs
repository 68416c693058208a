//! A set of an object's cache lines, shared by threads.

use std::fmt;

use super::page_words::{PageWords, page_mask};
use super::summary::{FEW_PAGES, Summary};
use crate::error::Result;
use crate::sync::{AtomicU64, Ordering, peek};
use crate::units::{LineRange, PAGE_LINES, PageLines};

/// A bit for each cache line of an object; one word covers one page.
///
/// A map takes 1/512 of the object's size; the summary of a large one takes 1/32768 more.
pub struct LineMap {
    words: PageWords,
    /// The words that may have bits.
    summary: Summary,
}

impl LineMap {
    /// Creates the empty map of an object of `size_bytes` bytes.
    ///
    /// # Errors
    /// [`crate::Error::NoMemory`] if the map cannot be allocated.
    pub fn new(size_bytes: u64) -> Result<Self> {
        let words = PageWords::new(size_bytes)?;
        let summary = Summary::new(words.len()).ok_or_else(|| PageWords::too_large(size_bytes))?;
        Ok(Self { words, summary })
    }

    /// Returns the range of all lines of the object.
    #[inline]
    pub fn all(&self) -> LineRange {
        self.words.lines()
    }

    /// Checks that `lines` does not exceed the object.
    #[inline]
    pub(in crate::tracking) fn check(&self, lines: LineRange) -> Result<()> {
        self.words.check(lines)
    }

    /// Marks `lines`.
    ///
    /// Mark a dirty line only after the store: a mark made earlier may be taken, and the line flushed, before
    /// the data is there.
    ///
    /// # Errors
    /// [`crate::Error::RangeOutOfBounds`] if `lines` exceeds the object; then no line is marked.
    #[inline]
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
        if is_one_page {
            return self.mark_page(PageLines::new(page, page_mask(page, lines)));
        }
        for (_, word, mask) in self.words.of(lines) {
            // A read-modify-write for whole pages, too: a plain store would end the release sequence of
            // another thread's mark, and with it that thread's guarantee.
            word.fetch_or(mask, Ordering::SeqCst);
        }
        self.summary.note(self.words.pages(lines));
    }

    /// Marks lines of one page; of a page outside the object, none.
    pub(super) fn mark_page(&self, lines: PageLines) {
        let Some(word) = self.words.get(lines.page()) else { return };
        // Release pairs with the Acquire of `take`: a thread that finds the bit sees the store. SeqCst,
        // which the summary requires (`Summary::note`), includes Release.
        word.fetch_or(lines.mask(), Ordering::SeqCst);
        self.summary.note_page(lines.page());
    }

    /// Removes the marks of `lines` and passes the marked lines to `visit`, page by page in order; returns
    /// how many there were.
    ///
    /// A line marked concurrently is either passed to `visit` or stays marked, never lost. Between this call
    /// and the end of the flush, nothing records that the lines are not in memory yet: use
    /// [`crate::tracking::InFlightFlush::take_dirty`] and [`crate::tracking::InFlightFlush::take_stale`], which
    /// do. Lines outside the object are never marked.
    pub fn take_pages(&self, lines: LineRange, mut visit: impl FnMut(PageLines)) -> u64 {
        if self.is_swept() {
            return 0;
        }
        self.words.of(lines).map(|word| take_word(word, &mut visit)).sum()
    }

    /// [`LineMap::take_pages`] for an in-flight flush, which can skip pages that the summary excludes: no
    /// other flush sweeps while this one is open.
    pub(super) fn take_pages_in_flight(&self, lines: LineRange, mut visit: impl FnMut(PageLines)) -> u64 {
        let mut taken = 0;
        for run in self.summary.pages(self.words.pages(lines)) {
            for (page, word) in self.words.of_pages(run) {
                taken += take_word((page, word, page_mask(page, lines)), &mut visit);
            }
        }
        taken
    }

    /// Takes the marks of those of `lines` that are in the page of `own`; returns them together with `own`.
    #[inline]
    pub(super) fn take_page(&self, own: PageLines, lines: LineRange) -> PageLines {
        let mut both = own;
        if let Some(word) = self.words.get(own.page()) {
            let page = (own.page(), word, page_mask(own.page(), lines));
            take_word(page, &mut |taken| both = PageLines::new(own.page(), own.mask() | taken.mask()));
        }
        both
    }

    /// [`LineMap::take_pages`], by the longest possible runs.
    pub fn take(&self, lines: LineRange, visit: impl FnMut(LineRange)) -> u64 {
        by_runs(visit, |visit| self.take_pages(lines, visit))
    }

    /// [`LineMap::take_pages_in_flight`], by the longest possible runs.
    pub(in crate::tracking) fn take_in_flight(&self, lines: LineRange, visit: impl FnMut(LineRange)) -> u64 {
        by_runs(visit, |visit| self.take_pages_in_flight(lines, visit))
    }

    /// Removes pages without marks from the summary.
    ///
    /// Call it only while no flush is open and none can begin.
    pub(in crate::tracking) fn sweep(&self) {
        self.summary.sweep(|page| {
            // SeqCst: `Summary::sweep` requires it.
            self.words.get(page).is_some_and(|word| word.load(Ordering::SeqCst) != 0)
        });
    }

    /// Returns whether a line of `lines` is marked; lines that are being flushed do not count as marked.
    #[inline]
    pub fn any(&self, lines: LineRange) -> bool {
        // Acquire: a thread that finds a mark taken sees what the taking thread did before
        // (`Tracked::may_be_stale`, `Flushes::is_idle_since`).
        !self.is_swept()
            && self.words.of(lines).any(|(_, word, mask)| word.load(Ordering::Acquire) & mask != 0)
    }

    /// [`LineMap::any`] for lines of one page.
    #[inline]
    pub(in crate::tracking) fn any_in(&self, lines: PageLines) -> bool {
        // Acquire: as in `any`.
        let word = || self.words.get(lines.page()).map_or(0, |word| word.load(Ordering::Acquire));
        !self.is_swept() && word() & lines.mask() != 0
    }

    /// Returns whether a check of a few words suffices to see that no line of `lines` is marked; like
    /// [`LineMap::any`].
    #[inline]
    pub fn is_quickly_clean(&self, lines: LineRange) -> bool {
        let pages = self.words.pages(lines);
        self.is_swept() || (pages.end - pages.start <= FEW_PAGES && !self.any(lines))
    }

    /// Returns the marks of every page.
    #[inline]
    pub(super) fn words(&self) -> impl Iterator<Item = (u64, u64)> {
        // Relaxed: as in `count`.
        self.words.all().map(|(page, word)| (page, word.load(Ordering::Relaxed)))
    }

    /// Returns the number of marked lines.
    pub fn count(&self) -> u64 {
        // Relaxed: a statistic, which must not be used to conclude what memory holds.
        self.words().map(|(_, word)| u64::from(word.count_ones())).sum()
    }

    /// Returns whether no line is marked; like [`LineMap::any`].
    pub fn is_clean(&self) -> bool {
        // Acquire: as in `any`.
        self.is_swept() || self.words.all().all(|(_, word)| word.load(Ordering::Acquire) == 0)
    }

    /// Returns whether a sweep may remove pages from the summary.
    #[inline]
    pub(in crate::tracking) fn can_be_swept(&self) -> bool {
        self.summary.can_be_swept()
    }

    /// Returns whether the summary shows that no line of the object is marked.
    #[inline]
    pub(in crate::tracking) fn is_swept(&self) -> bool {
        self.summary.is_empty()
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
pub(in crate::tracking) fn by_runs(
    mut visit: impl FnMut(LineRange),
    take: impl FnOnce(&mut dyn FnMut(PageLines)) -> u64,
) -> u64 {
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
        write!(f, "{} of {} lines", self.count(), self.all().count())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_without_marks_beside_one_with_some_has_none() {
        let map = LineMap::new(2 * 4096).unwrap();
        map.mark(LineRange::new(0, 1)).unwrap();
        let any = |page| map.any_in(PageLines::new(page, u64::MAX));
        assert_eq!([any(0), any(1)], [true, false]);
    }
}

//! The marks of an object's only writer, made by plain loads and stores.
//!
//! A locked instruction waits for all earlier stores and line operations of its thread (Intel SDM vol. 3, 9.2.3), so a
//! locked mark after each store takes the stores' cache misses one by one. A write guard that finds no other write guard
//! and no submission open is alone ([`State::marks`](crate::tracking::State::marks)): no one else marks in these words until it ends,
//! and it needs no locked instruction. A submission that is alone takes the marks in the same way. The order of these
//! *owners* is that of the object word, by which each begins and ends.
//!
//! A flush that is not alone takes marks by a locked instruction, at any time. The writer stores the word after each of its
//! stores, also if the bit is set already: either the locked instruction reads that, and the flush finds the data, or the
//! mark is there afterwards. The writer may bring back marks that were just taken; their lines are then flushed twice.

use super::page_words::PageWords;
use crate::error::Result;
use crate::sync::{AtomicU64, Ordering, put};
use crate::units::{LineRange, PageLines};

/// Takes the bits of `mask` from the word of a page. Only for the owner.
#[inline]
fn take_word(page: u64, word: &AtomicU64, mask: u64) -> Option<PageLines> {
    // Acquire: as in `OwnLines::take_shared`, for a submission that is alone after a writer that was not.
    let before = word.load(Ordering::Acquire);
    if before & mask == 0 {
        return None;
    }
    // Release: as in `OwnLines::is_empty`.
    put(word, before & !mask, Ordering::Release);
    Some(PageLines::new(page, before & mask))
}

/// The lines that the only writer marked.
#[derive(Debug)]
pub(super) struct OwnLines {
    words: PageWords,
    /// A list of the pages that may have marks, with a place for each page; only for owners.
    listed: PageWords,
    /// Number of listed pages; 0 if no line is marked.
    count: AtomicU64,
}

impl OwnLines {
    /// Creates the empty set of an object of `size_bytes` bytes.
    ///
    /// # Errors
    /// [`crate::Error::NoMemory`].
    pub(super) fn new(size_bytes: u64) -> Result<Self> {
        let words = || PageWords::new(size_bytes);
        Ok(Self { words: words()?, listed: words()?, count: AtomicU64::new(0) })
    }

    /// Returns whether no page is listed; then no line is marked.
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        // Acquire: a thread that finds the marks taken finds the flush announced that took them.
        self.count.load(Ordering::Acquire) == 0
    }

    /// Returns whether a line of `lines` is marked.
    #[inline]
    pub(super) fn any(&self, lines: LineRange) -> bool {
        // Acquire: as in `is_empty`.
        !self.is_empty()
            && self.words.of(lines).any(|(_, word, mask)| word.load(Ordering::Acquire) & mask != 0)
    }

    /// Returns the marks of a page.
    pub(super) fn of_page(&self, page: u64) -> u64 {
        // Relaxed: a statistic.
        self.words.get(page).map_or(0, |word| word.load(Ordering::Relaxed))
    }

    /// Marks `lines`. Only for the owner.
    pub(super) fn mark(&self, lines: LineRange) {
        self.words.of(lines).for_each(|(page, word, mask)| self.mark_word(page, word, mask));
    }

    /// [`OwnLines::mark`] for lines of one page.
    #[inline(always)]
    pub(super) fn mark_page(&self, lines: PageLines) {
        if let Some(word) = self.words.get(lines.page()) {
            self.mark_word(lines.page(), word, lines.mask());
        }
    }

    #[inline(always)]
    fn mark_word(&self, page: u64, word: &AtomicU64, mask: u64) {
        // Acquire: what this word has now may be what a flush left that took bits, and the store below replaces it. A thread
        // that takes bits of that store has to come after the announcement of that flush.
        let before = word.load(Ordering::Acquire);
        if before == 0 {
            self.list(page);
        }
        // Release pairs with the Acquire of the takes: a thread that takes the bit sees the store. Not left out if the
        // bit is set: a flush may take it before it sees the store.
        put(word, before | mask, Ordering::Release);
    }

    /// Lists a page whose word is 0.
    #[inline(always)]
    fn list(&self, page: u64) {
        // Relaxed, here and below: only owners use the list, and others that find a count look at the words.
        let count = self.count.load(Ordering::Relaxed);
        let count = if self.listed.get(count).is_some() { count } else { self.relist() };
        if let Some(place) = self.listed.get(count) {
            place.store(page, Ordering::Relaxed);
        }
        self.count.store(count + 1, Ordering::Relaxed);
    }

    /// Lists only the pages with marks, because the list is full of others; returns how many there are. The count stays
    /// until the caller stores it, so it is not 0 meanwhile.
    #[cold]
    fn relist(&self) -> u64 {
        let marked = self.words.all().filter(|(_, word)| word.load(Ordering::Relaxed) != 0);
        let places = (0..).map_while(|place| self.listed.get(place));
        marked.zip(places).map(|((page, _), place)| place.store(page, Ordering::Relaxed)).count() as u64
    }

    /// Takes the marks of `lines`, and passes them to `visit`. Only for the owner.
    pub(super) fn take(&self, lines: LineRange, visit: impl FnMut(PageLines)) {
        if self.words.lines() == lines {
            return self.take_all().for_each(visit);
        }
        self.words.of(lines).filter_map(|(page, word, mask)| take_word(page, word, mask)).for_each(visit);
    }

    /// Takes all marks, page by page. Only for the owner. If the iterator is dropped early, the others stay.
    #[inline]
    pub(super) fn take_all(&self) -> TakeAll<'_> {
        // Relaxed: only owners use the list.
        TakeAll { lines: self, place: 0, count: self.count.load(Ordering::Relaxed) }
    }

    /// As [`OwnLines::take`], for others than the owner. The pages stay listed.
    pub(super) fn take_shared(&self, lines: LineRange, mut visit: impl FnMut(PageLines)) {
        for (page, word, mask) in self.words.of(lines) {
            // Relaxed: as in `LineMap::take_pages`.
            if word.load(Ordering::Relaxed) & mask == 0 {
                continue;
            }
            // Acquire pairs with the Release of `mark`, and Release: as in `is_empty`. Bits that are not taken stay.
            let taken = word.fetch_and(!mask, Ordering::AcqRel) & mask;
            if taken != 0 {
                visit(PageLines::new(page, taken));
            }
        }
    }
}

/// The iterator of [`OwnLines::take_all`].
pub(super) struct TakeAll<'a> {
    lines: &'a OwnLines,
    place: u64,
    count: u64,
}

impl Iterator for TakeAll<'_> {
    type Item = PageLines;

    #[inline]
    fn next(&mut self) -> Option<PageLines> {
        let OwnLines { words, listed, count } = self.lines;
        while self.place < self.count {
            // Relaxed: only owners use the list.
            let page = listed.get(self.place)?.load(Ordering::Relaxed);
            self.place += 1;
            if let Some(taken) = take_word(page, words.get(page)?, u64::MAX) {
                return Some(taken);
            }
        }
        // Release pairs with the Acquire of `is_empty`.
        count.store(0, Ordering::Release);
        None
    }
}

//! A set of an object's cache lines that threads share.

use std::fmt;

use crate::error::{Error, Result};
use crate::sync::{AtomicU64, Ordering};
use crate::units::{LINE_BYTES, LineRange, PAGE_BYTES, PAGE_LINES, PageLines};

/// One bit per cache line of an object; one word is one page.
///
/// An object has two: the lines that are dirty, and the lines that are stale.
pub struct LineMap {
    pages: Box<[AtomicU64]>,
    size_bytes: u64,
    lines: u64,
}

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
    /// [`Error::BadSize`] if there is no memory for the map.
    pub fn new(size_bytes: u64) -> Result<Self> {
        let too_large = || Error::BadSize { size: size_bytes, why: "there is no memory for its line map" };
        let count = usize::try_from(size_bytes.div_ceil(PAGE_BYTES)).map_err(|_| too_large())?;
        let mut pages = Vec::new();
        pages.try_reserve_exact(count).map_err(|_| too_large())?;
        pages.resize_with(count, || AtomicU64::new(0));
        Ok(Self { pages: pages.into_boxed_slice(), size_bytes, lines: size_bytes.div_ceil(LINE_BYTES) })
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

    /// The words of `lines`, each with its page and the bits of `lines` in it; lines outside the
    /// object have none.
    fn words(&self, lines: LineRange) -> impl Iterator<Item = (u64, &AtomicU64, u64)> {
        let lines = LineRange::new(lines.first(), lines.end().min(self.lines));
        let (first, end) = if lines.is_empty() {
            (0, 0)
        } else {
            (lines.first() / PAGE_LINES, lines.end().div_ceil(PAGE_LINES))
        };
        let words = self.pages.get(first as usize..end as usize).unwrap_or_default();
        (first..).zip(words).map(move |(page, word)| (page, word, page_mask(page, lines)))
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
        for (_, word, mask) in self.words(lines) {
            // Release pairs with the Acquire of `take`: who finds the bit sees the store.
            // A read-modify-write for whole pages too: a plain store would end the release sequence
            // of another thread's mark, and with it the promise made to that thread.
            word.fetch_or(mask, Ordering::Release);
        }
        Ok(())
    }

    /// Adds every line of the object.
    pub fn mark_all(&self) {
        for (_, word, mask) in self.words(self.all()) {
            // Release: as in `mark`.
            word.fetch_or(mask, Ordering::Release);
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
        let mut taken = 0;
        for (page, word, mask) in self.words(lines) {
            // Relaxed: a line whose mark happened before this call is found, because a load cannot
            // read what is older than what it must know; and a word that another thread's `take` has
            // emptied was emptied in a flight that began before this one ends, which the lock of the
            // flights orders.
            if word.load(Ordering::Relaxed) & mask == 0 {
                continue;
            }
            // Acquire pairs with the Release of `mark`: the flush of the line, after this, flushes
            // the store.
            let lines = PageLines::new(page, word.fetch_and(!mask, Ordering::Acquire) & mask);
            if lines.mask() != 0 {
                taken += lines.count();
                visit(lines);
            }
        }
        taken
    }

    /// [`LineMap::take_pages`] by the longest possible runs.
    pub fn take(&self, lines: LineRange, mut visit: impl FnMut(LineRange)) -> u64 {
        let mut pending = LineRange::new(0, 0);
        let taken = self.take_pages(lines, |page| {
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

    /// Whether a line of `lines` is marked; false says nothing about lines that are being flushed.
    pub fn any(&self, lines: LineRange) -> bool {
        // Relaxed: as in `take`.
        self.words(lines).any(|(_, word, mask)| word.load(Ordering::Relaxed) & mask != 0)
    }

    /// How many lines are marked.
    pub fn count(&self) -> u64 {
        // Relaxed: a statistic; nobody concludes from it what memory holds.
        self.pages.iter().map(|word| u64::from(word.load(Ordering::Relaxed).count_ones())).sum()
    }

    /// Whether no line is marked; as [`LineMap::any`].
    pub fn is_clean(&self) -> bool {
        !self.any(self.all())
    }
}

impl fmt::Debug for LineMap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {} lines", self.count(), self.lines)
    }
}

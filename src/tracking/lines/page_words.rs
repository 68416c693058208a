//! A word for each page of an object, with a bit for each of the page's lines.

use std::ops::Range;

use crate::error::{Error, Result};
use crate::sync::{AtomicU64, zeroed_words};
use crate::units::{LINE_BYTES, LineRange, PAGE_BYTES, PAGE_LINES};

/// A word for each page of an object. They take 1/512 of the object's size; the kernel allocates a page of them when one
/// of its words is first written.
#[derive(Debug)]
pub(super) struct PageWords {
    words: Box<[AtomicU64]>,
    size_bytes: u64,
}

/// Returns the bits of `lines` in the word of page `page`, which contains at least one of them.
pub(super) fn page_mask(page: u64, lines: LineRange) -> u64 {
    let first = lines.first().saturating_sub(page * PAGE_LINES);
    let end = (lines.end() - page * PAGE_LINES).min(PAGE_LINES);
    (u64::MAX >> (PAGE_LINES - (end - first))) << first
}

impl PageWords {
    /// Creates the words of an object of `size_bytes` bytes, all 0.
    ///
    /// # Errors
    /// [`Error::NoMemory`].
    pub(super) fn new(size_bytes: u64) -> Result<Self> {
        let too_large = || Self::too_large(size_bytes);
        let count = usize::try_from(size_bytes.div_ceil(PAGE_BYTES)).map_err(|_| too_large())?;
        let words = zeroed_words(count).ok_or_else(too_large)?;
        Ok(Self { words, size_bytes })
    }

    /// Returns the error for an object whose words cannot be allocated.
    pub(super) fn too_large(size_bytes: u64) -> Error {
        Error::NoMemory { what: "a line map", bytes: size_bytes / (PAGE_BYTES / size_of::<u64>() as u64) }
    }

    /// Returns the number of words.
    #[inline]
    pub(super) fn len(&self) -> usize {
        self.words.len()
    }

    /// Returns the word of a page of the object.
    #[inline]
    pub(super) fn get(&self, page: u64) -> Option<&AtomicU64> {
        self.words.get(page as usize)
    }

    /// Returns every word.
    pub(super) fn all(&self) -> impl Iterator<Item = (u64, &AtomicU64)> {
        (0..).zip(self.words.iter())
    }

    /// Returns the range of all lines of the object.
    #[inline]
    pub(super) fn lines(&self) -> LineRange {
        LineRange::new(0, self.size_bytes.div_ceil(LINE_BYTES))
    }

    /// Checks that `lines` does not exceed the object.
    #[inline]
    pub(super) fn check(&self, lines: LineRange) -> Result<()> {
        if lines.end() <= self.lines().end() {
            return Ok(());
        }
        Err(Error::RangeOutOfBounds {
            offset: lines.first().saturating_mul(LINE_BYTES),
            len: lines.count().saturating_mul(LINE_BYTES),
            size: self.size_bytes,
        })
    }

    /// Returns the object's pages that `lines` covers.
    #[inline]
    pub(super) fn pages(&self, lines: LineRange) -> Range<u64> {
        let end = lines.end().min(self.lines().end());
        if lines.first() >= end { 0..0 } else { lines.first() / PAGE_LINES..end.div_ceil(PAGE_LINES) }
    }

    /// Returns the words of `pages`.
    #[inline]
    pub(super) fn of_pages(&self, pages: Range<u64>) -> impl Iterator<Item = (u64, &AtomicU64)> {
        let words = self.words.get(pages.start as usize..pages.end as usize).unwrap_or_default();
        pages.zip(words)
    }

    /// Returns the words of `lines`, each with its page and the mask of `lines` in it; lines outside the
    /// object are skipped.
    #[inline]
    pub(super) fn of(&self, lines: LineRange) -> impl Iterator<Item = (u64, &AtomicU64, u64)> {
        let pages = self.pages(lines);
        let lines = LineRange::new(lines.first(), lines.end().min(self.lines().end()));
        self.of_pages(pages).map(move |(page, word)| (page, word, page_mask(page, lines)))
    }
}

//! The pages that objects get, and the flushes of those that become write-combining.

use gem_coherency::units::PAGE_BYTES;

/// A page list that gets pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Population {
    /// The object; `None` if its creation was not seen.
    pub object: Option<u64>,
    /// The number of pages.
    pub pages: u32,
    /// Pages that became write-combining.
    pub combining: u32,
    /// Pages among them whose lines were flushed.
    pub flushed: u32,
    /// Pages that are becoming write-combining: their flush comes next.
    pending: u32,
    /// The time of the end.
    pub time_ns: u64,
}

impl Population {
    /// Begins with the pages of `object`.
    pub(super) const fn new(object: Option<u64>, pages: u32) -> Self {
        Self { object, pages, combining: 0, flushed: 0, pending: 0, time_ns: 0 }
    }

    /// Pages become write-combining. `flush_shows`: their flush is an event of its own.
    pub(super) const fn combine(&mut self, pages: u32, flush_shows: bool) {
        self.combining = self.combining.saturating_add(pages);
        if flush_shows {
            self.pending = pages;
        } else {
            self.flushed = self.flushed.saturating_add(pages);
        }
    }

    /// Lines are flushed. A change to write-combining flushes twice: it goes by way of uncached (`_set_pages_array`).
    pub(super) const fn flush(&mut self) {
        self.flushed = self.flushed.saturating_add(self.pending);
        self.pending = 0;
    }

    /// Returns the pages that were write-combining before.
    pub(super) const fn pooled(&self) -> u32 {
        self.pages.saturating_sub(self.combining)
    }
}

/// Returns the bytes of pages.
pub(super) fn bytes(pages: u32) -> u64 {
    u64::from(pages) * PAGE_BYTES
}

/// The pages in TTM's pool, at most. A page from it is not flushed again.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Pool {
    /// `None` if the number at the trace's start is not known.
    pages: Option<u64>,
}

impl Pool {
    /// The pool of `pages`.
    pub(super) const fn of(pages: Option<u64>) -> Self {
        Self { pages }
    }

    /// Pages go back to the pool. The kernel's shrinker may free them, so that there are fewer.
    pub(super) const fn add(&mut self, pages: u32) {
        if let Some(pool) = &mut self.pages {
            *pool = pool.saturating_add(pages as u64);
        }
    }

    /// Takes pages; returns whether there were as many, `None` if it is not known.
    pub(super) fn take(&mut self, pages: u32) -> Option<bool> {
        if pages == 0 {
            return Some(true);
        }
        let pool = self.pages.as_mut()?;
        let left = pool.checked_sub(u64::from(pages));
        *pool = left.unwrap_or(0);
        Some(left.is_some())
    }
}

/// Returns the pages in TTM's pool, from the text of `ttm/page_pool` in debugfs; `None` if it has no total.
pub fn pooled_pages(text: &str) -> Option<u64> {
    let totals = text.lines().filter_map(|line| line.strip_prefix("total")?.split_once(':'));
    let numbers = totals.map(|(_, numbers)| numbers.split_whitespace().next()?.parse::<u64>().ok());
    numbers.reduce(|sum, next| sum?.checked_add(next?)).flatten()
}

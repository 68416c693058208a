//! The cached and dirty lines of an object, by page.

use std::collections::BTreeMap;
use std::ops::Range;

use gem_coherency::units::{LINE_BYTES, LineRange, PAGE_BYTES, PAGE_LINES};
use gem_coherency_hierarchy::Line;

/// The lines of one page; bit n is line n.
#[derive(Clone, Debug)]
pub(crate) struct Page {
    /// Lines present in the CPU's caches.
    present: u64,
    /// Of these, the dirty ones.
    dirty: u64,
    /// Memory holds this object's bytes, not the previous owner's.
    pub(crate) owned: bool,
    /// The bytes the cache was filled with, kept where memory alone cannot tell whether a raw pointer was
    /// used to store.
    pub(crate) fill: Option<Box<[u8; PAGE_BYTES as usize]>>,
}

impl Page {
    /// A page that the kernel has just zeroed through the CPU's caches.
    const ZEROED: Self = Self { present: !0, dirty: !0, owned: false, fill: None };

    /// A page that was cleared in memory, bypassing the CPU's caches.
    const CLEARED: Self = Self { present: 0, dirty: 0, owned: true, fill: None };

    fn line(&self, index: u64) -> Line {
        let bit = 1 << index;
        match (self.present & bit != 0, self.dirty & bit != 0) {
            (false, _) => Line::Absent,
            (true, false) => Line::Clean,
            (true, true) => Line::Dirty,
        }
    }

    fn set(&mut self, lines: Range<u64>, state: Line) {
        let mask = mask(lines);
        match state {
            Line::Absent => {
                self.present &= !mask;
                self.dirty &= !mask;
            }
            Line::Clean => {
                self.present |= mask;
                self.dirty &= !mask;
            }
            Line::Dirty => {
                self.present |= mask;
                self.dirty |= mask;
            }
        }
    }
}

/// Returns the bit mask of `lines` of one page.
fn mask(lines: Range<u64>) -> u64 {
    let up_to = |line: u64| if line >= PAGE_LINES { !0 } else { (1 << line) - 1 };
    up_to(lines.end) & !up_to(lines.start)
}

/// Neighbouring lines of one page in the same state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Run {
    /// The page's index.
    pub(crate) page: u64,
    /// The first line, within the page.
    first: u64,
    /// One past the last line, within the page.
    end: u64,
    /// The lines' state.
    pub(crate) line: Line,
}

impl Run {
    /// Number of lines.
    pub(crate) fn lines(self) -> u64 {
        self.end - self.first
    }

    /// The lines, within the page.
    pub(crate) fn in_page(self) -> Range<u64> {
        self.first..self.end
    }

    /// The first byte's offset in the object.
    pub(crate) fn offset(self) -> u64 {
        self.page * PAGE_BYTES + self.first * LINE_BYTES
    }

    /// Length in bytes.
    pub(crate) fn bytes(self) -> u64 {
        self.lines() * LINE_BYTES
    }

    /// The lines, within the object.
    fn of_object(self) -> LineRange {
        LineRange::new(self.page * PAGE_LINES + self.first, self.page * PAGE_LINES + self.end)
    }
}

/// The lines of an object: the touched pages, and one state for all others.
#[derive(Debug)]
pub(crate) struct Lines {
    pages: u64,
    untouched: Page,
    touched: BTreeMap<u64, Page>,
}

impl Lines {
    /// Creates `pages` pages that have just been zeroed through the CPU's caches.
    pub(crate) fn zeroed(pages: u64) -> Self {
        Self { pages, untouched: Page::ZEROED, touched: BTreeMap::new() }
    }

    /// Creates `pages` pages that the GPU cleared in memory.
    pub(crate) fn cleared(pages: u64) -> Self {
        Self { pages, untouched: Page::CLEARED, touched: BTreeMap::new() }
    }

    /// Returns whether cache and memory both hold zeroes: the page was flushed and never touched.
    pub(crate) fn holds_zeroes(&self, page: u64) -> bool {
        self.untouched.owned && !self.touched.contains_key(&page)
    }

    /// Number of pages.
    pub(crate) fn pages(&self) -> u64 {
        self.pages
    }

    /// Returns the page at `index` and marks it as touched.
    pub(crate) fn touch(&mut self, index: u64) -> &mut Page {
        self.touched.entry(index).or_insert_with(|| self.untouched.clone())
    }

    /// The touched pages' indices.
    pub(crate) fn touched(&self) -> Vec<u64> {
        self.touched.keys().copied().collect()
    }

    /// Returns the leading lines of `range` that are in one state and in one page; `None` if it is empty.
    pub(crate) fn run(&self, range: LineRange) -> Option<Run> {
        if range.is_empty() {
            return None;
        }
        let page = range.first() / PAGE_LINES;
        let first = range.first() % PAGE_LINES;
        let limit = (first + range.count()).min(PAGE_LINES);
        let lines = self.touched.get(&page).unwrap_or(&self.untouched);
        let line = lines.line(first);
        let end = (first..limit).find(|&index| lines.line(index) != line).unwrap_or(limit);
        Some(Run { page, first, end, line })
    }

    /// Returns the part of `range` after `run`, its first run.
    pub(crate) fn behind(range: LineRange, run: Run) -> LineRange {
        LineRange::new(run.of_object().end(), range.end())
    }

    /// Sets the state of a run's lines.
    pub(crate) fn set(&mut self, run: Run, state: Line) {
        self.touch(run.page).set(run.in_page(), state);
    }

    /// Writes back and drops the lines of every untouched page, so that memory holds their zeroes; returns
    /// how many were dirty.
    pub(crate) fn flush_untouched(&mut self) -> u64 {
        let dirty = u64::from(self.untouched.dirty.count_ones());
        let pages = self.pages - self.touched.len() as u64;
        if dirty != 0 {
            self.untouched.owned = true;
        }
        self.untouched.present = 0;
        self.untouched.dirty = 0;
        dirty * pages
    }

    /// Returns whether line `line` of page `index` is cached and clean.
    pub(crate) fn is_clean(&self, index: u64, line: u64) -> bool {
        self.touched.get(&index).unwrap_or(&self.untouched).line(line) == Line::Clean
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_end_at_pages_and_where_the_state_changes() {
        let mut lines = Lines::zeroed(2);
        let all = LineRange::new(0, 128);
        let run = lines.run(all).unwrap();
        assert_eq!((run.page, run.lines(), run.line), (0, 64, Line::Dirty));
        lines.set(Run { page: 0, first: 3, end: 64, line: Line::Dirty }, Line::Clean);
        let run = lines.run(all).unwrap();
        assert_eq!((run.lines(), run.line), (3, Line::Dirty));
        let rest = Lines::behind(all, run);
        assert_eq!((rest.first(), rest.end()), (3, 128));
        assert_eq!(lines.run(rest).unwrap().line, Line::Clean);
        assert_eq!(lines.run(LineRange::new(5, 5)), None);
    }

    #[test]
    fn flushing_untouched_pages_counts_their_dirty_lines_once() {
        let mut lines = Lines::zeroed(4);
        lines.touch(1);
        assert_eq!(lines.flush_untouched(), 3 * 64);
        assert_eq!(lines.flush_untouched(), 0);
        assert!(lines.touch(0).owned);
        assert!(!lines.touch(1).owned);
    }
}

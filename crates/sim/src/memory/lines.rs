//! The cached and dirty lines of an object, by page.

use std::collections::BTreeMap;
use std::ops::Range;

use gem_coherency::units::{LINE_BYTES, LineRange, PAGE_BYTES, PAGE_LINES};
use gem_coherency_memory_model::Line;

/// The lines of one page; bit n is line n.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Page {
    /// Lines present in the CPU's caches.
    present: u64,
    /// Of these, the dirty ones.
    dirty: u64,
    /// Memory holds this object's bytes, not the previous owner's.
    pub(crate) owned: bool,
}

impl Page {
    /// A page that the kernel has just zeroed through the CPU's caches.
    const ZEROED: Self = Self { present: !0, dirty: !0, owned: false };

    /// A page that was cleared in memory, bypassing the CPU's caches.
    const CLEARED: Self = Self { present: 0, dirty: 0, owned: true };

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

    /// Returns the first `lines` lines of the run, with their state.
    pub(crate) fn leading(self, lines: u64, line: Line) -> Self {
        Self { end: self.end.min(self.first + lines), line, ..self }
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
    pub(crate) fn of_object(self) -> LineRange {
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
        self.touched.entry(index).or_insert(self.untouched)
    }

    /// Returns the lines of the first touched page with a line in `range`, as far as they are in it.
    pub(crate) fn touched(&self, range: LineRange) -> Option<LineRange> {
        if range.is_empty() {
            return None;
        }
        let pages = range.first() / PAGE_LINES..range.end().div_ceil(PAGE_LINES);
        let (&page, _) = self.touched.range(pages).next()?;
        let first = range.first().max(page * PAGE_LINES);
        Some(LineRange::new(first, range.end().min((page + 1) * PAGE_LINES)))
    }

    /// Returns whether memory holds this object's bytes in page `page`, not the previous owner's.
    pub(crate) fn is_owned(&self, page: u64) -> bool {
        self.page(page).owned
    }

    /// Returns whether untouched pages are zeroes in the cache that were never flushed.
    pub(crate) fn untouched_are_fresh(&self) -> bool {
        self.untouched.dirty != 0
    }

    fn page(&self, page: u64) -> &Page {
        self.touched.get(&page).unwrap_or(&self.untouched)
    }

    /// All lines.
    pub(crate) fn all(&self) -> LineRange {
        LineRange::new(0, self.pages * PAGE_LINES)
    }

    /// Returns the leading lines of `range` that are in one state and in one page; `None` if it is empty.
    pub(crate) fn run(&self, range: LineRange) -> Option<Run> {
        if range.is_empty() {
            return None;
        }
        let page = range.first() / PAGE_LINES;
        let first = range.first() % PAGE_LINES;
        let limit = (first + range.count()).min(PAGE_LINES);
        let lines = self.page(page);
        let line = lines.line(first);
        let end = (first..limit).find(|&index| lines.line(index) != line).unwrap_or(limit);
        Some(Run { page, first, end, line })
    }

    /// Returns the part of `range` after `run`, its first run.
    pub(crate) fn after(range: LineRange, run: Run) -> LineRange {
        LineRange::new(run.of_object().end(), range.end())
    }

    /// Sets the state of a run's lines.
    pub(crate) fn set(&mut self, run: Run, state: Line) {
        self.touch(run.page).set(run.first..run.end, state);
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
        let rest = Lines::after(all, run);
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

    #[test]
    fn touched_pages_are_found_in_order_and_cut_to_the_range() {
        let mut lines = Lines::cleared(8);
        lines.touch(2);
        lines.touch(5);
        let touched =
            |first, end| lines.touched(LineRange::new(first, end)).map(|lines| (lines.first(), lines.end()));
        assert_eq!(touched(0, 512), Some((128, 192)));
        assert_eq!(touched(130, 140), Some((130, 140)));
        assert_eq!(touched(192, 512), Some((320, 384)));
        assert_eq!(touched(384, 512), None);
        assert_eq!([touched(64, 64), touched(140, 140)], [None, None]);
    }
}

//! The dirty lines of an object: those that its only writer marked, those that any thread marked, and those of an open stream.

use std::fmt;

use super::line_map::LineMap;
use super::open::OpenLines;
use super::own::OwnLines;
use super::page_words::page_mask;
use crate::error::Result;
use crate::units::{LineRange, PAGE_LINES, PageLines};

/// The place of the marks of a guard or a submission. A flush takes those of both places.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Marks {
    /// Words in which it alone marks, by plain loads and stores.
    Own,
    /// Words in which anyone can mark, by locked instructions.
    Shared,
}

/// The lines of an object whose newest data may be only in the CPU's cache.
pub struct DirtyLines {
    open: OpenLines,
    pub(super) own: OwnLines,
    pub(super) shared: LineMap,
}

impl DirtyLines {
    /// Creates the empty set of an object of `size_bytes` bytes.
    ///
    /// # Errors
    /// [`crate::Error::NoMemory`].
    pub(in crate::tracking) fn new(size_bytes: u64) -> Result<Self> {
        Ok(Self {
            open: OpenLines::new(),
            own: OwnLines::new(size_bytes)?,
            shared: LineMap::new(size_bytes)?,
        })
    }

    /// Returns the marks that any thread made, without those of the only writer.
    pub fn shared(&self) -> &LineMap {
        &self.shared
    }

    /// Returns the range of all lines of the object.
    #[inline]
    pub fn all(&self) -> LineRange {
        self.shared.all()
    }

    /// Marks `lines` for any thread ([`LineMap::mark`]).
    ///
    /// # Errors
    /// [`crate::Error::RangeOutOfBounds`] if `lines` exceeds the object; then no line is marked.
    pub fn mark(&self, lines: LineRange) -> Result<()> {
        self.shared.mark(lines)
    }

    /// Marks `lines`, to which the caller has stored, in its place for marks. Lines outside the object are not marked.
    #[inline]
    pub fn mark_in(&self, marks: Marks, lines: LineRange) {
        match marks {
            Marks::Own => self.own.mark(lines),
            Marks::Shared => {
                let _ = self.shared.mark(lines);
            }
        }
    }

    /// [`DirtyLines::mark_in`] for lines of one page.
    #[inline(always)]
    pub fn mark_page_in(&self, marks: Marks, lines: PageLines) {
        match marks {
            Marks::Own => self.own.mark_page(lines),
            Marks::Shared => self.shared.mark_page(lines),
        }
    }

    /// Marks every line of the object.
    pub fn mark_all(&self) {
        self.shared.mark_all();
    }

    /// Opens a stream whose stores to `lines` are not marked at once: until [`DirtyLines::close_stream`] they count as dirty. A stream
    /// around the cache has none, but an end. Returns whether no other stream was open, of which the object can have one.
    pub fn open_stream(&self, lines: LineRange) -> bool {
        self.open.open(lines)
    }

    /// Leaves the lines from `first` on to the stream, which has marked the others. Only for the stream.
    pub fn advance_stream(&self, first: u64) {
        self.open.advance(first);
    }

    /// Closes the stream, which has marked the lines that it stored to. Only for the stream.
    pub fn close_stream(&self) {
        self.open.close();
    }

    /// Returns whether a stream is open.
    #[inline]
    pub(in crate::tracking) fn has_stream(&self) -> bool {
        !self.open.is_empty()
    }

    /// Marks the open ones of `lines`, for a flush that is about to take marks.
    #[inline]
    fn mark_open(&self, lines: LineRange) {
        if !self.open.is_empty() {
            let _ = self.shared.mark(self.open.lines().intersection(lines));
        }
    }

    /// Returns whether a line of `lines` is dirty; like [`LineMap::any`].
    pub fn any(&self, lines: LineRange) -> bool {
        !self.open.lines().intersection(lines).is_empty() || self.own.any(lines) || self.shared.any(lines)
    }

    /// Returns whether a check of a few words suffices to see that no line of `lines` is dirty; like
    /// [`LineMap::any`].
    #[inline]
    pub fn is_quickly_clean(&self, lines: LineRange) -> bool {
        // The open lines first: those that are no longer open are marked.
        self.open.is_empty() && self.own.is_empty() && self.shared.is_quickly_clean(lines)
    }

    /// Returns whether no line is dirty; like [`LineMap::any`].
    pub fn is_clean(&self) -> bool {
        self.open.is_empty() && !self.own.any(self.all()) && self.shared.is_clean()
    }

    /// Returns the number of dirty lines.
    pub fn count(&self) -> u64 {
        let open = self.open.lines();
        if open.is_empty() && self.own.is_empty() {
            return self.shared.count();
        }
        let opened = |page: u64| {
            let part = open.intersection(LineRange::new(page * PAGE_LINES, (page + 1) * PAGE_LINES));
            if part.is_empty() { 0 } else { page_mask(page, part) }
        };
        let dirty = |page, word| self.own.of_page(page) | word | opened(page);
        self.shared.words().map(|(page, word)| u64::from(dirty(page, word).count_ones())).sum()
    }

    /// Takes the marks of the caller's own words in an in-flight flush, page by page, if `lines` are all lines of the object,
    /// and no line has another mark.
    #[inline]
    pub(in crate::tracking) fn take_own(
        &self,
        marks: Marks,
        lines: LineRange,
    ) -> Option<impl Iterator<Item = PageLines>> {
        // Not while a stream is open, which is a writer: then no other caller has marks of its own.
        let are_own = marks == Marks::Own && !self.own.is_empty() && self.shared.is_quickly_clean(lines);
        (are_own && lines == self.all()).then(|| self.own.take_all())
    }

    /// Takes the marks of `lines` in an in-flight flush, and passes the lines to `visit`; returns how many there were.
    pub(in crate::tracking) fn take_pages(
        &self,
        marks: Marks,
        lines: LineRange,
        mut visit: impl FnMut(PageLines),
    ) -> u64 {
        self.mark_open(lines);
        let mut count = 0;
        if !self.own.is_empty() {
            let is_swept = self.shared.is_swept();
            // A line that has both marks is passed once.
            let with_shared = |own: PageLines| {
                let both = if is_swept { own } else { self.shared.take_page(own, lines) };
                count += both.count();
                visit(both);
            };
            match marks {
                Marks::Own => self.own.take(lines, with_shared),
                Marks::Shared => self.own.take_shared(lines, with_shared),
            }
        }
        count + self.shared.take_pages_in_flight(lines, visit)
    }
}

impl fmt::Debug for DirtyLines {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {} lines", self.count(), self.all().count())
    }
}

//! Bytes, cache lines and pages, and checked ranges of them.
//!
//! A [`ByteRange`] lies within an object of a known size: a caller can create one only with
//! [`ByteRange::within`]. Lines and pages derived from it need no check.
//!
//! ```
//! use gem_coherency::units::ByteRange;
//!
//! let range = ByteRange::within(4076, 100, 8192)?;
//! assert_eq!(range.lines().indices(), 63..66); // the lines with a byte in it
//! assert!(ByteRange::within(u64::MAX, 2, 8192).is_err());
//! # Ok::<(), gem_coherency::Error>(())
//! ```

use std::ops::Range;

use crate::error::{Error, Result};

/// Size of a page, the unit of mapping, in bytes.
pub use crate::vocabulary::PAGE_BYTES;
pub use gem_coherency_cacheops::{LINE_BYTES, PAGE_LINES};

/// A range of bytes that lies within an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ByteRange {
    offset: u64,
    len: u64,
}

impl ByteRange {
    /// Creates the range `offset..offset + len` of an object of `size` bytes.
    ///
    /// # Errors
    /// [`Error::RangeOutOfBounds`] if it does not lie within the object, or the end overflows.
    #[inline]
    pub fn within(offset: u64, len: u64, size: u64) -> Result<Self> {
        match offset.checked_add(len) {
            Some(end) if end <= size => Ok(Self { offset, len }),
            _ => Err(Error::RangeOutOfBounds { offset, len, size }),
        }
    }

    /// Returns the range `offset..offset + len`, if it lies within this one.
    #[inline(always)]
    pub fn part(self, offset: u64, len: u64) -> Option<Self> {
        let end = offset.checked_add(len)?;
        (offset >= self.offset && end <= self.end()).then_some(Self { offset, len })
    }

    /// Returns the first byte.
    pub const fn offset(self) -> u64 {
        self.offset
    }

    /// Returns the number of bytes.
    pub const fn len(self) -> u64 {
        self.len
    }

    /// Returns the end: one past the last byte.
    pub const fn end(self) -> u64 {
        self.offset + self.len
    }

    /// Returns whether the range has no bytes.
    pub const fn is_empty(self) -> bool {
        self.len == 0
    }

    /// Returns the lines with at least one byte in the range, if there are some, and they are in one page.
    #[inline(always)]
    pub fn lines_of_page(self) -> Option<PageLines> {
        let page = self.offset / PAGE_BYTES;
        let last = self.end().checked_sub(1).filter(|last| *last >= self.offset)?;
        if last / PAGE_BYTES != page {
            return None;
        }
        let (first, last) = (self.offset / LINE_BYTES % PAGE_LINES, last / LINE_BYTES % PAGE_LINES);
        Some(PageLines::new(page, (u64::MAX << first) & (u64::MAX >> (PAGE_LINES - 1 - last))))
    }

    /// Returns every line with at least one byte in the range.
    pub const fn lines(self) -> LineRange {
        if self.len == 0 {
            return LineRange { first: self.offset / LINE_BYTES, end: self.offset / LINE_BYTES };
        }
        LineRange { first: self.offset / LINE_BYTES, end: self.end().div_ceil(LINE_BYTES) }
    }

    /// Returns the lines that the range covers only in part: none, one, or the first and the last.
    ///
    /// A store to possibly stale lines must invalidate them first.
    pub fn partial_lines(self) -> impl Iterator<Item = u64> {
        let lines = self.lines();
        let head = (!self.is_empty() && self.offset % LINE_BYTES != 0).then_some(lines.first);
        let tail = (!self.is_empty() && self.end() % LINE_BYTES != 0).then(|| lines.end - 1);
        head.into_iter().chain(tail.filter(move |_| tail != head))
    }
}

/// A range of cache lines of an object, by index.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct LineRange {
    first: u64,
    end: u64,
}

impl LineRange {
    /// Creates the range `first..end`, which is empty if `end <= first`.
    pub const fn new(first: u64, end: u64) -> Self {
        Self { first, end: if end < first { first } else { end } }
    }

    /// Returns the first line.
    pub const fn first(self) -> u64 {
        self.first
    }

    /// Returns the end: one past the last line.
    pub const fn end(self) -> u64 {
        self.end
    }

    /// Returns the number of lines.
    pub const fn count(self) -> u64 {
        self.end - self.first
    }

    /// Returns whether the range has no lines.
    pub const fn is_empty(self) -> bool {
        self.first == self.end
    }

    /// Returns the lines that are in both ranges.
    pub fn intersection(self, other: Self) -> Self {
        Self::new(self.first.max(other.first), self.end.min(other.end))
    }

    /// Returns the size of the lines in bytes.
    pub const fn bytes(self) -> u64 {
        self.count() * LINE_BYTES
    }

    /// Returns the line indices.
    pub const fn indices(self) -> Range<u64> {
        self.first..self.end
    }

    /// Returns the numbers of lines as text: `0-15, 37`.
    pub fn list(lines: &[Self]) -> String {
        let one = |lines: &Self| match lines.count() {
            1 => lines.first.to_string(),
            _ => format!("{}-{}", lines.first, lines.end - 1),
        };
        lines.iter().map(one).collect::<Vec<_>>().join(", ")
    }

    /// Adds the range after others: it extends the last one if it continues it.
    pub fn push_to(self, ranges: &mut Vec<Self>) {
        match ranges.last_mut() {
            Some(last) if last.end == self.first => last.end = self.end,
            Some(_) | None => ranges.push(self),
        }
    }

    /// Sorts ranges, and makes one of those that overlap or adjoin.
    pub fn unite(ranges: &mut Vec<Self>) {
        ranges.sort_unstable_by_key(|range| range.first);
        ranges.dedup_by(|next, last| {
            let adjoin = next.first <= last.end;
            if adjoin {
                last.end = last.end.max(next.end);
            }
            adjoin
        });
    }
}

/// Cache lines of one page of an object: bit n of a word is the page's line n.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PageLines {
    page: u64,
    mask: u64,
}

impl PageLines {
    /// Returns the lines of page `page` whose bits are set in `mask`.
    pub const fn new(page: u64, mask: u64) -> Self {
        Self { page, mask }
    }

    /// Returns the page's index.
    pub const fn page(self) -> u64 {
        self.page
    }

    /// Returns a bit for each line.
    pub const fn mask(self) -> u64 {
        self.mask
    }

    /// Returns the number of lines.
    pub const fn count(self) -> u64 {
        self.mask.count_ones() as u64
    }

    /// Returns the offset of the page's first byte.
    #[inline]
    pub const fn start_bytes(self) -> u64 {
        self.page.saturating_mul(PAGE_BYTES)
    }

    /// Returns the number of bytes from the page's start to the end of its last line in the set.
    pub const fn end_bytes(self) -> u64 {
        (PAGE_LINES - self.mask.leading_zeros() as u64) * LINE_BYTES
    }

    /// Returns the lines as the longest possible ranges, in order.
    pub fn runs(self) -> impl Iterator<Item = LineRange> {
        let mut left = self.mask;
        std::iter::from_fn(move || {
            if left == 0 {
                return None;
            }
            let start = left.trailing_zeros();
            let length = (left >> start).trailing_ones();
            left &= !((u64::MAX >> (u64::BITS - length)) << start);
            let first = self.page * PAGE_LINES + u64::from(start);
            Some(LineRange::new(first, first + u64::from(length)))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_past_the_end_is_refused_with_its_operands() {
        assert!(ByteRange::within(0, 4096, 4096).is_ok());
        assert!(ByteRange::within(4096, 0, 4096).is_ok());
        for (offset, len) in [(0, 4097), (4096, 1), (u64::MAX, 1), (1, u64::MAX)] {
            let error = ByteRange::within(offset, len, 4096).unwrap_err();
            assert!(error.to_string().contains(&offset.to_string()), "{error}");
        }
    }

    #[test]
    fn ranges_that_adjoin_or_overlap_become_one() {
        let mut ranges = Vec::new();
        for (first, end) in [(8, 9), (9, 10), (20, 22), (4, 6)] {
            LineRange::new(first, end).push_to(&mut ranges);
        }
        assert_eq!(ranges, [(8, 10), (20, 22), (4, 6)].map(|(first, end)| LineRange::new(first, end)));
        ranges.extend([(6, 7), (21, 30), (24, 25)].map(|(first, end)| LineRange::new(first, end)));
        LineRange::unite(&mut ranges);
        assert_eq!(ranges, [(4, 7), (8, 10), (20, 30)].map(|(first, end)| LineRange::new(first, end)));
    }

    #[test]
    fn write_at_line_end_touches_two_lines() {
        let lines = ByteRange::within(60, 8, 4096).unwrap().lines();
        assert_eq!((lines.first(), lines.end(), lines.bytes()), (0, 2, 128));
        assert!(ByteRange::within(60, 0, 4096).unwrap().lines().is_empty());
    }

    #[test]
    fn partial_lines_are_the_ragged_edges() {
        let partial =
            |offset, len| ByteRange::within(offset, len, 4096).unwrap().partial_lines().collect::<Vec<_>>();
        assert_eq!(partial(0, 128), []);
        assert_eq!(partial(4, 8), [0]);
        assert_eq!(partial(60, 8), [0, 1]);
        assert_eq!(partial(64, 65), [2]);
        assert_eq!(partial(4, 60), [0]);
        assert_eq!(partial(4, 0), []);
    }

    #[test]
    fn the_runs_of_a_page_are_its_lines_and_no_two_touch() {
        for mask in [0, 1, u64::MAX, 1 << 63, 0x8000_0000_0000_0001, 0x00ff_0f0f_5555_0001, !(1 << 31)] {
            let lines = PageLines::new(3, mask);
            let runs: Vec<_> = lines.runs().collect();
            assert!(runs.windows(2).all(|pair| pair[0].end() < pair[1].first()), "{runs:?}");
            let listed: Vec<_> = runs.iter().flat_map(|run| run.indices()).collect();
            let set: Vec<_> = (0..64).filter(|bit| mask >> bit & 1 != 0).map(|bit| 192 + bit).collect();
            assert_eq!((listed, lines.count()), (set.clone(), set.len() as u64));
        }
    }
}

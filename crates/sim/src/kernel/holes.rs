//! Free ranges of a number space: pages of the device's file, or GPU addresses (`drm_mm`).
//!
//! An allocation takes the smallest range that fits, as with `DRM_MM_INSERT_BEST`. Finding, taking and
//! releasing a range take time logarithmic in the number of ranges.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// Which range of several with the same length is taken first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Prefer {
    /// The most recently freed one, as in the kernel.
    Youngest,
    /// The one with the lowest start, so that an upper limit is met soon.
    Lowest,
}

/// A range's length, age and start.
type Key = (u64, Reverse<u64>, u64);

/// The free ranges.
#[derive(Debug)]
pub(crate) struct Holes {
    prefer: Prefer,
    by_length: BTreeSet<Key>,
    by_start: BTreeMap<u64, Key>,
    /// Number of ranges created so far.
    made: u64,
}

impl Holes {
    /// Creates a space in which all of `range` is free.
    pub(crate) fn new(range: Range<u64>, prefer: Prefer) -> Self {
        let mut holes = Self { prefer, by_length: BTreeSet::new(), by_start: BTreeMap::new(), made: 0 };
        holes.add(range);
        holes
    }

    /// Returns the free ranges of at least this length, shortest first.
    pub(crate) fn fitting(&self, len: u64) -> impl Iterator<Item = Range<u64>> {
        let first: Key = (len, Reverse(u64::MAX), 0);
        self.by_length.range(first..).map(|&(len, _, start)| start..start + len)
    }

    /// Takes `range`; returns whether all of it was free.
    pub(crate) fn take(&mut self, range: Range<u64>) -> bool {
        let Some((&start, &(len, ..))) = self.by_start.range(..=range.start).next_back() else {
            return false;
        };
        let end = start + len;
        if range.end > end {
            return false;
        }
        self.remove(start);
        self.add(start..range.start);
        self.add(range.end..end);
        true
    }

    /// Releases a range, merging it with its free neighbours.
    pub(crate) fn give(&mut self, range: Range<u64>) {
        let Range { mut start, mut end } = range;
        if let Some((&before, &(len, ..))) = self.by_start.range(..start).next_back()
            && before + len == start
        {
            self.remove(before);
            start = before;
        }
        if let Some(&(len, ..)) = self.by_start.get(&end) {
            self.remove(end);
            end += len;
        }
        self.add(start..end);
    }

    fn add(&mut self, range: Range<u64>) {
        if range.is_empty() {
            return;
        }
        self.made += 1;
        let age = match self.prefer {
            Prefer::Youngest => self.made,
            Prefer::Lowest => 0,
        };
        let key = (range.end - range.start, Reverse(age), range.start);
        self.by_length.insert(key);
        self.by_start.insert(range.start, key);
    }

    fn remove(&mut self, start: u64) {
        if let Some(key) = self.by_start.remove(&start) {
            self.by_length.remove(&key);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with_holes(prefer: Prefer, holes: &[Range<u64>]) -> Holes {
        let mut all = Holes::new(0..100, prefer);
        assert!(all.take(0..100));
        holes.iter().for_each(|hole| all.give(hole.clone()));
        all
    }

    #[test]
    fn the_shortest_that_fits_comes_first_then_the_youngest_or_the_lowest() {
        let holes = [40..42, 10..12, 0..5, 60..62];
        for (prefer, expected) in [(Prefer::Youngest, [60, 10, 40, 0]), (Prefer::Lowest, [10, 40, 60, 0])] {
            let holes = with_holes(prefer, &holes);
            assert_eq!(holes.fitting(1).map(|hole| hole.start).collect::<Vec<_>>(), expected, "{prefer:?}");
            assert!(holes.fitting(3).eq(std::iter::once(0..5)));
            assert_eq!(holes.fitting(6).next(), None);
        }
    }

    #[test]
    fn what_is_taken_is_not_free_and_what_is_given_back_joins_its_neighbours() {
        let mut holes = with_holes(Prefer::Lowest, &[10..20, 30..40]);
        assert!(!holes.take(5..11) && !holes.take(19..21) && !holes.take(20..30) && !holes.take(15..35));
        assert!(holes.take(12..15));
        assert_eq!(holes.fitting(1).collect::<Vec<_>>(), [10..12, 15..20, 30..40]);
        holes.give(12..15);
        holes.give(20..30);
        assert!(holes.fitting(1).eq(std::iter::once(10..40)));
    }
}

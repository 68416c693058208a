//! Sets of an object's lines.

use gem_coherency::units::LineRange;

/// A set of lines: ranges in order, which do not touch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct LineSet(Vec<LineRange>);

impl LineSet {
    /// Returns the lines in any of the ranges.
    pub(super) fn of(ranges: &[LineRange]) -> Self {
        let mut sorted: Vec<LineRange> = ranges.iter().copied().filter(|range| !range.is_empty()).collect();
        sorted.sort_unstable_by_key(|range| range.first());
        let mut merged: Vec<LineRange> = Vec::with_capacity(sorted.len());
        for range in sorted {
            match merged.last_mut().filter(|last| range.first() <= last.end()) {
                Some(last) => *last = LineRange::new(last.first(), last.end().max(range.end())),
                None => merged.push(range),
            }
        }
        Self(merged)
    }

    /// Returns the lines that are in either set.
    pub(super) fn union(&self, other: &Self) -> Self {
        Self::of(&[&self.0[..], &other.0].concat())
    }

    /// Returns the lines that are in both sets.
    pub(super) fn intersection(&self, other: &Self) -> Self {
        let mut both = Vec::new();
        let (mut mine, mut theirs) = (self.0.iter().peekable(), other.0.iter().peekable());
        while let (Some(one), Some(two)) = (mine.peek(), theirs.peek()) {
            both.push(LineRange::new(one.first().max(two.first()), one.end().min(two.end())));
            if one.end() <= two.end() {
                mine.next();
            } else {
                theirs.next();
            }
        }
        Self::of(&both)
    }

    /// Returns the lines that are not in `other`.
    pub(super) fn minus(&self, other: &Self) -> Self {
        let mut left = Vec::new();
        let mut others = other.0.iter().peekable();
        for range in &self.0 {
            let mut first = range.first();
            while let Some(hole) = others.peek().filter(|hole| hole.first() < range.end()) {
                left.push(LineRange::new(first, hole.first().max(first)));
                first = first.max(hole.end());
                if hole.end() > range.end() {
                    break;
                }
                others.next();
            }
            left.push(LineRange::new(first, range.end()));
        }
        Self::of(&left)
    }

    /// Returns whether there is no line.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the ranges.
    pub(super) fn ranges(&self) -> &[LineRange] {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the set of the lines whose bits are set.
    fn set(bits: u16) -> LineSet {
        let ranges: Vec<_> =
            (0..16).filter(|line| bits & 1 << line != 0).map(|line| LineRange::new(line, line + 1)).collect();
        LineSet::of(&ranges)
    }

    #[test]
    fn operations_agree_with_those_on_bits() {
        let mut bits = 1_u32;
        for _ in 0..20_000 {
            bits = bits.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let (one, two) = ((bits >> 16) as u16, (bits >> 3) as u16);
            assert_eq!(set(one).union(&set(two)), set(one | two), "{one:x} {two:x}");
            assert_eq!(set(one).intersection(&set(two)), set(one & two), "{one:x} {two:x}");
            assert_eq!(set(one).minus(&set(two)), set(one & !two), "{one:x} {two:x}");
        }
    }

    #[test]
    fn ranges_that_touch_are_one() {
        let ranges = [LineRange::new(4, 6), LineRange::new(0, 2), LineRange::new(2, 3), LineRange::new(9, 9)];
        assert_eq!(LineSet::of(&ranges).ranges(), [LineRange::new(0, 3), LineRange::new(4, 6)]);
        assert!(set(0).is_empty());
    }
}

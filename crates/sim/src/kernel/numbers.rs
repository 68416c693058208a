//! A number allocator that returns the lowest free number first, like the kernel's idr.

use std::collections::BTreeSet;
use std::ops::RangeInclusive;

/// The free numbers of a range.
#[derive(Debug)]
pub(crate) struct Numbers {
    /// Released numbers, all below `fresh`.
    back: BTreeSet<u32>,
    /// Numbers that were never taken.
    fresh: RangeInclusive<u32>,
}

impl Numbers {
    /// Creates an allocator in which all of `range` is free.
    pub(crate) fn new(range: RangeInclusive<u32>) -> Self {
        Self { back: BTreeSet::new(), fresh: range }
    }

    /// Takes the lowest free number; `None` if none is left.
    pub(crate) fn take(&mut self) -> Option<u32> {
        self.back.pop_first().or_else(|| self.fresh.next())
    }

    /// Releases a number.
    pub(crate) fn give(&mut self, number: u32) {
        self.back.insert(number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lowest_free_number_is_the_next_until_none_is_left() {
        let mut numbers = Numbers::new(1..=4);
        assert_eq!([numbers.take(), numbers.take(), numbers.take()], [Some(1), Some(2), Some(3)]);
        numbers.give(3);
        numbers.give(1);
        let rest: Vec<_> = std::iter::from_fn(|| numbers.take()).collect();
        assert_eq!(rest, [1, 3, 4]);
    }
}

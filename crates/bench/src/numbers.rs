//! Reproducible pseudo-random numbers.

use std::collections::BTreeSet;

/// A pseudo-random number generator (xorshift).
#[derive(Clone, Debug)]
pub struct Numbers(u64);

impl Numbers {
    /// Creates a generator with a fixed seed.
    pub fn new() -> Self {
        Self(0x9e37_79b9_7f4a_7c15)
    }

    /// Returns a number below `end`; 0 if `end` is 0.
    pub fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.checked_rem(end).unwrap_or(0)
    }

    /// Returns `count` different numbers below `end`; all of them if there are fewer.
    pub fn different(&mut self, count: u64, end: u64) -> BTreeSet<u64> {
        let mut chosen = BTreeSet::new();
        while (chosen.len() as u64) < count.min(end) {
            chosen.insert(self.below(end));
        }
        chosen
    }

    /// Shuffles `values` (Fisher and Yates).
    pub fn shuffle<T>(&mut self, values: &mut [T]) {
        for last in (1..values.len()).rev() {
            let other = self.below(last as u64 + 1) as usize;
            values.swap(last, other);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_cover_the_whole_range() {
        let mut numbers = Numbers::new();
        let seen: BTreeSet<_> = (0..1000).map(|_| numbers.below(10)).collect();
        assert_eq!(seen.into_iter().collect::<Vec<_>>(), (0..10).collect::<Vec<_>>());
        assert_eq!(numbers.below(0), 0);
    }

    #[test]
    fn different_numbers_are_as_many_as_asked_for_and_as_there_are() {
        let mut numbers = Numbers::new();
        assert_eq!(numbers.different(5, 10).len(), 5);
        assert_eq!(numbers.different(9, 4).into_iter().collect::<Vec<_>>(), [0, 1, 2, 3]);
    }

    #[test]
    fn shuffling_reaches_every_order_and_keeps_every_value() {
        let mut numbers = Numbers::new();
        let mut values = [1, 2, 3];
        let orders: BTreeSet<_> = (0..200)
            .map(|_| {
                numbers.shuffle(&mut values);
                values
            })
            .collect();
        assert_eq!(orders.len(), 6);
        assert!(orders.iter().all(|order| order.iter().sum::<i32>() == 6));
    }
}

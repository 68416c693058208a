//! Random choice of lines, of dwords in them, and of values.

use gem_coherency::units::LINE_BYTES;

/// Dwords of a line.
const DWORDS: u64 = LINE_BYTES / 4;

/// A seeded random number generator (SplitMix64, with its increment and multipliers).
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// Creates a generator with this seed.
    pub const fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Returns a number below `limit`, or 0.
    fn below(&mut self, limit: u64) -> u64 {
        self.next().checked_rem(limit).unwrap_or(0)
    }
}

/// A store of a little-endian dword.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Store {
    /// The offset in bytes, a multiple of 4.
    pub offset: u64,
    /// The value.
    pub value: u32,
}

/// The stores of one round.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Round {
    /// The old values, each with another dword of its line that is not overwritten.
    pub over: Vec<Store>,
    /// The new values.
    pub write: Vec<Store>,
}

impl Round {
    /// Chooses stores to `count` of `lines` lines.
    pub fn new(random: &mut Random, lines: u64, count: u64) -> Self {
        let mut order: Vec<u64> = (0..lines).collect();
        let mut round = Self { over: Vec::new(), write: Vec::new() };
        for place in 0..count.min(lines) {
            let other = place + random.below(lines - place);
            order.swap(place as usize, other as usize);
            let line = order.get(place as usize).copied().unwrap_or(0);
            let dword = random.below(DWORDS);
            let beside = (dword + 1 + random.below(DWORDS - 1)) % DWORDS;
            let at = |dword| line * LINE_BYTES + 4 * dword;
            let value = random.next() as u32;
            round.over.push(Store { offset: at(dword), value: !value });
            round.over.push(Store { offset: at(beside), value: random.next() as u32 });
            round.write.push(Store { offset: at(dword), value });
        }
        round
    }
}

/// The rounds of a quick run: one whose reader has not read before, and one whose reader has.
const QUICK: [u64; 2] = [3, 7];

/// Returns the number of lines to store to, for each round: 1, and the primes up to `lines`; only two if
/// `quick`.
pub fn counts(lines: u64, quick: bool) -> Vec<u64> {
    let divisors = |number: u64| (2..number).take_while(move |by| by * by <= number);
    let is_prime = |number: u64| !divisors(number).any(|by| number.is_multiple_of(by));
    let all = (1..=lines).filter(|&number| is_prime(number));
    if quick { all.filter(|number| QUICK.contains(number)).collect() } else { all.collect() }
}

/// Performs stores on `bytes`.
pub fn apply(stores: &[Store], bytes: &mut [u8]) {
    for store in stores {
        let at = store.offset as usize;
        if let Some(dword) = bytes.get_mut(at..at + 4) {
            dword.copy_from_slice(&store.value.to_le_bytes());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn counts_are_one_and_the_primes() {
        assert_eq!(counts(20, false), [1, 2, 3, 5, 7, 11, 13, 17, 19]);
        assert_eq!(counts(64, true), [3, 7]);
        assert_eq!(counts(1, false), [1]);
    }

    #[test]
    fn a_round_stores_to_as_many_lines_and_keeps_a_dword_of_each() {
        let mut random = Random::new(3);
        for count in [1, 7, 61, 64] {
            let round = Round::new(&mut random, 64, count);
            let lines: BTreeSet<_> = round.write.iter().map(|store| store.offset / LINE_BYTES).collect();
            assert_eq!(lines.len() as u64, count);
            let overwritten: BTreeSet<_> = round.write.iter().map(|store| store.offset).collect();
            for [old, kept] in round.over.chunks(2).map(|pair| [pair[0], pair[1]]) {
                assert!(overwritten.contains(&old.offset) && !overwritten.contains(&kept.offset));
                assert_eq!(old.offset / LINE_BYTES, kept.offset / LINE_BYTES);
            }
            let mut bytes = vec![0; 4096];
            apply(&round.over, &mut bytes);
            apply(&round.write, &mut bytes);
            let values = round.write.iter().zip(&round.over[..]);
            assert!(values.count() == round.write.len());
        }
        assert_eq!(Round::new(&mut Random::new(5), 64, 9), Round::new(&mut Random::new(5), 64, 9));
        assert_ne!(Round::new(&mut Random::new(5), 64, 9), Round::new(&mut Random::new(6), 64, 9));
    }
}

//! Spontaneous cache activity, seeded so that it is reproducible.

use gem_coherency::units::{LineRange, PAGE_LINES};
use gem_coherency_memory_model::CacheMove;

/// Attempts before each access.
const ATTEMPTS: usize = 4;

/// Chooses spontaneous cache activity for one object.
#[derive(Clone, Debug)]
pub(crate) struct Adversary {
    state: u64,
}

/// A spontaneous cache event to try on some lines.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Attempt {
    /// The lines that it concerns.
    pub(crate) lines: LineRange,
    /// The event.
    pub(crate) cache_move: CacheMove,
}

impl Adversary {
    /// Creates the adversary of object `id` of a device with this seed.
    pub(crate) fn new(seed: u64, id: u64) -> Self {
        Self { state: seed ^ id.wrapping_mul(0xd1b5_4a32_d192_ed03) }
    }

    /// Returns the next pseudo-random number (SplitMix64, with its increment and multipliers).
    fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Returns a number below `limit`, or 0 if `limit` is 0.
    fn below(&mut self, limit: u64) -> u64 {
        self.next().checked_rem(limit).unwrap_or(0)
    }

    /// Returns the events to try before an access to an object of `pages` pages.
    pub(crate) fn attempts(&mut self, pages: u64) -> Vec<Attempt> {
        (0..ATTEMPTS).map(|_| self.attempt(pages)).collect()
    }

    fn attempt(&mut self, pages: u64) -> Attempt {
        let page = self.below(pages);
        let first = page * PAGE_LINES + self.below(PAGE_LINES);
        let end = first + 1 + self.below((page + 1) * PAGE_LINES - first);
        let cache_move = CacheMove::ALL.get(self.below(CacheMove::ALL.len() as u64) as usize).copied();
        Attempt { lines: LineRange::new(first, end), cache_move: cache_move.unwrap_or(CacheMove::Evict) }
    }

    /// Decides whether the write-combining buffers drain now.
    pub(crate) fn drains(&mut self) -> bool {
        self.below(4) == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_makes_the_same_trouble_within_the_object() {
        let (mut one, mut same, mut other) =
            (Adversary::new(7, 1), Adversary::new(7, 1), Adversary::new(8, 1));
        let text = |adversary: &mut Adversary| format!("{:?}", adversary.attempts(3));
        let first = text(&mut one);
        assert_eq!(first, text(&mut same));
        assert_ne!(first, text(&mut other));
        for attempt in (0..100).flat_map(|_| one.attempts(3)) {
            assert!(!attempt.lines.is_empty() && attempt.lines.end() <= 3 * PAGE_LINES, "{attempt:?}");
        }
    }
}

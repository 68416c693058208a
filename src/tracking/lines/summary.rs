//! A summary of the pages of a large line map that may have marks, so that the others can be skipped.
//!
//! It has two levels: a *group* is a word with a bit for each of 64 pages, and the *top* word has a bit for
//! each of at most 63 runs of groups. A mark's bits are set before the marking call returns
//! ([`Summary::note`]). Bits outlive the marks until a sweep, which happens only while no in-flight flush is
//! open. A flush can therefore rely on pages without a bit having no marks, and no marks taken by another
//! flush.
//!
//! A map of few pages has no groups. Its top word says whether it ever had a mark, and is never swept.
//!
//! Outside of an in-flight flush only [`Summary::is_empty`] is reliable: the top word is not 0 during a sweep of
//! the groups.

use std::ops::Range;

use crate::sync::{AtomicU64, Ordering, full_fence, peek, zeroed_words};

/// Largest number of pages without groups: checking all words is as fast.
pub(super) const FEW_PAGES: u64 = 8;
/// Pages per group. Few under loom, so that the models' small maps have several groups.
const GROUP_PAGES: u64 = if cfg!(loom) { FEW_PAGES } else { u64::BITS as u64 };
/// Runs of groups with a bit in the top word, above which is [`SWEEPING`]. Under loom one, which has several groups.
const RUNS: u64 = if cfg!(loom) { 1 } else { u64::BITS as u64 - 1 };
/// Bit of the top word: the groups are incomplete during a sweep.
const SWEEPING: u64 = 1 << RUNS;

/// The words of a line map that may have bits.
#[derive(Debug)]
pub(super) struct Summary {
    groups: Box<[AtomicU64]>,
    top: AtomicU64,
    /// Groups per run, as a power of two.
    shift: u32,
}

/// Returns a word with the bits of `range` set.
fn bits(range: Range<u64>) -> u64 {
    if range.is_empty() {
        0
    } else {
        (u64::MAX >> (u64::from(u64::BITS) - (range.end - range.start))) << range.start
    }
}

/// Returns the longest runs of set bits in a word.
fn runs(mut word: u64) -> impl Iterator<Item = Range<u64>> {
    std::iter::from_fn(move || {
        if word == 0 {
            return None;
        }
        let start = u64::from(word.trailing_zeros());
        let end = start + u64::from((word >> start).trailing_ones());
        word &= !bits(start..end);
        Some(start..end)
    })
}

impl Summary {
    /// Creates the summary of a map of `pages` pages without marks; `None` if it cannot be allocated.
    pub(super) fn new(pages: usize) -> Option<Self> {
        let groups = if pages as u64 <= FEW_PAGES { 0 } else { pages.div_ceil(GROUP_PAGES as usize) };
        let groups = zeroed_words(groups)?;
        let shift = (groups.len() as u64).div_ceil(RUNS).next_power_of_two().trailing_zeros();
        Some(Self { groups, top: AtomicU64::new(0), shift })
    }

    /// Returns whether no page may have marks.
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        // A mark that happened before this call set its bit or found it set, and per-location coherence shows it
        // unless a sweep cleared it, which found no marks. Acquire: a thread that finds the map swept sees what
        // happened before the sweep, the flushes that took the marks included (`Tracked::may_be_stale`).
        self.top.load(Ordering::Acquire) == 0
    }

    /// Notes that the words of `pages`, which must be in the map, got bits by a SeqCst store.
    ///
    /// A sweep either sees those bits, or ended before this function checks the summary, which it then finds
    /// empty: each side stores first, then loads the other's word. The same holds for a group and the top word: a sweep either
    /// sees the group's bit, or this function finds the run's bit gone.
    pub(super) fn note(&self, pages: Range<u64>) {
        if pages.is_empty() {
            return;
        }
        if self.groups.is_empty() {
            return set(&self.top, 1);
        }
        let groups = pages.start / GROUP_PAGES..pages.end.div_ceil(GROUP_PAGES);
        for (index, group) in (groups.start..).zip(self.groups(groups.clone())) {
            set(group, in_group(index, &pages));
        }
        full_fence();
        set(&self.top, bits(groups.start >> self.shift..((groups.end - 1) >> self.shift) + 1));
    }

    /// [`Summary::note`] for one page.
    #[inline]
    pub(super) fn note_page(&self, page: u64) {
        if self.groups.is_empty() {
            return set(&self.top, 1);
        }
        let group = page / GROUP_PAGES;
        if let Some(word) = self.groups.get(group as usize) {
            set(word, 1 << (page % GROUP_PAGES));
            full_fence();
            set(&self.top, 1 << (group >> self.shift));
        }
    }

    /// Returns the runs of those of `pages` that may have marks; only for use in an in-flight flush.
    pub(super) fn pages(&self, pages: Range<u64>) -> impl Iterator<Item = Range<u64>> {
        // Relaxed: as in `is_empty`.
        let top = peek(&self.top, Ordering::Relaxed);
        let all = (self.groups.is_empty() && top != 0).then(|| pages.clone());
        let requested = pages.start / GROUP_PAGES..pages.end.div_ceil(GROUP_PAGES);
        let of_groups = self
            .run_groups(top)
            .map(move |groups| groups.start.max(requested.start)..groups.end.min(requested.end))
            .flat_map(|groups| (groups.start..).zip(self.groups(groups)))
            .flat_map(move |(index, group)| {
                let word = peek(group, Ordering::Relaxed) & in_group(index, &pages);
                let first = index * GROUP_PAGES;
                runs(word).map(move |run| first + run.start..first + run.end)
            });
        all.into_iter().chain(of_groups)
    }

    /// Returns whether a sweep may remove pages.
    #[inline]
    pub(super) fn can_be_swept(&self) -> bool {
        !self.is_empty() && !self.groups.is_empty()
    }

    /// Removes the pages for which `is_marked`, which must check a page's word by a SeqCst load, returns
    /// false.
    ///
    /// Call it only while no flush is open and none can begin, and on one thread at a time.
    pub(super) fn sweep(&self, is_marked: impl Fn(u64) -> bool) {
        if self.groups.is_empty() || peek(&self.top, Ordering::Relaxed) == 0 {
            return;
        }
        let top = self.top.swap(SWEEPING, Ordering::SeqCst);
        full_fence();
        for groups in self.run_groups(top) {
            for (index, group) in (groups.start..).zip(self.groups(groups)) {
                if peek(group, Ordering::SeqCst) == 0 {
                    continue;
                }
                let word = group.swap(0, Ordering::SeqCst);
                let mut left = word;
                while left != 0 {
                    let page = index * GROUP_PAGES + u64::from(left.trailing_zeros());
                    left &= left - 1;
                    if is_marked(page) {
                        self.note_page(page);
                    }
                }
            }
        }
        // Under C++11's rules, which Miri follows, a SeqCst load may read an older store that is not SeqCst.
        // Every store to this word is therefore SeqCst.
        self.top.fetch_and(!SWEEPING, Ordering::SeqCst);
    }

    fn groups(&self, groups: Range<u64>) -> impl Iterator<Item = &AtomicU64> {
        self.groups.get(groups.start as usize..groups.end as usize).unwrap_or_default().iter()
    }

    /// Returns the groups of the runs whose bits are set in `top`.
    fn run_groups(&self, top: u64) -> impl Iterator<Item = Range<u64>> {
        let (shift, count) = (self.shift, self.groups.len() as u64);
        runs(top & !SWEEPING).map(move |run| run.start << shift..(run.end << shift).min(count))
    }
}

/// Sets the bits of a word that are not yet set.
#[inline]
fn set(word: &AtomicU64, mask: u64) {
    // Usually they are set already, and a load leaves the word's cache line shared.
    if word.load(Ordering::SeqCst) & mask != mask {
        word.fetch_or(mask, Ordering::SeqCst);
    }
}

/// Returns the bits of those of `pages` that are in the group.
fn in_group(index: u64, pages: &Range<u64>) -> u64 {
    let first = index * GROUP_PAGES;
    let place = |page: u64| page.saturating_sub(first).min(GROUP_PAGES);
    bits(place(pages.start)..place(pages.end))
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    /// Returns the pages that may have marks.
    fn noted(summary: &Summary, pages: Range<u64>) -> Vec<u64> {
        summary.pages(pages).flatten().collect()
    }

    #[test]
    fn bits_of_a_range_are_its_places() {
        for (range, expected) in
            [(0..0, 0), (5..5, 0), (0..64, u64::MAX), (63..64, 1 << 63), (1..3, 6), (0..63, u64::MAX >> 1)]
        {
            assert_eq!(bits(range.clone()), expected, "{range:?}");
            assert_eq!(runs(expected).flatten().collect::<Vec<_>>(), range.collect::<Vec<_>>());
        }
    }

    #[test]
    fn a_sweep_is_for_large_maps_with_pages() {
        for (pages, is_large) in [(1, false), (64 * 64, true)] {
            let summary = Summary::new(pages).unwrap();
            assert!(!summary.can_be_swept(), "an empty one of {pages} pages");
            summary.note_page(0);
            assert_eq!(summary.can_be_swept(), is_large, "one of {pages} pages");
        }
    }

    #[test]
    fn what_was_noted_is_found_at_every_size() {
        for pages in [9_u64, 63, 64, 65, 127, 64 * 63, 64 * 63 + 1, 64 * 64, 262_144, 1 << 24] {
            let summary = Summary::new(pages as usize).unwrap();
            assert!(summary.is_empty());
            let chosen = [0, pages / 3, pages / 2, pages - 1];
            for page in chosen {
                summary.note(page..page + 1);
            }
            let expected: std::collections::BTreeSet<u64> = chosen.into_iter().collect();
            assert_eq!(noted(&summary, 0..pages), expected.iter().copied().collect::<Vec<_>>(), "{pages}");
            assert_eq!(noted(&summary, 0..0), []);
            assert_eq!(noted(&summary, pages - 1..pages), [pages - 1]);
            assert!(!summary.is_empty());
            // Exactly the pages without marks are removed.
            summary.sweep(|page| page == pages - 1);
            assert_eq!(noted(&summary, 0..pages), [pages - 1], "{pages}");
            summary.sweep(|_| false);
            assert!(summary.is_empty() && noted(&summary, 0..pages).is_empty());
        }
    }

    #[test]
    fn a_range_is_noted_across_groups_and_runs() {
        let summary = Summary::new(262_144).unwrap();
        for range in [60..70, 64..128, 4_000..5_000, 0..262_144] {
            summary.note(range.clone());
            assert_eq!(noted(&summary, range.clone()).len() as u64, range.end - range.start);
            assert_eq!(noted(&summary, 0..262_144), range.clone().collect::<Vec<_>>());
            summary.sweep(|_| false);
            summary.note(range.start..range.start);
            assert!(summary.is_empty());
        }
    }
}

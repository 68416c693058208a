//! The line map against a set of line numbers.
#![cfg(not(loom))]

use std::collections::BTreeSet;

use gem_coherency::Error;
use gem_coherency::tracking::{Completion, LineMap, Marks, Tracked, complete};
use gem_coherency::units::LineRange;
use gem_coherency::vocabulary::CacheLevel;
use proptest::prelude::*;

/// Lines of the object: three and a half pages, so that the last word is partly used.
const LINES: u64 = 3 * 64 + 32;

fn map() -> LineMap {
    LineMap::new(LINES * 64).unwrap()
}

fn marked(lines: &[(u64, u64)]) -> LineMap {
    let map = map();
    for &(first, end) in lines {
        map.mark(LineRange::new(first, end)).unwrap();
    }
    map
}

fn take(map: &LineMap, lines: LineRange) -> (u64, Vec<(u64, u64)>) {
    let mut runs = Vec::new();
    let count = map.take(lines, |run| runs.push((run.first(), run.end())));
    (count, runs)
}

/// Returns runs of consecutive numbers.
fn runs(lines: &BTreeSet<u64>) -> Vec<(u64, u64)> {
    let mut runs: Vec<(u64, u64)> = Vec::new();
    for &line in lines {
        match runs.last_mut() {
            Some((_, end)) if *end == line => *end += 1,
            _ => runs.push((line, line + 1)),
        }
    }
    runs
}

#[derive(Clone, Debug)]
enum Step {
    Mark(u64, u64),
    MarkAll,
    Take(u64, u64),
    Any(u64, u64),
}

fn step() -> impl Strategy<Value = Step> {
    // Edges of words are as likely as all other lines together.
    let line = || prop_oneof![0..=LINES, Just(0), Just(63), Just(64), Just(65), Just(128), Just(LINES)];
    prop_oneof![
        6 => (line(), line()).prop_map(|(first, end)| Step::Mark(first, end)),
        1 => Just(Step::MarkAll),
        4 => (line(), line()).prop_map(|(first, end)| Step::Take(first, end)),
        2 => (line(), line()).prop_map(|(first, end)| Step::Any(first, end)),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(2000) })]

    #[test]
    #[cfg_attr(miri, ignore = "it takes minutes")]
    fn the_map_is_a_set_of_lines(steps in prop::collection::vec(step(), 0..24)) {
        let map = map();
        let mut model = BTreeSet::new();
        for step in steps {
            match step {
                Step::Mark(first, end) => {
                    map.mark(LineRange::new(first, end)).unwrap();
                    model.extend(first..end);
                }
                Step::MarkAll => {
                    map.mark_all();
                    model.extend(0..LINES);
                }
                Step::Take(first, end) => {
                    let (inside, outside) = model.iter().partition(|line| (first..end).contains(*line));
                    let inside: BTreeSet<u64> = inside;
                    let taken = take(&map, LineRange::new(first, end));
                    prop_assert_eq!(taken, (inside.len() as u64, runs(&inside)));
                    model = outside;
                }
                Step::Any(first, end) => {
                    let any = model.iter().any(|line| (first..end).contains(line));
                    prop_assert_eq!(map.any(LineRange::new(first, end)), any);
                }
            }
            prop_assert_eq!(map.count(), model.len() as u64);
            prop_assert_eq!(map.is_clean(), model.is_empty());
        }
    }
}

#[test]
fn a_run_is_joined_across_pages() {
    let map = marked(&[(60, 70), (128, 193), (200, 201)]);
    assert_eq!(take(&map, map.all()), (76, vec![(60, 70), (128, 193), (200, 201)]));
    assert!(map.is_clean());
}

#[test]
fn lines_outside_the_taken_range_stay() {
    let map = marked(&[(0, LINES)]);
    assert_eq!(take(&map, LineRange::new(63, 130)), (67, vec![(63, 130)]));
    assert_eq!(take(&map, map.all()), (LINES - 67, vec![(0, 63), (130, LINES)]));
}

#[test]
fn a_mark_that_leaves_the_object_is_an_error_and_marks_nothing() {
    let map = map();
    for (first, end) in [(0, LINES + 1), (LINES, LINES + 1), (0, u64::MAX), (u64::MAX - 1, u64::MAX)] {
        let error = map.mark(LineRange::new(first, end)).unwrap_err();
        assert!(matches!(error, Error::RangeOutOfBounds { size, .. } if size == LINES * 64), "{error}");
    }
    assert!(map.is_clean());
    // The last line, and the empty range at the very end, are inside.
    map.mark(LineRange::new(LINES - 1, LINES)).unwrap();
    map.mark(LineRange::new(LINES, LINES)).unwrap();
    assert_eq!(map.count(), 1);
}

#[test]
fn taking_beyond_the_object_takes_its_lines_only() {
    let map = marked(&[(LINES - 1, LINES)]);
    assert!(map.any(LineRange::new(0, u64::MAX)));
    assert_eq!(take(&map, LineRange::new(LINES, u64::MAX)), (0, vec![]));
    assert_eq!(take(&map, LineRange::new(0, u64::MAX)), (1, vec![(LINES - 1, LINES)]));
}

#[test]
fn a_last_line_that_is_cut_short_is_a_line() {
    let map = LineMap::new(65).unwrap();
    assert_eq!(map.all().count(), 2);
    map.mark_all();
    assert_eq!(map.count(), 2);
}

#[test]
fn an_object_without_bytes_has_no_lines() {
    let map = LineMap::new(0).unwrap();
    map.mark_all();
    map.mark(map.all()).unwrap();
    assert_eq!((map.count(), take(&map, map.all())), (0, (0, vec![])));
}

#[test]
#[cfg_attr(miri, ignore = "Miri ends when there is not enough memory")]
fn a_map_that_no_memory_can_hold_is_an_error() {
    assert!(matches!(LineMap::new(u64::MAX), Err(Error::NoMemory { .. })));
}

/// Sizes in pages just below and above the sizes where a map gets a summary, a second group, and a second
/// run.
const SIZES: &[u64] =
    if cfg!(miri) { &[8, 9, 64, 65] } else { &[8, 9, 64, 65, 64 * 63, 64 * 63 + 1, 262_144] };

#[test]
fn a_large_map_is_a_set_of_lines_too() {
    for &pages in SIZES {
        let map = LineMap::new(pages * 4096).unwrap();
        let last = pages * 64;
        let chosen = [(0, 1), (63, 65), (last / 2, last / 2 + 3), (last - 1, last)];
        for (first, end) in chosen {
            assert!(!map.any(LineRange::new(first, end)), "{pages} pages");
            map.mark(LineRange::new(first, end)).unwrap();
            assert!(map.any(LineRange::new(first, end)) && !map.is_clean(), "{pages} pages");
            assert!(!map.is_quickly_clean(map.all()) && !map.is_quickly_clean(LineRange::new(first, end)));
        }
        assert!(map.is_quickly_clean(LineRange::new(130, 200)), "{pages} pages");
        let (count, runs) = take(&map, map.all());
        assert_eq!((count, runs), (7, chosen.to_vec()), "{pages} pages");
        assert!(map.is_clean(), "{pages} pages");
    }
}

#[test]
fn a_flush_over_all_of_a_large_object_leaves_a_map_that_one_look_finds_clean() {
    for &pages in SIZES {
        let object = Tracked::new(pages * 4096, CacheLevel::None).unwrap();
        let all = object.dirty().all();
        object.dirty().mark(LineRange::new(3, 4)).unwrap();
        object.dirty().mark(LineRange::new(pages * 64 - 1, pages * 64)).unwrap();
        // A flush does not sweep while another is in flight: the other may have taken marks that it did not
        // find.
        let other = object.begin_flush(LineRange::new(0, 1)).unwrap();
        let mut in_flight = object.begin_flush(all).unwrap();
        assert_eq!(in_flight.take_dirty(Marks::Shared, |_| {}), 2);
        std::thread::scope(|scope| {
            let completion = scope.spawn(|| complete([in_flight]));
            assert_eq!(complete([other]), Completion::InMemory);
            assert_eq!(completion.join().unwrap(), Completion::InMemory);
        });
        let mut in_flight = object.begin_flush(all).unwrap();
        assert_eq!(in_flight.take_dirty(Marks::Shared, |_| {}), 0);
        assert_eq!(complete([in_flight]), Completion::InMemory);
        assert!(object.dirty().is_quickly_clean(all), "{pages} pages");
        // Lines that are marked again are found again.
        object.dirty().mark_all();
        let mut in_flight = object.begin_flush(all).unwrap();
        assert_eq!(in_flight.take_dirty(Marks::Shared, |_| {}), pages * 64);
        assert_eq!(complete([in_flight]), Completion::InMemory);
        assert!(object.dirty().is_quickly_clean(all), "{pages} pages");
    }
}

#[test]
fn marks_and_sweeps_of_several_threads_lose_no_line() {
    const PAGES: u64 = 200;
    const ROUNDS: u64 = if cfg!(miri) { 20 } else { 20_000 };
    let object = Tracked::new(PAGES * 4096, CacheLevel::None).unwrap();
    let sweep = || {
        let mut in_flight = object.begin_flush(object.dirty().all()).unwrap();
        let taken = in_flight.take_dirty(Marks::Shared, |_| {});
        assert_eq!(complete([in_flight]), Completion::InMemory);
        taken
    };
    let taken = std::thread::scope(|scope| {
        let markers: Vec<_> = (0..2)
            .map(|marker| {
                let object = &object;
                scope.spawn(move || {
                    let mut taken = 0;
                    for round in 0..ROUNDS {
                        // Each line is marked by one thread, and not again before it was taken.
                        let line = (round * 2 + marker) * 37 % (PAGES * 64);
                        object.dirty().mark(LineRange::new(line, line + 1)).unwrap();
                        let mut in_flight = object.begin_flush(LineRange::new(line, line + 1)).unwrap();
                        taken += in_flight.take_dirty(Marks::Shared, |_| {});
                        assert_eq!(complete([in_flight]), Completion::InMemory);
                        assert!(!object.dirty().any(LineRange::new(line, line + 1)), "line {line}");
                    }
                    taken
                })
            })
            .collect();
        let mut taken = 0;
        while markers.iter().any(|marker| !marker.is_finished()) {
            taken += sweep();
        }
        taken + markers.into_iter().map(|marker| marker.join().unwrap()).sum::<u64>()
    });
    assert_eq!(taken + sweep(), 2 * ROUNDS);
}

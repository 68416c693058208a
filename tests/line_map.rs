//! The line map against a set of line numbers.
#![cfg(not(loom))]

use std::collections::BTreeSet;

use gem_coherency::Error;
use gem_coherency::tracking::LineMap;
use gem_coherency::units::LineRange;
use proptest::prelude::*;

/// Lines of the object: three pages and a half, so that the last word is used in part.
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

/// Consecutive numbers as runs.
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
    // Edges of words are as likely as everything between.
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
fn what_is_outside_the_taken_range_stays() {
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
    // The last line, and nothing at the very end, are inside.
    map.mark(LineRange::new(LINES - 1, LINES)).unwrap();
    map.mark(LineRange::new(LINES, LINES)).unwrap();
    assert_eq!(map.count(), 1);
}

#[test]
fn taking_beyond_the_object_takes_what_there_is() {
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
fn a_map_that_no_memory_can_hold_is_an_error() {
    assert!(matches!(LineMap::new(u64::MAX), Err(Error::BadSize { size: u64::MAX, .. })));
}

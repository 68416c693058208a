//! The marks of an object's only writer (`Marks::Own`), and the lines of an open stream.
#![cfg(not(loom))]

use std::sync::atomic::{AtomicU64, Ordering};

use gem_coherency::tracking::{Completion, Marks, State, Tracked, complete};
use gem_coherency::units::{LineRange, PageLines};
use gem_coherency::vocabulary::CacheLevel;

/// Pages of an object; its list of pages has as many places.
const PAGES: u64 = 12;

fn object() -> Tracked {
    Tracked::new(PAGES * 4096, CacheLevel::None).unwrap()
}

fn line(line: u64) -> LineRange {
    LineRange::new(line, line + 1)
}

/// Marks `lines` in a guard that is alone.
fn write(object: &Tracked, lines: LineRange) {
    let state = object.word().try_update(State::begin_write).unwrap().after;
    assert_eq!(state.marks(), Marks::Own);
    object.dirty().mark_in(Marks::Own, lines);
    object.word().end(State::end_write);
}

/// Flushes `lines`; returns those that were dirty, in ascending order.
fn flush(object: &Tracked, marks: Marks, lines: LineRange) -> Vec<u64> {
    let mut taken = Vec::new();
    let mut in_flight = object.begin_flush(lines).unwrap();
    let count = in_flight.take_dirty(marks, |run| taken.extend(run.indices()));
    assert_eq!(complete([in_flight]), Completion::InMemory);
    assert_eq!(count, taken.len() as u64);
    taken.sort_unstable();
    taken
}

#[test]
fn an_access_is_alone_if_no_other_writer_or_submission_is_open() {
    let new = State::new(CacheLevel::None);
    let write = new.begin_write().unwrap();
    let submit = new.begin_submit().unwrap();
    assert_eq!([write, submit].map(State::marks), [Marks::Own; 2]);
    let second = [write.begin_write(), write.begin_submit(), submit.begin_write(), submit.begin_submit()];
    assert!(second.into_iter().all(|state| state.unwrap().marks() == Marks::Shared));
    // Readers make no marks.
    assert_eq!(new.begin_read().unwrap().begin_write().unwrap().marks(), Marks::Own);
    // One that was not alone stays so to its end; the next one is.
    assert_eq!(
        write.begin_submit().unwrap().end_write().end_submit().begin_write().unwrap().marks(),
        Marks::Own
    );
}

#[test]
fn each_flush_finds_what_the_writer_marked_once() {
    for marks in [Marks::Own, Marks::Shared] {
        let object = object();
        let all = object.dirty().all();
        write(&object, LineRange::new(60, 70));
        write(&object, line(65));
        write(&object, line(700));
        assert_eq!(object.dirty().count(), 11);
        assert!(!object.dirty().is_clean() && !object.dirty().is_quickly_clean(all));
        assert!(object.dirty().any(line(69)) && !object.dirty().any(line(70)));
        let expected: Vec<_> = (60..70).chain([700]).collect();
        assert_eq!(flush(&object, marks, all), expected, "{marks:?}");
        assert!(object.dirty().is_clean() && flush(&object, marks, all).is_empty());
        // Lines outside the object are not marked.
        write(&object, LineRange::new(PAGES * 64, PAGES * 64 + 5));
        assert!(object.dirty().is_clean());
    }
}

#[test]
fn a_line_that_a_writer_and_another_thread_marked_is_flushed_once() {
    for marks in [Marks::Own, Marks::Shared] {
        let object = object();
        object.dirty().mark(LineRange::new(0, 3)).unwrap();
        write(&object, LineRange::new(2, 4));
        assert_eq!(object.dirty().count(), 4);
        assert_eq!(flush(&object, marks, object.dirty().all()), [0, 1, 2, 3], "{marks:?}");
    }
}

#[test]
fn a_flush_of_a_part_leaves_the_other_marks() {
    for marks in [Marks::Own, Marks::Shared] {
        let object = object();
        write(&object, LineRange::new(0, 130));
        assert_eq!(
            flush(&object, marks, LineRange::new(10, 120)),
            (10..120).collect::<Vec<_>>(),
            "{marks:?}"
        );
        assert_eq!(object.dirty().count(), 20);
        let left: Vec<_> = (0..10).chain(120..130).collect();
        assert_eq!(flush(&object, marks, object.dirty().all()), left, "{marks:?}");
    }
}

#[test]
fn only_a_flush_of_the_whole_object_takes_its_own_pages() {
    let object = object();
    write(&object, LineRange::new(0, 128));
    // If it took more than its range, and then failed, the others' marks would not come back.
    let mut part = object.begin_flush(LineRange::new(0, 64)).unwrap();
    assert!(part.take_own_pages(Marks::Own).is_none());
    assert_eq!(complete([part]), Completion::InMemory);
    let mut whole = object.begin_flush(object.dirty().all()).unwrap();
    assert_eq!(whole.take_own_pages(Marks::Own).map(Iterator::count), Some(2));
    assert_eq!(complete([whole]), Completion::InMemory);
}

#[test]
fn lines_of_a_page_are_marked_in_the_place_that_is_asked_for() {
    let object = object();
    object.dirty().mark_page_in(Marks::Own, PageLines::new(3, 1));
    assert_eq!((object.dirty().shared().count(), object.dirty().count()), (0, 1));
    object.dirty().mark_page_in(Marks::Shared, PageLines::new(4, 3));
    assert_eq!((object.dirty().shared().count(), object.dirty().count()), (2, 3));
}

#[test]
fn pages_that_were_flushed_one_by_one_are_found_when_they_are_marked_again() {
    let object = object();
    // The list of pages is full of pages that were flushed, several times over.
    for round in 0..5 * PAGES {
        let first = round % PAGES * 64;
        write(&object, line(first));
        if round % 3 != 0 {
            assert_eq!(flush(&object, Marks::Own, line(first)), [first]);
        }
    }
    let left: Vec<_> = (0..PAGES).filter(|page| page % 3 == 0).map(|page| page * 64).collect();
    assert_eq!(flush(&object, Marks::Own, object.dirty().all()), left);
    assert!(object.dirty().is_clean());
}

#[test]
fn a_flush_that_fails_returns_the_marks() {
    let object = object();
    write(&object, line(5));
    let mut in_flight = object.begin_flush(line(5)).unwrap();
    assert_eq!(in_flight.take_dirty(Marks::Own, |_| {}), 1);
    assert!(object.dirty().is_clean());
    drop(in_flight);
    assert_eq!(flush(&object, Marks::Own, object.dirty().all()), [5]);
}

#[test]
fn marks_after_a_flush_that_failed_half_way_are_found() {
    let object = object();
    for page in 0..3 {
        write(&object, line(64 * page));
    }
    let mut failed = object.begin_flush(object.dirty().all()).unwrap();
    failed.take_own_pages(Marks::Own).unwrap().next().unwrap();
    drop(failed);
    assert!(
        flush(&object, Marks::Own, object.dirty().all()).len() >= 3,
        "a flush that failed may return more"
    );
    write(&object, line(65));
    assert_eq!(flush(&object, Marks::Own, object.dirty().all()), [65]);
}

#[test]
fn the_lines_of_an_open_stream_are_dirty_until_it_marks_them() {
    let object = object();
    let (dirty, all) = (object.dirty(), object.dirty().all());
    let seen = || (dirty.count(), dirty.is_clean(), dirty.is_quickly_clean(line(0)));
    assert!(dirty.open_stream(LineRange::new(60, 70)));
    assert!(!dirty.open_stream(line(0)), "one at a time");
    assert_eq!([59, 60, 69, 70].map(|number| dirty.any(line(number))), [false, true, true, false]);
    assert_eq!(seen(), (10, false, false));
    // Each flush takes them, and they stay the stream's; a line that is marked, too, is taken once.
    dirty.mark_in(Marks::Own, line(60));
    dirty.mark_in(Marks::Shared, line(61));
    assert_eq!(seen(), (10, false, false));
    for marks in [Marks::Own, Marks::Shared] {
        assert_eq!(flush(&object, marks, all), (60..70).collect::<Vec<_>>());
    }
    assert_eq!(flush(&object, Marks::Shared, LineRange::new(0, 64)), [60, 61, 62, 63]);
    dirty.mark_in(Marks::Own, LineRange::new(60, 66));
    dirty.advance_stream(65);
    assert_eq!(seen(), (10, false, false));
    assert_eq!(flush(&object, Marks::Own, all), (60..70).collect::<Vec<_>>());
    assert_eq!(flush(&object, Marks::Own, all), (65..70).collect::<Vec<_>>());
    dirty.close_stream();
    assert_eq!(seen(), (0, true, true));
    assert_eq!(flush(&object, Marks::Own, all), []);
    assert!(!dirty.any(all) && dirty.open_stream(line(0)));
    assert_eq!(dirty.count(), 1);
}

#[test]
fn flushes_of_another_thread_lose_no_store_of_the_writer() {
    const ROUNDS: u64 = if cfg!(miri) { 100 } else { 100_000 };
    let object = object();
    let all = object.dirty().all();
    let zeroes = || (0..PAGES * 64).map(|_| AtomicU64::new(0)).collect::<Vec<_>>();
    let (cpu, memory) = (zeroes(), zeroes());
    let write_back = |marks| {
        for line in flush(&object, marks, all) {
            let value = cpu[line as usize].load(Ordering::Relaxed);
            memory[line as usize].fetch_max(value, Ordering::Relaxed);
        }
    };
    std::thread::scope(|scope| {
        let writer = scope.spawn(|| {
            for round in 1..=ROUNDS {
                let number = round * 37 % (PAGES * 64);
                cpu[number as usize].store(round, Ordering::Relaxed);
                write(&object, line(number));
            }
        });
        while !writer.is_finished() {
            write_back(Marks::Shared);
        }
    });
    write_back(Marks::Own);
    let values =
        |words: &[AtomicU64]| words.iter().map(|word| word.load(Ordering::Relaxed)).collect::<Vec<_>>();
    assert_eq!(values(&memory), values(&cpu));
}

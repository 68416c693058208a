//! The first mapping through the cache against a store around it, and against another thread that
//! wants the same mapping.
//!
//! Before the first cached mapping nobody keeps account of stale lines, so its maker takes over.
//! Invariant: who reads through the cache after a store around it reads what was stored, whichever of
//! mapping and store came first, and whoever made the mapping; one mapping of a mode is made.
//! Preemption bound: none. Time: 0.2 s.
#![cfg(loom)]

use std::convert::Infallible;

use gem_coherency::tracking::{Completion, Mappings, Past, Remap, State, complete};
use gem_coherency::vocabulary::MmapMode;
use loom::sync::Arc;
use loom::sync::atomic::{AtomicU64, Ordering};
use loom::thread;
use loom_tests::{Object, check, race};

/// A mapping: a page table, which is a value that its maker stored without any ordering.
struct Table(AtomicU64);

impl Table {
    fn entry(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

impl Remap for Table {
    fn remap(&self, new: Self) {
        self.0.store(new.entry(), Ordering::Relaxed);
    }
}

/// An object, its mappings, and how often one was made.
struct Bo {
    object: Object,
    maps: Mappings<Table>,
    made: AtomicU64,
}

impl Bo {
    fn new() -> Arc<Self> {
        Arc::new(Self { object: Object::new(1), maps: Mappings::new(Past::Known), made: AtomicU64::new(0) })
    }

    /// The mapping through the cache.
    fn map(&self) -> &Table {
        let make = || {
            self.made.fetch_add(1, Ordering::Relaxed);
            let mapping = Table(AtomicU64::new(0));
            mapping.0.store(1, Ordering::Relaxed);
            Ok::<_, Infallible>(mapping)
        };
        let mapping = self.maps.get_or_make(MmapMode::Wb, self.object.tracked.stale(), is_cached, make);
        match mapping {
            Ok(mapping) => mapping,
            Err(never) => match never {},
        }
    }

    /// Notes a store around the cache.
    fn note(&self) {
        let stale = self.object.tracked.stale();
        self.maps.note_uncached_write(stale.all(), stale, is_cached);
    }

    /// Invalidates, and loads through the cache.
    fn load(&self) -> u64 {
        let mut in_flight = self.object.begin_flush();
        in_flight.take_stale(|lines| self.object.memory.invalidate(lines));
        assert_eq!(complete([in_flight]), Completion::InMemory);
        self.object.memory.load(0)
    }
}

fn is_cached(mode: MmapMode) -> bool {
    mode == MmapMode::Wb
}

/// One thread stores around the cache and does what `note` says; another one maps as `map` says, reads,
/// and reads again when the first is done.
fn store_against_map(note: fn(&Bo, &Words), map: fn(&Bo, &Words)) {
    let setup = || {
        let bo = Bo::new();
        bo.object.tracked.word().try_update(State::begin_write).expect("nothing blocks it");
        (bo, Words::default())
    };
    let write = move |(bo, words): &(Arc<Bo>, Words)| {
        bo.object.memory.gpu_store(0, 1);
        note(bo, words);
        bo.object.tracked.word().end(State::end_write);
    };
    let read = move |(bo, words): &(Arc<Bo>, Words)| {
        let state = bo.object.tracked.word().try_update(State::begin_read).expect("nothing blocks it").after;
        map(bo, words);
        let seen = bo.load();
        bo.object.tracked.word().end(State::end_read);
        assert!(seen == 1 || state.writers() == 1, "the CPU loads a stale line");
    };
    race(None, setup, write, read, |(bo, _)| {
        assert_eq!(bo.load(), 1, "a store around the cache was forgotten");
    });
}

/// The same account in two words, for the twins.
#[derive(Default)]
struct Words {
    written_around: AtomicU64,
    mapped: AtomicU64,
}

#[test]
fn a_store_around_the_cache_is_seen_whether_the_mapping_was_made_before_or_after() {
    store_against_map(|bo, _| bo.note(), |bo, _| assert_eq!(bo.map().entry(), 1));
}

#[test]
#[should_panic(expected = "a store around the cache was forgotten")]
fn with_a_word_for_each_side_neither_may_see_the_other() {
    // Release and Acquire do not keep a store before the load after it.
    store_against_map(
        |bo, words| {
            words.written_around.store(1, Ordering::Release);
            if words.mapped.load(Ordering::Acquire) != 0 {
                bo.object.tracked.stale().mark_all();
            }
        },
        |bo, words| {
            words.mapped.store(1, Ordering::Release);
            if words.written_around.load(Ordering::Acquire) != 0 {
                bo.object.tracked.stale().mark_all();
            }
        },
    );
}

#[test]
#[should_panic(expected = "the CPU loads a stale line")]
fn a_relaxed_account_marks_lines_whose_store_is_not_seen_yet() {
    // The mark is there, and the invalidate fetches what was in memory before.
    check(None, || {
        let object = Arc::new((Object::new(1), AtomicU64::new(0)));
        let writer = thread::spawn({
            let object = Arc::clone(&object);
            move || {
                object.0.memory.gpu_store(0, 1);
                object.1.fetch_or(1, Ordering::Relaxed);
            }
        });
        if object.1.fetch_or(2, Ordering::Relaxed) & 1 != 0 {
            object.0.memory.invalidate(object.0.tracked.stale().all());
            assert_eq!(object.0.memory.load(0), 1, "the CPU loads a stale line");
        }
        writer.join().unwrap();
    });
}

#[test]
#[should_panic(expected = "a store around the cache was forgotten")]
fn a_maker_that_looks_before_it_says_that_it_maps_misses_the_store_between() {
    store_against_map(
        |bo, words| {
            if words.mapped.fetch_or(1, Ordering::AcqRel) & 2 != 0 {
                bo.object.tracked.stale().mark_all();
            }
        },
        |bo, words| {
            let noted = words.mapped.load(Ordering::Acquire) & 1 != 0;
            words.mapped.fetch_or(2, Ordering::AcqRel);
            if noted {
                bo.object.tracked.stale().mark_all();
            }
        },
    );
}

/// Memory was written around the cache; then two threads map as `map` says, and read.
fn two_maps(map: fn(&Bo, &Words)) {
    check(None, move || {
        let (bo, words) = (Bo::new(), Arc::new(Words::default()));
        bo.object.memory.gpu_store(0, 1);
        bo.note();
        let read = move |bo: &Bo, words: &Words| {
            map(bo, words);
            assert_eq!(bo.load(), 1, "the CPU loads a stale line");
        };
        let other = thread::spawn({
            let (bo, words) = (Arc::clone(&bo), Arc::clone(&words));
            move || read(&bo, &words)
        });
        read(&bo, &words);
        other.join().unwrap();
        assert!(bo.made.load(Ordering::Relaxed) <= 1, "made twice");
    });
}

#[test]
fn a_thread_that_gets_the_mapping_of_another_finds_the_marks() {
    two_maps(|bo, _| assert_eq!(bo.map().entry(), 1, "half a mapping"));
}

#[test]
#[should_panic(expected = "the CPU loads a stale line")]
fn a_mapping_that_is_found_before_its_marks_reads_stale_lines() {
    two_maps(|bo, words| {
        if words.mapped.swap(1, Ordering::AcqRel) == 0 {
            bo.object.tracked.stale().mark_all();
        }
    });
}

/// One thread maps and chooses a mode; another one, which finds none chosen, maps as accesses do, and makes
/// its mode the choice by `default`.
fn choice_against_default(default: fn(&Mappings<Table>)) {
    let choose = |bo: &Arc<Bo>| {
        bo.map();
        bo.maps.choose(MmapMode::Wb);
    };
    let access = move |bo: &Arc<Bo>| match bo.maps.current() {
        Some(mapping) => assert_eq!(mapping.entry(), 1, "half a mapping"),
        None => {
            let make = || Ok::<_, Infallible>(Table(AtomicU64::new(2)));
            let Ok(_) = bo.maps.get_or_make(MmapMode::Wc, bo.object.tracked.stale(), is_cached, make);
            default(&bo.maps);
        }
    };
    race(None, Bo::new, choose, access, |bo| {
        let chosen = bo.maps.current().map(Table::entry);
        assert_eq!(chosen, Some(1), "the choice was replaced");
    });
}

#[test]
fn a_choice_is_found_with_its_mapping_and_never_replaced_by_a_default() {
    choice_against_default(|maps| maps.choose_if_none(MmapMode::Wc));
}

#[test]
#[should_panic(expected = "the choice was replaced")]
fn a_default_that_does_not_look_replaces_a_choice() {
    choice_against_default(|maps| maps.choose(MmapMode::Wc));
}

/// An object whose mapping through the cache was forgotten.
fn forgotten() -> Arc<Bo> {
    let bo = Bo::new();
    bo.map();
    bo.maps.choose(MmapMode::Wb);
    let stale = bo.object.tracked.stale();
    bo.maps.forget(None, stale, is_cached, |table| table.0.store(0, Ordering::Relaxed));
    assert!(bo.maps.get(MmapMode::Wb).is_none() && bo.maps.current().is_none());
    bo
}

#[test]
fn a_mapping_that_is_made_again_is_found_whole() {
    let map = |bo: &Arc<Bo>| assert_eq!(bo.map().entry(), 1, "half a mapping");
    let find = |bo: &Arc<Bo>| {
        if let Some(table) = bo.maps.get(MmapMode::Wb) {
            assert_eq!(table.entry(), 1, "half a mapping");
        }
    };
    race(None, forgotten, map, find, |bo| {
        assert_eq!(bo.made.load(Ordering::Relaxed), 2, "made once each time")
    });
}

#[test]
fn a_store_around_the_cache_is_seen_also_if_it_was_made_while_the_mapping_was_forgotten() {
    let write = |bo: &Arc<Bo>| {
        bo.object.memory.gpu_store(0, 1);
        bo.note();
    };
    let map = |bo: &Arc<Bo>| {
        bo.map().entry();
    };
    race(None, forgotten, write, map, |bo| {
        assert_eq!(bo.load(), 1, "a store around the cache was forgotten")
    });
}

#[test]
#[should_panic(expected = "half a mapping")]
fn a_relaxed_slot_shows_half_a_mapping() {
    check(None, || {
        let slot = Arc::new((AtomicU64::new(0), AtomicU64::new(0)));
        let maker = thread::spawn({
            let slot = Arc::clone(&slot);
            move || {
                slot.1.store(1, Ordering::Relaxed);
                slot.0.store(1, Ordering::Relaxed);
            }
        });
        if slot.0.load(Ordering::Acquire) != 0 {
            assert_eq!(slot.1.load(Ordering::Relaxed), 1, "half a mapping");
        }
        maker.join().unwrap();
    });
}

//! The reuse cache, on one thread: order, eviction, age.
#![cfg(not(loom))]

use gem_coherency::tracking::{Claim, Put, ReuseCache};

/// Creates a cache of `limit` bytes.
fn cache(limit: u64) -> ReuseCache<char, u32> {
    let cache = ReuseCache::new(4);
    assert!(cache.set_limit(limit).is_empty());
    cache
}

const KEPT: Put<u32> = Put { refused: None, evicted: Vec::new() };

#[track_caller]
fn taken(cache: &ReuseCache<char, u32>, key: char, expected: Option<u32>) {
    assert_eq!(cache.take(&key).map(Claim::into_value), expected);
}

#[test]
fn without_a_limit_nothing_stays() {
    let cache = ReuseCache::new(0);
    assert_eq!(cache.put('a', 1, 1), Put { refused: Some(1), evicted: vec![] });
    assert_eq!((cache.count(), cache.held_bytes()), (0, 0));
}

#[test]
fn a_key_gets_its_own_values_the_oldest_first() {
    let cache = cache(100);
    for (key, value) in [('a', 1), ('b', 2), ('a', 3)] {
        assert_eq!(cache.put(key, value, 10), KEPT);
    }
    assert_eq!((cache.count(), cache.held_bytes()), (3, 30));
    taken(&cache, 'c', None);
    taken(&cache, 'a', Some(1));
    taken(&cache, 'a', Some(3));
    taken(&cache, 'a', None);
    assert_eq!((cache.count(), cache.held_bytes()), (1, 10));
}

#[test]
fn the_oldest_of_any_key_makes_room() {
    let cache = cache(30);
    for (key, value) in [('a', 1), ('b', 2), ('c', 3)] {
        assert_eq!(cache.put(key, value, 10), KEPT);
        assert!(cache.tick().is_empty());
    }
    assert_eq!(cache.put('c', 4, 20), Put { refused: None, evicted: vec![1, 2] });
    assert_eq!(cache.put('c', 5, 31), Put { refused: Some(5), evicted: vec![] });
    assert_eq!(cache.set_limit(20), [3]);
    assert_eq!(cache.set_limit(0), [4]);
    assert_eq!((cache.count(), cache.held_bytes()), (0, 0));
}

#[test]
fn a_value_that_is_put_back_keeps_its_age_and_its_turn() {
    let cache = cache(100);
    assert_eq!(cache.put('a', 1, 10), KEPT);
    assert!(cache.tick().is_empty());
    assert_eq!(cache.put('a', 2, 10), KEPT);
    let first = cache.take(&'a').unwrap();
    assert_eq!(first.value(), &1);
    assert_eq!(cache.put_back(first), KEPT);
    assert!(cache.tick().is_empty());
    assert_eq!(cache.set_max_age(1), [1]);
    taken(&cache, 'a', Some(2));
}

#[test]
fn an_aged_entry_is_evicted_at_the_next_tick() {
    let cache = cache(100);
    assert!(cache.set_max_age(2).is_empty());
    assert_eq!(cache.put('a', 1, 10), KEPT);
    assert!(cache.tick().is_empty());
    assert_eq!(cache.put('b', 2, 10), KEPT);
    assert!(cache.tick().is_empty());
    assert_eq!(cache.tick(), [1]);
    assert_eq!(cache.tick(), [2]);
    assert_eq!(cache.held_bytes(), 0);
    // A value that was taken in time does not come back, and a later one is found.
    assert_eq!(cache.put('a', 3, 10), KEPT);
    taken(&cache, 'a', Some(3));
    assert_eq!([cache.tick(), cache.tick(), cache.tick()].concat(), []);
    assert_eq!(cache.put('a', 4, 10), KEPT);
    assert_eq!([cache.tick(), cache.tick()].concat(), []);
    assert_eq!(cache.tick(), [4]);
}

#[test]
fn clear_evicts_every_value() {
    let cache = cache(100);
    for value in [1, 2, 3] {
        assert_eq!(cache.put('a', value, 30), KEPT);
    }
    assert_eq!(cache.clear(), [1, 2, 3]);
    assert_eq!(format!("{cache:?}"), "0 values, 0 of 100 bytes");
}

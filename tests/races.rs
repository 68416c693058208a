//! Racing copies, by every copy function of the library.
//!
//! They go into and out of memory that other threads change at any time.
//!
//! `ci/tsan` runs this under ThreadSanitizer and `ci/miri` under Miri, which find data races. The ignored
//! test is their negative twin.
#![allow(unsafe_code)]

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use gem_coherency::backend::mapping::{Counted, Mapping, SharedBytes};
use gem_coherency::vocabulary::{Handle, MmapMode};

/// Lengths that take each path of a copy.
const LENGTHS: &[usize] = if cfg!(miri) { &[1, 7, 100] } else { &[1, 3, 7, 15, 32, 100, 1023, 4000] };
/// The number of copies of each length that each thread makes.
const ROUNDS: usize = if cfg!(miri) { 1 } else { 200 };

/// Runs three threads: one stores ones, one stores twos, and one reads. Every byte that it reads must be a
/// stored one.
fn race(store: impl Fn(&[u8]) + Sync, load: impl Fn(&mut [u8]) + Sync) {
    for &len in LENGTHS {
        let (store, load) = (&store, &load);
        std::thread::scope(|scope| {
            for value in [1, 2] {
                scope.spawn(move || (0..ROUNDS).for_each(|_| store(&vec![value; len])));
            }
            scope.spawn(move || {
                let mut seen = vec![3; len];
                for _ in 0..ROUNDS {
                    load(&mut seen);
                    assert!(seen.iter().all(|byte| *byte < 3), "{len}: a byte that nobody stored");
                }
            });
        });
        let mut last = vec![0; len];
        load(&mut last);
        assert!(last.iter().all(|byte| [1, 2].contains(byte)), "{len}: a store was lost");
    }
}

#[test]
fn copies_of_shared_bytes_may_race() {
    let bytes = SharedBytes::zeroed(8192).unwrap();
    race(|data| bytes.copy_in(60, data).unwrap(), |data| bytes.copy_out(60, data).unwrap());
}

#[test]
fn copies_between_shared_bytes_may_race() {
    let (one, two) = (SharedBytes::zeroed(8192).unwrap(), SharedBytes::zeroed(8192).unwrap());
    let store = |data: &[u8]| {
        one.copy_in(60, data).unwrap();
        two.copy_from(&one, 60, data.len() as u64).unwrap();
    };
    race(store, |data| two.copy_out(60, data).unwrap());
}

/// Creates a mapping of ordinary memory, in place of one from the kernel.
fn mapping() -> Mapping {
    let pages = memmap2::MmapOptions::new().len(8192).map_anon().unwrap();
    Mapping::from_kernel(
        Handle::new(1).unwrap(),
        pages.into(),
        MmapMode::Wb,
        Counted::new(&Arc::new(AtomicU64::new(0))),
    )
}

#[test]
#[cfg_attr(miri, ignore = "Miri knows no mapping of memmap2's")]
fn copies_through_a_mapping_may_race() {
    let mapping = mapping();
    race(|data| mapping.copy_in(60, data).unwrap(), |data| mapping.copy_out(60, data).unwrap());
    let around = |data: &[u8]| {
        mapping.copy_non_temporal(60, data).unwrap();
        mapping.publish().unwrap();
    };
    race(around, |data| mapping.copy_out(60, data).unwrap());
    let through = |data: &[u8]| {
        mapping.copy_through(60, data).unwrap();
        mapping.publish().unwrap();
    };
    race(through, |data| mapping.copy_out(60, data).unwrap());
}

/// The negative twin: the same with the standard library's copies, whose races must be reported.
#[test]
#[ignore = "a data race, for ci/tsan and ci/miri to find"]
fn plain_copies_race() {
    let bytes = SharedBytes::zeroed(8192).unwrap();
    let at = || bytes.as_ptr().wrapping_add(60);
    // SAFETY: within the bytes, except for the data race, which is the test's purpose.
    let store = |data: &[u8]| unsafe { std::ptr::copy_nonoverlapping(data.as_ptr(), at(), data.len()) };
    // SAFETY: as above.
    let load =
        |data: &mut [u8]| unsafe { std::ptr::copy_nonoverlapping(at(), data.as_mut_ptr(), data.len()) };
    race(store, load);
}

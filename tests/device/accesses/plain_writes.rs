//! Stores that need only a mark: through the kernel's pages they take a short way, through a software device's the long one.

use std::sync::Arc;

use gem_coherency::Error;
use gem_coherency::device::{AllocRequest, Device};
use gem_coherency::object::Bo;
use gem_coherency::object::CpuAccess;
use gem_coherency::vocabulary::{CachingMode, MmapMode};
use gem_coherency_sim::SimDevice;

const SIZE: u64 = 3 * 4096;

/// A BO of a device whose BOs are the kernel's pages, or those of the software device.
fn bo(name: &str, of_kernel: bool) -> Bo {
    let soft = SimDevice::open(name).unwrap();
    let soft = if of_kernel { soft.mapping_ordinary_memory() } else { soft };
    let device = Device::from_drm(Arc::new(soft)).unwrap();
    let bo = device.alloc(AllocRequest::new(SIZE).caching(CachingMode::Cached)).unwrap();
    bo.map(MmapMode::Wb).unwrap();
    bo.flush().unwrap();
    bo
}

/// Stores by one guard; returns the number of dirty lines after each store, and the bytes at the end.
fn stored(bo: &Bo, stores: &[(u64, usize)]) -> (Vec<u64>, Vec<u8>) {
    let mut guard = bo.write(0, SIZE).unwrap();
    let dirty = stores.iter().zip(1..).map(|(&(offset, len), value)| {
        guard.write_at(offset, &vec![value; len]).unwrap();
        bo.dirty_lines()
    });
    let dirty = dirty.collect();
    guard.finish();
    let mut bytes = vec![0; SIZE as usize];
    bo.read_bytes(0, &mut bytes).unwrap();
    (dirty, bytes)
}

#[test]
fn both_ways_store_the_same_bytes_and_mark_the_same_lines() {
    let lens = [0, 1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33, 64, 65, 1023, 1024, 1025, 4096, 4097];
    let offsets = [0, 1, 60, 64, 4032, 4090, 4096, 5000];
    let stores: Vec<_> = offsets.iter().flat_map(|&offset| lens.map(|len| (offset, len))).collect();
    for name in ["sim:byt", "sim:skl"] {
        let [short, long] = [true, false].map(|of_kernel| stored(&bo(name, of_kernel), &stores));
        assert_eq!(short, long, "{name}");
    }
    let none = bo("sim:glk", true);
    none.set_caching(CachingMode::None).unwrap();
    assert_eq!(stored(&none, &[(60, 8), (60, 8), (4090, 8), (4090, 0)]).0, [2, 2, 4, 4]);
}

#[test]
fn a_store_after_the_object_was_shown_is_marked() {
    let bo = bo("sim:skl,display=on", true);
    let mut guard = bo.write(0, SIZE).unwrap();
    guard.write_at(0, &[1; 8]).unwrap();
    // Its level is not known any more.
    let on_screen = bo.prepare_scanout().unwrap();
    assert_eq!((on_screen.report().lines, bo.dirty_lines()), (1, 0));
    guard.write_at(64, &[1; 8]).unwrap();
    assert_eq!(bo.dirty_lines(), 1);
    assert_eq!((on_screen.flush().unwrap().lines, bo.dirty_lines()), (1, 0));
    guard.finish();
}

#[test]
fn a_stale_line_is_invalidated_only_if_it_is_overwritten_in_part() {
    let write = |guard: &mut CpuAccess<'_>, len: usize| {
        guard.write_at(64, &vec![1; len]).unwrap();
        guard.report().lines
    };
    for (len, invalidated) in [(8, 1), (64, 0)] {
        let bo = bo("sim:glk", true);
        bo.set_caching(CachingMode::None).unwrap();
        let mut guard = bo.write(0, SIZE).unwrap();
        assert_eq!(write(&mut guard, len), 0, "not stale yet");
        bo.mark_stale(64, 64).unwrap();
        assert_eq!((write(&mut guard, len), bo.stale_lines()), (invalidated, 0));
        guard.finish();
    }
}

#[test]
fn a_store_beyond_the_guard_or_through_a_read_guard_stores_nothing() {
    let bo = bo("sim:glk", true);
    let before = bo.dirty_lines();
    let mut guard = bo.write(64, 64).unwrap();
    for (offset, len) in [(0, 8), (60, 8), (124, 8), (128, 8), (u64::MAX, 8), (64, 65)] {
        let error = guard.write_at(offset, &vec![1; len]).unwrap_err();
        assert!(matches!(error, Error::RangeOutOfGuard { start: 64, end: 128, .. }), "{error:?}");
    }
    guard.finish();
    let mut reader = bo.read(0, 64).unwrap();
    assert!(matches!(reader.write_at(0, &[1]), Err(Error::WriteThroughReadGuard { .. })));
    reader.finish();
    assert_eq!(bo.dirty_lines(), before);
    let mut bytes = [0xff; 256];
    bo.read_bytes(0, &mut bytes).unwrap();
    assert_eq!(bytes, [0; 256]);
}

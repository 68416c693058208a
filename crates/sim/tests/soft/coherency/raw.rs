//! Loads and stores through raw pointers.
//!
//! # Safety
//! Every pointer is that of a mapping of at least one page that outlives the access, and is used
//! within that page by one thread.

use gem_coherency::backend::{Drm, Mapping};
use gem_coherency::cacheops::LineOp;
use gem_coherency::vocabulary::{MmapMode, MocsClass};

use crate::Page;

fn raw_store(map: &Mapping, offset: usize, data: [u8; 4]) {
    // SAFETY: see the head of the file.
    unsafe { map.as_ptr().add(offset).cast::<[u8; 4]>().write_volatile(data) }
}

fn raw_load(map: &Mapping, offset: usize) -> [u8; 4] {
    // SAFETY: see the head of the file.
    unsafe { map.as_ptr().add(offset).cast::<[u8; 4]>().read_volatile() }
}

#[test]
fn a_raw_store_is_dirty_in_the_cache() {
    for name in ["glk", "jsl"] {
        let page = Page::new(name);
        raw_store(&page.map, 0, *b"new!");
        assert_eq!(page.display_reads(), [0; 4], "{name}");
        page.lines(LineOp::WriteBack);
        assert_eq!(page.display_reads(), *b"new!", "{name}");
        raw_store(&page.map, 0, *b"next");
        assert_eq!(page.display_reads(), *b"new!", "{name}");
        page.flush();
        assert_eq!(page.display_reads(), *b"next", "{name}");
        assert_eq!(raw_load(&page.map, 0), *b"next", "{name}");
    }
}

#[test]
fn a_raw_load_is_stale_until_the_line_is_invalidated() {
    let page = Page::new("glk");
    assert_eq!(raw_load(&page.map, 0), [0; 4]);
    page.gpu_writes(b"gpu!");
    assert_eq!(raw_load(&page.map, 0), [0; 4]);
    page.lines(LineOp::Invalidate);
    assert_eq!(raw_load(&page.map, 0), *b"gpu!");
}

#[test]
fn a_raw_store_into_a_stale_line_loses_the_gpus_bytes() {
    let page = Page::new("glk");
    raw_load(&page.map, 0);
    page.gpu_writes(&[7; 64]);
    raw_store(&page.map, 0, *b"new!");
    page.flush();
    assert_eq!(raw_load(&page.map, 4), [0; 4]);
    assert_eq!(page.display_reads(), *b"new!");
}

#[test]
fn a_stale_line_that_nobody_stored_to_is_not_taken_for_dirty() {
    let page = Page::new("glk");
    raw_load(&page.map, 0);
    page.gpu_writes(b"gpu!");
    page.flush();
    assert_eq!(page.display_reads(), *b"gpu!");
}

#[test]
fn raw_loads_follow_the_gpu_where_it_is_coherent() {
    for name in ["tgl", "jsl", "dg2"] {
        let page = Page::new(name);
        raw_store(&page.map, 0, *b"new!");
        assert_eq!(page.gpu_reads(MocsClass::PageTable), *b"new!", "{name}");
        page.gpu_writes(b"gpu!");
        assert_eq!(raw_load(&page.map, 0), *b"gpu!", "{name}");
    }
}

#[test]
fn a_raw_wc_store_is_in_memory() {
    for name in ["glk", "tgl", "mtl"] {
        let page = Page::new(name);
        let map = page.device.map(page.handle(), MmapMode::Wc, 4096).unwrap();
        raw_store(&map, 0, *b"new!");
        assert_eq!(page.display_reads(), *b"new!", "{name}");
        page.gpu_writes(b"gpu!");
        // The GPU's write may stay in a cache that WC does not look up, so it is flushed first.
        page.flush();
        assert_eq!(raw_load(&map, 0), *b"gpu!", "{name}");
    }
}

#[test]
fn raw_stores_on_both_ways_meet_in_memory_after_a_flush_and_an_invalidate() {
    let page = Page::new("glk");
    let wc = page.device.map(page.handle(), MmapMode::Wc, 4096).unwrap();
    raw_store(&page.map, 0, *b"wb!!");
    raw_store(&wc, 64, *b"wc!!");
    assert_eq!(raw_load(&page.map, 64), [0; 4], "stale");
    assert_eq!(raw_load(&wc, 0), [0; 4], "not flushed");
    page.flush();
    assert_eq!((raw_load(&page.map, 64), raw_load(&wc, 0)), (*b"wc!!", *b"wb!!"));
}

#[test]
fn every_raw_pointer_of_an_object_without_pages_brings_them_in() {
    let device = crate::sim("glk");
    let bo = device.create(4096).unwrap();
    let map = device.map(bo.handle, MmapMode::Wc, 4096).unwrap();
    assert!(!device.snapshot(bo.handle).unwrap().pages);
    assert_eq!(raw_load(&map, 0), [0; 4]);
    assert!(device.snapshot(bo.handle).unwrap().pages);
}

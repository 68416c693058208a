//! The log of lines that an agent made stale, under a program's mapping.

use std::os::unix::fs::FileExt;

use gem_coherency::cacheops::LineOp;
use gem_coherency::units::LineRange;
use gem_coherency::vocabulary::{CacheLevel, MocsClass};
use gem_coherency_sim::{MadeStale, Route};
use gem_coherency_uapi::i915::{I915_MMAP_OFFSET_GTT, I915_MMAP_OFFSET_WB, I915_MMAP_OFFSET_WC};

use crate::mappings::client::Mapped;

fn watched(platform: &str, mode: u64) -> Mapped {
    let mapped = Mapped::flushed(platform, mode);
    // From now on loads are not detected.
    mapped.shown(mapped.address);
    mapped.soft().watch(true);
    mapped
}

#[test]
fn other_bytes_under_clean_lines_make_them_stale() {
    let mapped = watched("glk", I915_MMAP_OFFSET_WB);
    // Lines 1 and 2, and line 65; zeroes are the bytes that are there.
    mapped.gpu_writes(64 + 60, &[7; 8]);
    mapped.gpu_writes(512, &[0; 64]);
    mapped.gpu_writes(65 * 64, &[7; 4]);
    let stale = MadeStale {
        object: mapped.caller.process.views(mapped.address).unwrap().object,
        handle: Some(mapped.handle),
        size: 8192,
        level: CacheLevel::None,
        route: Route::Gpu(MocsClass::PageTable),
        lines: vec![LineRange::new(1, 3), LineRange::new(65, 66)],
    };
    assert_eq!(mapped.soft().made_stale(), [stale]);
    assert_eq!(mapped.soft().made_stale(), [], "taken");
    assert_eq!(mapped.soft().incoherent(), [], "a write is no mistake");
    // The same bytes again make nothing stale, until the lines are filled with them and others follow.
    mapped.maintain(LineOp::Flush);
    mapped.gpu_writes(64 + 60, &[7; 8]);
    assert_eq!(mapped.soft().made_stale(), []);
    mapped.gpu_writes(64 + 60, &[8; 1]);
    assert_eq!(mapped.soft().made_stale().len(), 1);
}

#[test]
fn lines_that_the_cpu_has_not_or_sees_are_not_stale() {
    for (platform, mode, watch, log) in [
        ("glk", I915_MMAP_OFFSET_WB, true, 1),
        ("glk", I915_MMAP_OFFSET_WB, false, 0),
        // No mapping shows the cached bytes.
        ("glk", I915_MMAP_OFFSET_WC, true, 0),
        // The GPU's writes reach the CPU's caches.
        ("tgl", I915_MMAP_OFFSET_WB, true, 0),
        ("mtl", I915_MMAP_OFFSET_WB, true, 0),
    ] {
        let mapped = watched(platform, mode);
        mapped.soft().watch(watch);
        mapped.gpu_writes(0, &[7; 4]);
        assert_eq!(mapped.soft().made_stale().len(), log, "{platform} {mode} {watch}");
    }
}

/// Stores as another process does through a mapping.
#[track_caller]
fn store(mapped: &Mapped, address: u64, offset: u64, bytes: &[u8]) {
    let (file, first) = mapped.shown(address);
    file.write_all_at(bytes, first + offset).unwrap();
}

fn newly_stale(mapped: &Mapped) -> Vec<(Route, Vec<(u64, u64)>)> {
    let lines = |stale: &MadeStale| stale.lines.iter().map(|lines| (lines.first(), lines.end())).collect();
    mapped.soft().stores_past_the_cache().iter().map(|stale| (stale.route, lines(stale))).collect()
}

#[test]
fn stores_through_the_aperture_make_the_lines_of_a_wb_mapping_stale() {
    let mut mapped = watched("glk", I915_MMAP_OFFSET_WB);
    let aperture = mapped.map(I915_MMAP_OFFSET_GTT);
    mapped.shown(aperture);
    assert_eq!(newly_stale(&mapped), []);
    // Lines 1, 2 and 65; zeroes are there already.
    store(&mapped, aperture, 64 + 60, &[7; 8]);
    store(&mapped, aperture, 512, &[0; 64]);
    store(&mapped, aperture, 65 * 64, &[7; 4]);
    assert_eq!(newly_stale(&mapped), [(Route::Aperture, vec![(1, 3), (65, 66)])]);
    store(&mapped, aperture, 3 * 64, &[8; 4]);
    assert_eq!(newly_stale(&mapped), [(Route::Aperture, vec![(3, 4)])], "the others are known");
    mapped.maintain(LineOp::Flush);
    assert_eq!(newly_stale(&mapped), []);
    store(&mapped, aperture, 3 * 64, &[9; 4]);
    assert_eq!(newly_stale(&mapped), [(Route::Aperture, vec![(3, 4)])], "filled, and stale again");
    // A dirty line is not stale.
    mapped.maintain(LineOp::Flush);
    store(&mapped, mapped.address, 5 * 64, &[1; 4]);
    store(&mapped, aperture, 5 * 64 + 8, &[2; 4]);
    assert_eq!(newly_stale(&mapped), []);
    mapped.soft().watch(false);
    store(&mapped, aperture, 7 * 64, &[9; 4]);
    assert_eq!(newly_stale(&mapped), [], "not watched");
}

#[test]
fn lines_are_not_compared_where_the_aperture_is_not_the_only_way_past_the_cache() {
    for (platform, modes, log) in [
        ("glk", &[I915_MMAP_OFFSET_GTT][..], 1),
        ("chv", &[I915_MMAP_OFFSET_GTT], 1),
        // The CPU drops its line at one of the two stores.
        ("glk", &[I915_MMAP_OFFSET_GTT, I915_MMAP_OFFSET_WC], 0),
        ("glk,selfsnoop=off", &[I915_MMAP_OFFSET_GTT, I915_MMAP_OFFSET_WC], 1),
        ("glk", &[I915_MMAP_OFFSET_WC], 0),
        // The aperture looks the LLC up.
        ("tgl", &[I915_MMAP_OFFSET_GTT], 0),
    ] {
        let mut mapped = watched(platform, I915_MMAP_OFFSET_WB);
        let others: Vec<_> = modes.iter().map(|&mode| mapped.map(mode)).collect();
        others.iter().for_each(|&address| drop(mapped.shown(address)));
        store(&mapped, others[0], 0, &[7; 4]);
        assert_eq!(newly_stale(&mapped).len(), log, "{platform} {modes:?}");
    }
}

#[test]
fn a_cpu_with_self_snoop_drops_its_line_at_a_store_through_a_wc_mapping() {
    for (platform, has, log) in [
        ("glk", true, vec![]),
        ("chv", true, vec![]),
        ("glk,selfsnoop=off", false, vec![(Route::CpuUncached, vec![(1, 2)])]),
        ("chv,selfsnoop=off", false, vec![(Route::CpuUncached, vec![(1, 2)])]),
        ("g45", false, vec![(Route::CpuUncached, vec![(1, 2)])]),
        ("g45,selfsnoop=on", true, vec![]),
    ] {
        let mut mapped = watched(platform, I915_MMAP_OFFSET_WB);
        let combining = mapped.map(I915_MMAP_OFFSET_WC);
        mapped.shown(combining);
        mapped.soft().note_stale_lines();
        store(&mapped, combining, 64, &[7; 4]);
        assert_eq!(newly_stale(&mapped), log, "{platform}");
        let load = |mapped: &Mapped, offset| {
            let (file, first) = mapped.shown(mapped.address);
            let mut bytes = [0; 4];
            file.read_exact_at(&mut bytes, first + offset).unwrap();
            bytes
        };
        assert_eq!(load(&mapped, 64), if has { [7; 4] } else { [0; 4] }, "{platform}");
        // What the GPU writes during a request is stale on each.
        mapped.gpu_writes(3 * 64, &[8; 4]);
        mapped.soft().note_stale_lines();
        store(&mapped, combining, 5 * 64, &[9; 4]);
        let next = newly_stale(&mapped);
        assert_eq!(next.len(), usize::from(!has), "{platform}");
        assert_eq!(
            (load(&mapped, 3 * 64), load(&mapped, 5 * 64)),
            ([0; 4], if has { [9; 4] } else { [0; 4] })
        );
        // A second store to the same line.
        store(&mapped, combining, 5 * 64, &[6; 4]);
        newly_stale(&mapped);
        assert_eq!(load(&mapped, 5 * 64), if has { [6; 4] } else { [0; 4] }, "{platform}");
    }
}

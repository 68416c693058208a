//! The log of lines that an agent made stale, under a program's mapping.

use gem_coherency::cacheops::LineOp;
use gem_coherency::uapi::i915::{I915_MMAP_OFFSET_WB, I915_MMAP_OFFSET_WC};
use gem_coherency::units::LineRange;
use gem_coherency::vocabulary::{CacheLevel, MocsClass};
use gem_coherency_sim::{MadeStale, Route};

use super::client::Mapped;

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

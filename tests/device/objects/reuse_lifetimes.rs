//! Reuse: an object's next lifetime begins with the pending work of the last one, in caches and buffers.

use std::collections::HashSet;
use std::sync::Mutex;

use gem_coherency::object::{Bo, Released};
use gem_coherency::policy::{Rule, Verdict};
use gem_coherency::vocabulary::CachingMode::{Cached, None};
use gem_coherency::vocabulary::{Access, CachingMode, MmapMode, MocsClass};

use crate::objects::reuse::{OLD, kept, rig, two_pages, used};
use crate::{NEW, Rig, gpu, nothing_left, prepared, read, write};

const PAGE_TABLE: MocsClass = MocsClass::PageTable;

/// Leaves dirty lines in the cache at the end of a lifetime, by `store`. In the next lifetime, the GPU
/// overwrites them, and then the cache writes back its dirty lines. Returns the bytes that the GPU reads.
#[track_caller]
fn gpu_write_over_the_old_life(name: &str, caching: CachingMode, store: fn(&Rig, &Bo)) -> [u8; 8] {
    let rig = rig(name);
    let bo = rig.bo(caching, MmapMode::Wb);
    let handle = bo.handle();
    write(&bo, 4096, b"has pages");
    rig.device.submit(&[gpu(&bo, Access::Write)]).unwrap();
    store(&rig, &bo);
    assert_eq!(bo.release().unwrap(), Released::Kept);

    let bo = rig.device.alloc(two_pages(caching)).unwrap();
    assert_eq!(bo.handle(), handle);
    rig.device.submit(&[gpu(&bo, Access::Write)]).unwrap();
    rig.soft.gpu_write(handle, PAGE_TABLE, 0, &NEW).unwrap();
    rig.evict(&bo);
    rig.gpu(&bo, PAGE_TABLE, 0)
}

#[test]
fn old_dirty_lines_do_not_overwrite_gpu_writes_after_reuse() {
    for platform in ["glk", "bxt", "chv", "g45", "i965gm", "mtl"] {
        let seen = gpu_write_over_the_old_life(&format!("sim:{platform}"), None, |_, bo| write(bo, 0, &OLD));
        assert_eq!(seen, NEW, "{platform}");
        // The negative twin: untracked stores leave no marks, as if the marks were cleared on release.
        let seen = gpu_write_over_the_old_life(&format!("sim:{platform}"), None, |rig, bo| {
            rig.raw_store(bo, MmapMode::Wb, 0, &OLD);
        });
        assert_eq!(seen, OLD, "{platform}");
    }
}

#[test]
fn old_dirty_lines_are_flushed_for_the_first_reader_after_reuse() {
    let rig = rig("sim:glk");
    kept(&rig, two_pages(Cached));
    // The GPU snoops, so nothing was flushed; the new owner shows the whole BO.
    let bo = rig.device.alloc(two_pages(Cached)).unwrap();
    assert!(bo.dirty_lines() > 0);
    assert_ne!(rig.display(&bo, 0), OLD);
    let on_screen = bo.prepare_scanout().unwrap();
    assert_eq!(on_screen.report().decision.verdict, Verdict::Flush);
    assert_eq!((rig.display(&bo, 0), bo.dirty_lines()), (OLD, 0));
}

#[test]
fn old_stale_lines_are_invalidated_after_reuse() {
    let rig = rig("sim:glk");
    let bo = rig.bo(None, MmapMode::Wb);
    write(&bo, 0, &OLD);
    rig.device.submit(&[gpu(&bo, Access::Read)]).unwrap();
    read(&bo, 0);
    rig.device.submit(&[gpu(&bo, Access::Write)]).unwrap();
    rig.soft.gpu_write(bo.handle(), PAGE_TABLE, 0, &NEW).unwrap();
    drop(bo);
    let bo = rig.bo(None, MmapMode::Wb);
    assert_eq!((rig.device.reuse_stats().hits, bo.stale_lines()), (1, 128));
    assert_eq!(rig.raw_load(&bo, MmapMode::Wb, 0), OLD, "without the invalidate: older bytes");
    assert_eq!(read(&bo, 0), NEW);
}

#[test]
fn lines_cached_before_an_uncached_store_are_invalidated_after_reuse() {
    let rig = rig("sim:glk");
    let bo = rig.bo(None, MmapMode::Wc);
    // An untracked access fetches the line, like a speculative fill.
    assert_eq!(rig.raw_load(&bo, MmapMode::Wb, 0), [0; 8]);
    write(&bo, 0, &OLD);
    rig.device.submit(&[gpu(&bo, Access::Read)]).unwrap();
    drop(bo);
    let bo = rig.bo(None, MmapMode::Wb);
    assert_eq!(rig.device.reuse_stats().hits, 1);
    assert_eq!(rig.raw_load(&bo, MmapMode::Wb, 0), [0; 8], "without the invalidate: older bytes");
    assert_eq!(read(&bo, 0), OLD);
}

#[test]
fn old_uncached_stores_are_drained_after_reuse() {
    for (map, rule) in [(MmapMode::Wc, Rule::WcDrain), (MmapMode::Gtt, Rule::GttDrain)] {
        let rig = rig("sim:glk");
        let bo = rig.bo(None, map);
        write(&bo, 0, &OLD);
        drop(bo);
        let bo = rig.device.alloc(two_pages(None)).unwrap();
        assert_eq!(rig.device.reuse_stats().hits, 1);
        assert_eq!(bo.map_mode(), MmapMode::Wc, "the choice starts anew, the mappings stay");
        assert_ne!(rig.gpu(&bo, PAGE_TABLE, 0), OLD, "{map}: still on their way");
        assert_eq!(prepared(&rig, gpu(&bo, Access::Read)), (Verdict::Drain, rule, 0));
        assert_eq!(rig.gpu(&bo, PAGE_TABLE, 0), OLD, "{map}");
    }
}

#[test]
fn old_gpu_lines_in_the_llc_are_flushed_after_reuse() {
    for platform in ["tgl", "glk"] {
        let rig = rig(&format!("sim:{platform}"));
        let bo = used(&rig, two_pages(Cached));
        rig.device.submit(&[gpu(&bo, Access::Write)]).unwrap();
        rig.soft.gpu_write(bo.handle(), PAGE_TABLE, 0, &NEW).unwrap();
        drop(bo);
        let bo = rig.device.alloc(two_pages(Cached)).unwrap();
        assert_eq!(rig.device.reuse_stats().hits, 1);
        assert_ne!(rig.display(&bo, 0), NEW, "{platform}");
        let on_screen = bo.prepare_scanout().unwrap();
        assert_eq!((on_screen.report().lines, rig.display(&bo, 0)), (128, NEW), "{platform}");
    }
}

#[test]
fn threads_that_reuse_objects_share_none_and_lose_no_line() {
    const THREADS: u64 = 4;
    const ROUNDS: u64 = 100;
    for (platform, caching) in
        [("glk", None), ("glk", Cached), ("tgl", Cached), ("jsl", Cached), ("mtl", None)]
    {
        let rig = crate::rig(&format!("sim:{platform},adversary=on,seed=5"));
        rig.device.set_reuse_limit(3 * 8192);
        rig.device.set_reuse_age(8);
        let owned = Mutex::new(HashSet::new());
        std::thread::scope(|scope| {
            for thread in 0..THREADS {
                let (rig, owned) = (&rig, &owned);
                scope.spawn(move || {
                    for round in 0..ROUNDS {
                        let bo = rig.device.alloc(two_pages(caching)).unwrap();
                        assert!(owned.lock().unwrap().insert(bo.handle()), "one object, two owners");
                        bo.map(if round % 3 == 0 { MmapMode::Wc } else { MmapMode::Wb }).unwrap();
                        let value = (thread * ROUNDS + round).to_le_bytes();
                        write(&bo, round % 8 * 72, &value);
                        rig.device.submit(&[gpu(&bo, Access::Read)]).unwrap();
                        assert_eq!(rig.gpu(&bo, PAGE_TABLE, round % 8 * 72), value, "{platform} {caching}");
                        rig.device.submit(&[gpu(&bo, Access::Write)]).unwrap();
                        rig.soft.gpu_write(bo.handle(), PAGE_TABLE, 4096, &value).unwrap();
                        assert_eq!(read(&bo, 4096), value, "{platform} {caching}");
                        // Leaves the lines dirty for the next owner.
                        write(&bo, 4096, &OLD);
                        owned.lock().unwrap().remove(&bo.handle());
                    }
                });
            }
        });
        let stats = rig.device.reuse_stats();
        assert_eq!(stats.hits + stats.misses, THREADS * ROUNDS);
        assert!(stats.hits > 0 && stats.held_bytes <= 3 * 8192, "{stats:?}");
        rig.device.trim();
        assert_eq!(rig.device.reuse_stats().held_bytes, 0);
        nothing_left(&rig);
    }
}

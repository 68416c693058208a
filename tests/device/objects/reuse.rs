//! Reuse: which BOs are kept, which are not, and for how long.

use std::os::fd::AsFd;

use gem_coherency::Errno;
use gem_coherency::Error;
use gem_coherency::backend::{Drm, OpenCounts};
use gem_coherency::device::{AllocRequest, ReuseStats};
use gem_coherency::object::{Bo, Released};
use gem_coherency::platform::Caps;
use gem_coherency::policy::{Rule, Verdict};
use gem_coherency::vocabulary::CachingMode::{Cached, Display, None};
use gem_coherency::vocabulary::{Access, CacheLevel, CachingMode, Handle};
use gem_coherency_sim::InjectedFault;

use crate::{NEW, Rig, gpu, nothing_left, read, refused, write};

pub(super) const OLD: [u8; 8] = *b"old data";
const PLATFORMS: [&str; 9] = ["tgl", "jsl", "hsw", "glk", "chv", "g45", "i965gm", "mtl", "dg2"];

/// Opens a software device that keeps up to 1 MiB.
#[track_caller]
pub(super) fn rig(name: &str) -> Rig {
    let rig = crate::rig(name);
    rig.device.set_reuse_limit(1 << 20);
    rig
}

/// Returns a BO that was written and has pages; on a discrete device, that requires a use by the GPU.
#[track_caller]
pub(super) fn used(rig: &Rig, request: AllocRequest) -> Bo {
    let bo = rig.device.alloc(request).unwrap();
    write(&bo, 0, &OLD);
    if rig.soft.machine().caps.contains(Caps::DISCRETE) {
        rig.device.submit(&[gpu(&bo, Access::Read)]).unwrap();
    }
    bo
}

/// Returns the handle of a BO that was kept.
#[track_caller]
pub(super) fn kept(rig: &Rig, request: AllocRequest) -> Handle {
    let bo = used(rig, request);
    let handle = bo.handle();
    assert_eq!(bo.release().unwrap(), Released::Kept);
    handle
}

pub(super) fn two_pages(caching: CachingMode) -> AllocRequest {
    AllocRequest::new(8192).caching(caching)
}

/// Returns whether an allocation reuses the object `handle`; the BO is closed again.
#[track_caller]
fn gets(rig: &Rig, request: AllocRequest, handle: Handle) -> bool {
    let hits = rig.device.reuse_stats().hits;
    let bo = rig.device.alloc(request).unwrap();
    let hit = rig.device.reuse_stats().hits > hits;
    assert_eq!(hit, bo.handle() == handle, "a name is given again by the kernel only after a close");
    bo.close().unwrap();
    hit
}

#[test]
fn without_a_limit_nothing_is_kept_and_sizes_are_the_kernels() {
    let rig = crate::rig("sim:glk");
    let bo = used(&rig, AllocRequest::new(9 * 4096));
    assert_eq!(bo.size(), 9 * 4096);
    assert_eq!(bo.release().unwrap(), Released::Closed);
    assert_eq!(rig.device.reuse_stats(), ReuseStats::default());
    nothing_left(&rig);
}

#[test]
fn a_released_bo_is_reused_with_its_handle_and_mapping() {
    for platform in PLATFORMS {
        let rig = rig(&format!("sim:{platform}"));
        let bo = used(&rig, AllocRequest::new(9 * 4096));
        let (handle, level, mode) = (bo.handle(), bo.level(), bo.map_mode());
        assert_eq!(bo.size(), 10 * 4096, "the size of its class");
        let clone = bo.clone();
        assert_eq!(bo.release().unwrap(), Released::InUse);
        assert_eq!(clone.release().unwrap(), Released::Kept);
        assert_eq!(rig.counts(), OpenCounts { handles: 1, mappings: 1 });

        let again = rig.device.alloc(AllocRequest::new(10 * 4096)).unwrap();
        assert_eq!((again.handle(), again.level(), again.map_mode()), (handle, level, mode), "{platform}");
        assert_eq!(read(&again, 0), OLD, "{platform}: the contents are whatever was there");
        write(&again, 0, &NEW);
        assert_eq!(read(&again, 0), NEW);
        assert_eq!(rig.counts(), OpenCounts { handles: 1, mappings: 1 }, "{platform}");
        let expected = ReuseStats { hits: 1, misses: 1, ..ReuseStats::default() };
        assert_eq!(rig.device.reuse_stats(), expected);
        again.close().unwrap();
        drop(again);
        nothing_left(&rig);
    }
}

#[test]
fn release_and_drop_keep_and_close_closes() {
    let rig = rig("sim:glk");
    let report = used(&rig, two_pages(None)).release().unwrap().report();
    assert_eq!(
        (report.decision.verdict, report.decision.rule),
        (Verdict::NotNeeded, Rule::CloseFlushesNothing)
    );
    assert_eq!(rig.device.reuse_stats().held, 1);
    drop(used(&rig, two_pages(None)));
    assert_eq!((rig.device.reuse_stats().held, rig.device.reuse_stats().hits), (1, 1));
    let bo = used(&rig, two_pages(None));
    bo.close().unwrap();
    assert_eq!(bo.release().unwrap(), Released::Closed);
    nothing_left(&rig);
}

#[test]
fn another_size_class_or_level_is_another_object() {
    for platform in ["tgl", "hsw", "glk", "mtl"] {
        for (kept_as, other) in [(Cached, None), (None, Cached), (Display, Cached)] {
            let rig = rig(&format!("sim:{platform}"));
            let handle = kept(&rig, two_pages(kept_as));
            assert!(!gets(&rig, two_pages(other), handle), "{platform} {kept_as} {other}");
            assert!(!gets(&rig, AllocRequest::new(4096).caching(kept_as), handle));
            assert!(!gets(&rig, AllocRequest::new(8193).caching(kept_as), handle));
            assert!(gets(&rig, two_pages(kept_as), handle));
        }
    }
}

#[test]
fn the_platforms_own_choice_and_the_same_mode_share_objects_but_for_pat() {
    for (platform, caching, shared) in [("tgl", Cached, true), ("glk", None, true), ("mtl", Cached, false)] {
        let rig = rig(&format!("sim:{platform}"));
        let handle = kept(&rig, AllocRequest::new(8192));
        assert_eq!(gets(&rig, two_pages(caching), handle), shared, "{platform}");
    }
}

#[test]
fn the_level_is_the_one_that_the_object_has_in_the_end() {
    let rig = rig("sim:glk");
    let bo = used(&rig, two_pages(None));
    let handle = bo.handle();
    bo.set_caching(Cached).unwrap();
    assert_eq!(bo.release().unwrap(), Released::Kept);
    assert!(!gets(&rig, two_pages(None), handle));
    assert!(gets(&rig, two_pages(Cached), handle));
}

#[test]
fn a_shown_bo_is_not_reused_as_cached() {
    for (platform, level) in [("tgl", CacheLevel::None), ("hsw", CacheLevel::Wt)] {
        let rig = rig(&format!("sim:{platform}"));
        let bo = used(&rig, two_pages(Cached));
        let handle = bo.handle();
        rig.soft.set_framebuffer(handle).unwrap();
        let on_screen = bo.prepare_scanout().unwrap();
        rig.soft.pin_display(handle).unwrap();
        rig.soft.unpin_display(handle).unwrap();
        rig.soft.remove_framebuffer(handle).unwrap();
        on_screen.end();
        assert_eq!(bo.release().unwrap(), Released::Kept);
        assert!(!gets(&rig, two_pages(Cached), handle), "{platform}");
        let again = rig.device.alloc(two_pages(Display)).unwrap();
        assert_eq!((again.handle(), again.level()), (handle, level), "{platform}");
        assert_eq!(rig.soft.snapshot(handle).unwrap().level, level, "the kernel's own");
    }
}

#[test]
fn a_bo_prepared_for_scanout_but_never_shown_is_reused_at_its_level() {
    let rig = rig("sim:tgl");
    let bo = used(&rig, two_pages(Cached));
    let handle = bo.handle();
    bo.prepare_scanout().unwrap().end();
    assert_eq!(bo.release().unwrap(), Released::Kept);
    assert!(!gets(&rig, two_pages(None), handle));
    let again = rig.device.alloc(two_pages(Cached)).unwrap();
    assert_eq!((again.handle(), again.level()), (handle, CacheLevel::Llc));
    assert_eq!(rig.soft.snapshot(handle).unwrap().level, CacheLevel::Llc, "the kernel's own");
}

#[test]
fn exported_and_imported_bos_are_closed() {
    let rig = rig("sim:glk");
    let exported = used(&rig, two_pages(None));
    let dma_buf = exported.export().unwrap();
    assert_eq!(exported.release().unwrap(), Released::Closed);

    let imported = rig.device.import(dma_buf.as_fd()).unwrap();
    assert_eq!(imported.release().unwrap(), Released::Closed);

    let named = used(&rig, two_pages(None));
    named.never_reuse();
    assert_eq!(named.release().unwrap(), Released::Closed);

    // Exported without the library's knowledge; the import reveals it.
    let raw = used(&rig, two_pages(None));
    let dma_buf = rig.soft.export(raw.handle()).unwrap();
    drop(rig.device.import(dma_buf.as_fd()).unwrap());
    assert_eq!(raw.release().unwrap(), Released::Closed);
    nothing_left(&rig);
}

#[test]
fn an_object_that_is_imported_while_it_waits_is_the_imports() {
    let rig = rig("sim:glk");
    let bo = used(&rig, two_pages(None));
    let dma_buf = rig.soft.export(bo.handle()).unwrap();
    let handle = bo.handle();
    assert_eq!(bo.release().unwrap(), Released::Kept);
    let imported = rig.device.import(dma_buf.as_fd()).unwrap();
    assert_eq!(imported.handle(), handle);
    let other = rig.device.alloc(two_pages(None)).unwrap();
    assert_ne!(other.handle(), handle, "one handle, two BOs");
    rig.device.trim();
    assert_eq!(rig.counts().handles, 2, "and it is not closed under the import");
    drop(imported);
    other.close().unwrap();
    nothing_left(&rig);
}

#[test]
fn a_bo_with_a_leaked_guard_is_closed() {
    let rig = rig("sim:tgl");
    let bo = used(&rig, two_pages(Cached));
    std::mem::forget(bo.write(0, 8).unwrap());
    assert_eq!(bo.release().unwrap(), Released::Closed, "a leaked guard may still be stored through");
    nothing_left(&rig);
}

#[test]
fn a_bo_marked_dont_need_is_kept_for_reuse() {
    let rig = rig("sim:tgl");
    let bo = used(&rig, two_pages(Cached));
    let handle = bo.handle();
    bo.dont_need().unwrap();
    assert_eq!(bo.release().unwrap(), Released::Kept);
    let again = used(&rig, two_pages(Cached));
    assert_eq!((again.handle(), read(&again, 0)), (handle, OLD));
}

#[test]
fn contents_that_the_kernel_took_are_not_handed_out() {
    for platform in PLATFORMS {
        let rig = rig(&format!("sim:{platform}"));
        kept(&rig, AllocRequest::new(8192));
        rig.soft.shrink();
        let bo = rig.device.alloc(AllocRequest::new(8192)).unwrap();
        assert_eq!(read(&bo, 0), [0; 8], "{platform}: a new object");
        let stats = rig.device.reuse_stats();
        assert_eq!((stats.hits, stats.misses, stats.purged, stats.held), (0, 2, 1, 0), "{platform}");
        assert_eq!(rig.counts().handles, 1, "{platform}: the other one is closed");
    }
}

#[test]
fn memory_that_is_short_at_any_request_never_shows_a_purged_object() {
    for after in 0..12 {
        let rig = rig("sim:glk");
        rig.soft.inject(InjectedFault::Purge, after);
        for _ in 0..4 {
            let bo = rig.device.alloc(two_pages(None)).unwrap();
            write(&bo, 0, &NEW);
            assert_eq!(read(&bo, 0), NEW, "{after}");
        }
        rig.device.trim();
        nothing_left(&rig);
    }
}

#[test]
fn an_object_without_pages_has_nothing_to_keep() {
    let rig = rig("sim:tgl");
    assert_eq!(rig.device.alloc(two_pages(Cached)).unwrap().release().unwrap(), Released::Closed);
    assert_eq!(rig.device.reuse_stats().purged, 1);
    nothing_left(&rig);
}

#[test]
fn a_busy_object_is_reused_once_the_gpu_is_idle() {
    let rig = rig("sim:glk");
    let idle = used(&rig, two_pages(None));
    let busy = used(&rig, two_pages(None));
    let handles = [busy.handle(), idle.handle()];
    rig.soft.stall_gpu(true);
    rig.device.submit(&[gpu(&busy, Access::Write)]).unwrap();
    assert_eq!(busy.release().unwrap(), Released::Kept);
    assert_eq!(idle.release().unwrap(), Released::Kept);

    let first = rig.device.alloc(two_pages(None)).unwrap();
    assert_eq!(first.handle(), handles[1], "another, though the busy one is older");
    let second = rig.device.alloc(two_pages(None)).unwrap();
    assert!(!handles.contains(&second.handle()), "a new one");
    assert_eq!((rig.device.reuse_stats().busy, rig.device.reuse_stats().held), (2, 1));

    rig.soft.stall_gpu(false);
    let third = rig.device.alloc(two_pages(None)).unwrap();
    assert_eq!(third.handle(), handles[0]);
}

#[test]
fn a_wedged_gpu_stops_reuse_until_a_limit_is_set() {
    let rig = rig("sim:tgl");
    let bo = used(&rig, two_pages(Cached));
    kept(&rig, two_pages(Cached));
    rig.soft.inject(InjectedFault::Wedged, 0);
    assert_eq!(refused(rig.device.submit(&[gpu(&bo, Access::Write)])).errno(), Errno::EIO);
    assert_eq!(rig.device.reuse_stats().held, 0);
    assert_eq!(bo.release().unwrap(), Released::Closed);
    nothing_left(&rig);
    rig.device.set_reuse_limit(1 << 20);
    kept(&rig, two_pages(Cached));
}

#[test]
fn an_unplugged_device_keeps_nothing_and_hands_nothing_out() {
    let rig = rig("sim:glk");
    let bo = used(&rig, two_pages(None));
    kept(&rig, two_pages(None));
    rig.soft.inject(InjectedFault::Unplugged, 0);
    assert_eq!(refused(rig.device.alloc(two_pages(None))).errno(), Errno::ENODEV);
    assert_eq!(rig.device.reuse_stats().held, 0, "what the kernel does not answer for is let go");
    assert_eq!(refused(bo.release()).errno(), Errno::ENODEV);
    assert_eq!(rig.device.reuse_stats().held, 0);
}

#[test]
fn an_unsupported_request_is_refused_despite_kept_objects() {
    for (platform, caching) in [("dg2", Cached), ("dg2", None), ("i965gm", Cached)] {
        let rig = rig(&format!("sim:{platform}"));
        kept(&rig, AllocRequest::new(8192));
        let error = refused(rig.device.alloc(two_pages(caching)));
        assert!(matches!(error, Error::NotAvailable { .. }), "{platform} {caching}: {error}");
    }
}

#[test]
fn the_limit_is_kept_and_the_oldest_makes_room() {
    let rig = crate::rig("sim:glk");
    rig.device.set_reuse_limit(3 * 8192);
    let bos: Vec<_> = (0..5).map(|_| used(&rig, two_pages(None))).collect();
    let handles: Vec<_> = bos.iter().map(Bo::handle).collect();
    for bo in bos {
        drop(bo);
        assert!(rig.device.reuse_stats().held_bytes <= 3 * 8192);
    }
    let stats = rig.device.reuse_stats();
    assert_eq!((stats.held, stats.held_bytes, stats.evicted), (3, 3 * 8192, 2));
    assert_eq!(rig.counts().handles, 3);
    let large = used(&rig, AllocRequest::new(4 * 8192).caching(None));
    assert_eq!(large.release().unwrap(), Released::Closed, "larger than the limit");
    assert!(gets(&rig, two_pages(None), handles[2]), "the first two are gone");
    rig.device.set_reuse_limit(8192);
    assert_eq!(rig.device.reuse_stats().held, 1);
    rig.device.trim();
    nothing_left(&rig);
}

#[test]
fn an_aged_object_is_closed() {
    let rig = rig("sim:glk");
    rig.device.set_reuse_age(2);
    kept(&rig, two_pages(None));
    let allocate = || rig.device.alloc(AllocRequest::new(4096)).unwrap().close().unwrap();
    allocate();
    allocate();
    assert_eq!((rig.device.reuse_stats().held, rig.device.reuse_stats().aged), (1, 0));
    allocate();
    assert_eq!((rig.device.reuse_stats().held, rig.device.reuse_stats().aged), (0, 1));
    nothing_left(&rig);
}

#[test]
fn the_last_reference_to_a_device_closes_kept_objects() {
    let rig = rig("sim:glk");
    let bo = used(&rig, two_pages(None));
    kept(&rig, two_pages(None));
    let Rig { soft, device } = rig;
    drop(device);
    assert_eq!(soft.open_counts().handles, 2, "the BO is of a device that still is");
    drop(bo);
    assert_eq!(soft.open_counts(), OpenCounts::default());
}

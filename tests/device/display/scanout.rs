//! The display: the flushes for it, the effects of showing a BO, and the calls that are refused meanwhile.

use gem_coherency::Errno;
use gem_coherency::Error;
use gem_coherency::device::{AllocRequest, Submission};
use gem_coherency::policy::{Rule, Verdict};
use gem_coherency::vocabulary::CachingMode::{Cached, Display, None};
use gem_coherency::vocabulary::{Access, CacheLevel, MmapMode, MocsClass};

use crate::trace::cache_operations;
use crate::{NEW, Rig, gpu, nothing_left, prepared, refused, rig, write};

const PAGE_TABLE: MocsClass = MocsClass::PageTable;

#[test]
fn the_display_reads_flushed_lines_only() {
    for (name, caching) in
        [("sim:tgl", Cached), ("sim:tgl", None), ("sim:hsw", Display), ("sim:glk", None), ("sim:glk", Cached)]
    {
        let rig = rig(name);
        // Write the first page's zeroes to memory, as after a first frame.
        let bo = rig.bo(caching, MmapMode::Wb);
        write(&bo, 0, &[0; 4096]);
        bo.flush().unwrap();
        write(&bo, 100, &NEW);
        assert_eq!(rig.display(&bo, 100), [0; 8], "{name} {caching}: without the flush");
        let guard = bo.prepare_scanout().unwrap();
        let report = guard.report();
        assert_eq!((report.decision.verdict, report.lines), (Verdict::Flush, 1), "{name} {caching}");
        assert_eq!(report.decision.rule, Rule::DisplayReadsMemory);
        assert_eq!(rig.display(&bo, 100), NEW, "{name} {caching}");
    }
}

#[test]
fn gpu_lines_in_the_llc_are_flushed_for_the_display() {
    for name in ["sim:tgl", "sim:glk"] {
        let rig = rig(name);
        let rendered = || {
            let bo = rig.bo(Cached, MmapMode::Wb);
            write(&bo, 0, &[1; 8192]);
            bo.flush().unwrap();
            rig.device.submit(&[gpu(&bo, Access::Write)]).unwrap();
            // Cache the line, so that a snooped write stays in the cache.
            crate::read(&bo, 100);
            rig.soft.gpu_write(bo.handle(), PAGE_TABLE, 100, &NEW).unwrap();
            bo
        };
        let bo = rendered();
        let guard = bo.prepare_scanout().unwrap();
        assert_eq!(
            (guard.report().decision.rule, guard.report().lines),
            (Rule::GpuWriteMayBeCached, 128),
            "{name}"
        );
        assert_eq!(rig.display(&bo, 100), NEW, "{name}");

        if name == "sim:tgl" {
            assert_eq!(rig.display(&rendered(), 100), [1; 8], "without the flush");
        }
    }
}

#[test]
fn showing_a_bo_forces_its_level_as_the_kernel_does() {
    for (name, caching, level) in [
        ("sim:tgl", Some(Cached), CacheLevel::None),
        ("sim:hsw", Some(Cached), CacheLevel::Wt),
        ("sim:glk", Some(Cached), CacheLevel::None),
        ("sim:mtl", Option::None, CacheLevel::None),
        ("sim:mtl", Some(Cached), CacheLevel::Llc),
        ("sim:mtl", Some(Display), CacheLevel::Wt),
    ] {
        let rig = rig(name);
        let bo = rig.device.alloc(AllocRequest { caching, ..AllocRequest::new(4096) }).unwrap();
        let guard = bo.prepare_scanout().unwrap();
        rig.soft.set_framebuffer(bo.handle()).unwrap();
        rig.soft.pin_display(bo.handle()).unwrap();
        assert_eq!(bo.level(), level, "{name} {caching:?}");
        assert_eq!(
            rig.soft.snapshot(bo.handle()).unwrap().level,
            level,
            "{name} {caching:?}: the kernel's own"
        );
        guard.end();
        assert_eq!(bo.level(), level, "{name}: it is not restored");
    }
}

/// Returns the bytes that an LLC-bypassing GPU read sees of an earlier GPU write, after `show`.
fn drawn_after(rig: &Rig, show: impl FnOnce(&gem_coherency::object::Bo)) -> [u8; 8] {
    let bo = rig.bo(Cached, MmapMode::Wb);
    write(&bo, 0, &[1; 8192]);
    show(&bo);
    rig.device.submit(&[gpu(&bo, Access::Write)]).unwrap();
    rig.soft.gpu_write(bo.handle(), PAGE_TABLE, 100, &NEW).unwrap();
    let mocs = MocsClass::BypassLlc;
    let mut seen = [0; 8];
    let read = Submission { bo: &bo, access: Access::Read, mocs };
    rig.device.submit_with(&[read], |_| rig.soft.gpu_read(bo.handle(), mocs, 100, &mut seen)).unwrap();
    seen
}

#[test]
fn a_show_that_does_not_happen_leaves_the_level_and_no_old_bytes() {
    let rig = rig("sim:jsl");
    assert_eq!(drawn_after(&rig, |bo| bo.prepare_scanout().unwrap().end()), NEW, "announced, and taken back");
    let mut kept = Option::None;
    assert_eq!(drawn_after(&rig, |bo| kept = Some(bo.prepare_scanout().unwrap())), NEW, "not shown yet");
    let shown = |bo: &gem_coherency::object::Bo| {
        kept = Some(bo.prepare_scanout().unwrap());
        rig.soft.set_framebuffer(bo.handle()).unwrap();
        rig.soft.pin_display(bo.handle()).unwrap();
    };
    assert_eq!(drawn_after(&rig, shown), NEW, "shown");
}

#[test]
fn a_level_that_was_never_forced_keeps_the_aperture_closed() {
    let rig = rig("sim:glk");
    let bo = rig.bo(Cached, MmapMode::Wb);
    let _announced = bo.prepare_scanout().unwrap();
    let error = refused(bo.map(MmapMode::Gtt));
    assert!(matches!(error, Error::NotAvailable { .. }), "the kernel still snoops: SIGBUS; {error:?}");
    rig.soft.set_framebuffer(bo.handle()).unwrap();
    rig.soft.pin_display(bo.handle()).unwrap();
    bo.map(MmapMode::Gtt).unwrap();
    write(&bo, 0, &NEW);
    assert_eq!(rig.soft.bus_errors(), 0);
}

#[test]
fn the_level_is_queried_until_the_kernel_reports_the_forced_one() {
    let rig = rig("sim:tgl");
    let bo = rig.bo(Cached, MmapMode::Wb);
    // Counts how often an access asks the kernel for the level.
    let asked = || {
        let seen = cache_operations(|| bo.read(0, 8).map(drop));
        seen.iter().filter(|event| event.starts_with("level")).count()
    };
    assert_eq!(asked(), 0);
    let guard = bo.prepare_scanout().unwrap();
    assert_eq!((asked(), asked()), (1, 1), "not shown yet");
    rig.soft.set_framebuffer(bo.handle()).unwrap();
    rig.soft.pin_display(bo.handle()).unwrap();
    assert_eq!((asked(), asked()), (1, 0), "confirmed");
    guard.end();
    assert_eq!(asked(), 0);
    let _again = bo.prepare_scanout().unwrap();
    assert_eq!(asked(), 0, "nothing is forced that it does not have");
}

#[test]
fn a_level_change_is_refused_while_a_show_may_be_under_way() {
    let rig = rig("sim:tgl");
    let bo = rig.bo(Cached, MmapMode::Wb);
    let announced = bo.prepare_scanout().unwrap();
    assert!(matches!(refused(bo.set_caching(Cached)), Error::OnScreen { .. }), "it may be one by then");
    announced.end();
    bo.set_caching(None).unwrap();
    assert_eq!(bo.level(), CacheLevel::None);
}

/// Puts a BO on screen at its forced level.
fn shown(rig: &Rig) -> (gem_coherency::object::Bo, gem_coherency::object::ScanoutGuard) {
    let bo = rig.bo(Cached, MmapMode::Wb);
    let guard = bo.prepare_scanout().unwrap();
    rig.soft.set_framebuffer(bo.handle()).unwrap();
    rig.soft.pin_display(bo.handle()).unwrap();
    (bo, guard)
}

#[test]
fn a_level_change_on_screen_is_refused_and_never_made() {
    let rig = rig("sim:tgl");
    let (bo, guard) = shown(&rig);
    let error = refused(bo.set_caching(Cached));
    assert!(
        matches!(error, Error::OnScreen { from: CacheLevel::None, to: CacheLevel::Llc, .. }),
        "{error:?}"
    );
    assert_eq!(error.errno(), Errno::EBUSY);
    bo.set_caching(None).unwrap();
    let second = bo.prepare_scanout().unwrap();
    guard.end();
    assert!(matches!(refused(bo.set_caching(Cached)), Error::OnScreen { .. }), "shown twice");
    second.end();
    rig.soft.unpin_display(bo.handle()).unwrap();
    bo.set_caching(Cached).unwrap();
    assert_eq!(bo.level(), CacheLevel::Llc);
}

#[test]
fn on_haswell_none_is_a_level_change_too() {
    let rig = rig("sim:hsw");
    let (bo, _guard) = shown(&rig);
    bo.set_caching(Display).unwrap();
    assert!(matches!(refused(bo.set_caching(None)), Error::OnScreen { from: CacheLevel::Wt, .. }));
}

#[test]
fn a_bo_on_screen_is_neither_closed_nor_purged() {
    let rig = rig("sim:tgl");
    let (bo, guard) = shown(&rig);
    assert!(matches!(refused(bo.close()), Error::Pinned { .. }));
    assert!(matches!(refused(bo.dont_need()), Error::Pinned { .. }));
    drop(guard);
    rig.soft.unpin_display(bo.handle()).unwrap();
    bo.close().unwrap();
    drop(bo);
    nothing_left(&rig);
}

#[test]
fn a_front_buffer_is_flushed_after_later_drawing() {
    let rig = rig("sim:tgl");
    let bo = rig.bo(None, MmapMode::Wb);
    write(&bo, 0, &[1; 8192]);
    let guard = bo.prepare_scanout().unwrap();
    assert_eq!(guard.report().lines, 128);
    write(&bo, 100, &NEW);
    assert_eq!(rig.display(&bo, 100), [1; 8]);
    assert_eq!(guard.flush().unwrap().lines, 1);
    assert_eq!(rig.display(&bo, 100), NEW);
    let report = guard.flush().unwrap();
    assert_eq!((report.decision.rule, report.lines), (Rule::NothingDirty, 0));
}

#[test]
fn a_discrete_device_shows_no_system_memory() {
    let rig = rig("sim:dg2");
    let bo = rig.device.alloc(AllocRequest::new(4096)).unwrap();
    let error = refused(bo.prepare_scanout());
    assert!(matches!(error, Error::NotAvailable { .. }), "{error:?}");
    assert_eq!(error.errno(), Errno::EINVAL);
    bo.close().unwrap();
}

#[test]
fn a_bypassing_read_of_a_shown_bo_is_flushed_for_too() {
    let rig = rig("sim:jsl");
    let (bo, _guard) = shown(&rig);
    write(&bo, 100, &NEW);
    let bypass = Submission { bo: &bo, access: Access::Read, mocs: MocsClass::BypassLlc };
    assert_eq!(prepared(&rig, bypass), (Verdict::Flush, Rule::BypassMocsRead, 1));
    assert_eq!(rig.display(&bo, 100), NEW, "one flush serves both");
}

#[test]
fn lines_are_stale_at_either_level_after_a_gpu_write_that_a_show_crosses() {
    // At LLC the GPU's write is coherent on glk; at the display's NONE it is not.
    for shows in [true, false] {
        let rig = rig("sim:glk");
        let bo = rig.bo(Cached, MmapMode::Wb);
        write(&bo, 0, &NEW);
        let mut guard = Option::None;
        let execbuf = |_: &[_]| {
            guard = shows.then(|| bo.prepare_scanout()).transpose()?;
            Ok(())
        };
        rig.device.submit_with(&[gpu(&bo, Access::Write)], execbuf).unwrap();
        let stale = if guard.is_some() { bo.size() / 64 } else { 0 };
        assert_eq!(bo.stale_lines(), stale, "shown: {shows}");
    }
}

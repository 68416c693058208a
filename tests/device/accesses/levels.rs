//! Caching changes of an existing BO: its level, and the effect on pending bytes.

use gem_coherency::Errno;
use gem_coherency::Error;
use gem_coherency::backend::Drm;
use gem_coherency::policy::{Rule, Verdict};
use gem_coherency::vocabulary::CachingMode::{Cached, Display, None};
use gem_coherency::vocabulary::{Access, CacheLevel, MmapMode, MocsClass};

use crate::{NEW, gpu, prepared, read, refused, rig, write};

const PAGE_TABLE: MocsClass = MocsClass::PageTable;

#[test]
fn dirty_lines_outlive_a_change_from_cached_to_uncached() {
    let rig = rig("sim:glk");
    let bo = rig.bo(Cached, MmapMode::Wb);
    write(&bo, 0, &NEW);
    assert_eq!(prepared(&rig, gpu(&bo, Access::Read)), (Verdict::NotNeeded, Rule::Snooped, 0));
    bo.set_caching(None).unwrap();
    assert_eq!((bo.level(), bo.caching()), (CacheLevel::None, None));
    assert_eq!(prepared(&rig, gpu(&bo, Access::Read)), (Verdict::Flush, Rule::NonCoherentRead, 1));
    assert_eq!(rig.gpu(&bo, PAGE_TABLE, 0), NEW);
}

#[test]
fn gpu_lines_in_the_llc_survive_a_level_change() {
    let rig = rig("sim:glk");
    let uncached_after_a_cached_gpu_write = || {
        let bo = rig.bo(Cached, MmapMode::Wb);
        write(&bo, 0, &[1; 64]);
        rig.device.submit(&[gpu(&bo, Access::Write)]).unwrap();
        rig.soft.gpu_write(bo.handle(), PAGE_TABLE, 0, &NEW).unwrap();
        bo.wait(Option::None).unwrap();
        bo.set_caching(None).unwrap();
        bo
    };
    let bo = uncached_after_a_cached_gpu_write();
    assert_eq!(prepared(&rig, gpu(&bo, Access::Read)), (Verdict::Flush, Rule::NonCoherentRead, 128));
    assert_eq!(rig.gpu(&bo, PAGE_TABLE, 0), NEW);

    let forgotten = uncached_after_a_cached_gpu_write();
    assert_ne!(rig.gpu(&forgotten, PAGE_TABLE, 0), NEW);
}

#[test]
fn uncached_gpu_writes_survive_a_level_change_and_swap() {
    for name in ["sim:glk", "sim:apl", "sim:chv"] {
        let rig = rig(name);
        let written_around = || {
            let bo = rig.bo(None, MmapMode::Wb);
            assert_eq!(read(&bo, 0), [0; 8]);
            rig.device.submit(&[gpu(&bo, Access::Write)]).unwrap();
            rig.soft.gpu_write(bo.handle(), PAGE_TABLE, 0, &NEW).unwrap();
            bo
        };
        let bo = written_around();
        bo.set_caching(Cached).unwrap();
        rig.soft.swap_out(bo.handle()).unwrap();
        assert_eq!((read(&bo, 0), rig.gpu(&bo, PAGE_TABLE, 0)), (NEW, NEW), "{name}");

        // SET_CACHING alone drops no line, and the kernel saves the line that is older than memory.
        let forgotten = written_around();
        rig.soft.set_caching(forgotten.handle(), Cached).unwrap();
        rig.soft.swap_out(forgotten.handle()).unwrap();
        assert_eq!(rig.gpu(&forgotten, PAGE_TABLE, 0), [0; 8], "{name}");
    }
}

#[test]
fn a_level_change_without_uncached_writes_acquires_no_pages() {
    let rig = rig("sim:glk");
    let bo = rig.device.alloc(gem_coherency::device::AllocRequest::new(4096).caching(None)).unwrap();
    bo.set_caching(Cached).unwrap();
    assert!(!rig.soft.snapshot(bo.handle()).unwrap().pages);
}

#[test]
fn display_is_wt_with_edram_and_none_without() {
    let wt = rig("sim:hsw");
    let bo = wt.bo(Cached, MmapMode::Wb);
    bo.set_caching(Display).unwrap();
    assert_eq!((bo.level(), bo.caching()), (CacheLevel::Wt, Display));
    let plain = rig("sim:tgl");
    let bo = plain.bo(Cached, MmapMode::Wb);
    bo.set_caching(Display).unwrap();
    assert_eq!((bo.level(), bo.caching()), (CacheLevel::None, None));
}

#[test]
fn a_refused_change_leaves_the_level() {
    for (name, mode, errno) in [
        ("sim:mtl", Cached, Errno::EOPNOTSUPP),
        ("sim:dg2", None, Errno::ENODEV),
        ("sim:i965gm", Cached, Errno::ENODEV),
    ] {
        let rig = rig(name);
        let bo = rig.device.alloc(gem_coherency::device::AllocRequest::new(4096)).unwrap();
        let before = bo.level();
        let error = refused(bo.set_caching(mode));
        assert!(matches!(error, Error::NotAvailable { .. }), "{name}: {error:?}");
        assert_eq!(error.errno(), errno, "{name}");
        assert_eq!(bo.level(), before, "{name}");
        write(&bo, 0, &NEW);
        assert_eq!(read(&bo, 0), NEW, "{name}: still in use");
    }
}

#[test]
fn a_bo_under_a_guard_or_a_submission_keeps_its_level() {
    let rig = rig("sim:tgl");
    let bo = rig.bo(Cached, MmapMode::Wb);
    let guard = bo.write(0, 8).unwrap();
    assert!(matches!(refused(bo.set_caching(None)), Error::InUse { writers: 1, .. }));
    drop(guard);
    rig.device
        .submit_with(&[gpu(&bo, Access::Read)], |_| {
            assert!(matches!(refused(bo.set_caching(None)), Error::InUse { submits: 1, .. }));
            Ok(())
        })
        .unwrap();
    bo.set_caching(None).unwrap();
}

#[test]
fn an_unplugged_device_leaves_the_level_and_the_word_free() {
    let rig = rig("sim:tgl");
    let bo = rig.bo(Cached, MmapMode::Wb);
    rig.soft.inject(gem_coherency_sim::InjectedFault::Unplugged, 0);
    assert_eq!(refused(bo.set_caching(None)).errno(), Errno::ENODEV);
    assert_eq!(bo.level(), CacheLevel::Llc);
    write(&bo, 0, &NEW);
}

#[test]
fn a_refused_change_too_waits_for_the_gpu_before_it_takes_its_writes_for_dirty_lines() {
    let rig = rig("sim:mtl");
    let bo = rig.bo(Cached, MmapMode::Wb);
    rig.soft.stall_gpu(true);
    rig.device.submit(&[gpu(&bo, Access::Write)]).unwrap();
    std::thread::scope(|scope| {
        let change = scope.spawn(|| bo.set_caching(None));
        std::thread::sleep(std::time::Duration::from_millis(20));
        assert!(!change.is_finished(), "lines that are flushed now would be dirty again");
        rig.soft.stall_gpu(false);
        assert_eq!(refused(change.join().unwrap()).errno(), Errno::EOPNOTSUPP);
    });
    assert_eq!(bo.prepare_scanout().unwrap().report().lines, 128);
}

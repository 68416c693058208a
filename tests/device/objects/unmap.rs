//! The end of a BO's mappings before the end of the BO: nothing that was stored is lost, and the next access maps again.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use gem_coherency::backend::Drm as _;
use gem_coherency::backend::mapping::Mapping;
use gem_coherency::device::{AdoptRequest, AllocRequest, Contents, Submission};
use gem_coherency::policy::{Path, Rule, Verdict};
use gem_coherency::vocabulary::{Access, CacheLevel, CachingMode, Handle, MmapMode, MocsClass};
use gem_coherency::{Bo, Errno};

use crate::objects::adopt::{adopted, close};
use crate::trace::cache_operations;
use crate::{NEW, Rig, gpu, nothing_left, prepare, prepared, read, refused, rig, write};

#[test]
fn the_librarys_mapping_is_unmapped_and_made_again_by_the_next_access() {
    let rig = rig("sim:glk");
    let bo = rig.bo(CachingMode::None, MmapMode::Wb);
    bo.flush().unwrap();
    write(&bo, 0, &NEW);
    assert_eq!(rig.counts().mappings, 1);
    bo.unmap().unwrap();
    assert_eq!(rig.counts().mappings, 0);
    assert_eq!(bo.dirty_lines(), 1, "the mark stays");
    assert_ne!(rig.gpu(&bo, MocsClass::PageTable, 0), NEW, "without a flush");
    assert_eq!(prepared(&rig, gpu(&bo, Access::Read)), (Verdict::Flush, Rule::NonCoherentRead, 1));
    assert_eq!(rig.counts().mappings, 1, "for the flush");
    assert_eq!(rig.gpu(&bo, MocsClass::PageTable, 0), NEW);
    for _ in 0..3 {
        bo.unmap().unwrap();
        bo.unmap().unwrap();
        assert_eq!(rig.counts().mappings, 0);
        assert_eq!(read(&bo, 0), NEW);
    }
    drop(bo);
    nothing_left(&rig);
}

#[test]
fn stores_around_the_cache_are_drained_while_they_can_be() {
    // On Gemini Lake a fence does not drain the aperture: a load through the mapping does.
    for mode in [MmapMode::Wc, MmapMode::Gtt] {
        let rig = rig("sim:glk");
        let bo = rig.bo(CachingMode::None, mode);
        write(&bo, 0, &NEW);
        assert_ne!(rig.gpu(&bo, MocsClass::PageTable, 0), NEW, "{mode}: without a drain");
        bo.unmap().unwrap();
        assert_eq!(rig.gpu(&bo, MocsClass::PageTable, 0), NEW, "{mode}");
    }
}

/// A fence leaves stores in the chipset on parts whose GGTT writes are not coherent (`MMAP_GTT_COHERENT` is 0); a load through
/// the aperture brings them out. No software device shows the difference.
#[test]
fn stores_through_the_aperture_are_drained_by_a_load_where_a_fence_is_not_enough() {
    for (name, mode, drain) in [
        ("sim:glk", MmapMode::Gtt, &["read back", "fence loads"][..]),
        ("sim:chv", MmapMode::Gtt, &["read back", "fence loads"]),
        ("sim:skl", MmapMode::Gtt, &[]),
        ("sim:glk", MmapMode::Wc, &[]),
    ] {
        let rig = rig(name);
        let bo = rig.bo(CachingMode::None, mode);
        write(&bo, 0, &NEW);
        assert_eq!(
            cache_operations(|| prepare(&rig.device, &[gpu(&bo, Access::Read)])),
            drain,
            "{name} {mode}"
        );
    }
}

#[test]
fn writes_of_the_gpu_while_there_is_no_mapping_are_invalidated_for_the_next_one() {
    let rig = rig("sim:glk");
    let bo = rig.bo(CachingMode::None, MmapMode::Wb);
    // The lines stay in the CPU's cache.
    assert_eq!(read(&bo, 0), [0; 8]);
    bo.unmap().unwrap();
    rig.soft.gpu_write(bo.handle(), MocsClass::PageTable, 0, &NEW).unwrap();
    bo.map(MmapMode::Wb).unwrap();
    assert_ne!(read(&bo, 0), NEW, "without a report");
    bo.unmap().unwrap();
    bo.mark_stale(0, 8).unwrap();
    bo.map(MmapMode::Wb).unwrap();
    assert_eq!(bo.stale_lines(), 1, "of 128: the others were tracked, too");
    assert_eq!(read(&bo, 0), NEW);
}

#[test]
fn an_open_access_keeps_the_mapping_and_a_submission_goes_on_without_it() {
    let rig = rig("sim:glk");
    let bo = rig.bo(CachingMode::None, MmapMode::Wb);
    let mut guard = bo.write(0, 8).unwrap();
    let error = refused(bo.unmap());
    assert_eq!(error.errno(), Errno::EBUSY, "{error}");
    assert_eq!(rig.counts().mappings, 1);
    guard.write_at(0, &NEW).unwrap();
    guard.finish();
    let submitted = rig.device.begin_submit(&[gpu(&bo, Access::Read)]).unwrap();
    bo.unmap().unwrap();
    assert_eq!(rig.counts().mappings, 0);
    assert_eq!(rig.gpu(&bo, MocsClass::PageTable, 0), NEW);
    assert_eq!(refused(bo.close()).errno(), Errno::EBUSY, "the submission is open");
    submitted.end(None);
    assert!(bo.dont_need().is_ok());
    assert_eq!(refused(bo.unmap()).errno(), Errno::EFAULT);
    assert!(bo.will_need().is_ok());
    bo.close().unwrap();
    assert_eq!(refused(bo.unmap()).errno(), Errno::ENOENT);
}

#[test]
fn dirty_lines_of_the_drivers_mapping_are_flushed_before_it_is_forgotten() {
    let rig = rig("sim:glk");
    let (mapping, bo) = adopted(&rig, MmapMode::Wb);
    let before = rig.counts().mappings;
    bo.flush().unwrap();
    mapping.copy_in(0, &NEW).unwrap();
    bo.mark_written(0, 8).unwrap();
    assert_ne!(rig.gpu(&bo, MocsClass::PageTable, 0), NEW, "without a flush");
    bo.unmap().unwrap();
    assert_eq!((bo.dirty_lines(), rig.counts().mappings), (0, before - 1));
    assert_eq!(rig.gpu(&bo, MocsClass::PageTable, 0), NEW);

    // A mapping at another place, in another mode.
    let again = rig.raw(&bo, MmapMode::Wc);
    bo.remap(rig.raw(&bo, MmapMode::Wc)).unwrap();
    assert_eq!((bo.map_mode(), rig.counts().mappings), (MmapMode::Wc, before + 1));
    again.copy_in(64, &NEW).unwrap();
    bo.mark_written(64, 8).unwrap();
    assert_eq!(prepared(&rig, gpu(&bo, Access::Read)).0, Verdict::Drain);
    assert_eq!(rig.gpu(&bo, MocsClass::PageTable, 64), NEW);
    drop(again);
    close(&rig, bo, mapping);
}

#[test]
fn a_new_mapping_takes_the_place_of_the_old_one_in_one_call() {
    let rig = rig("sim:glk");
    let (mapping, bo) = adopted(&rig, MmapMode::Wb);
    let before = rig.counts().mappings;
    mapping.copy_in(0, &NEW).unwrap();
    bo.mark_written(0, 8).unwrap();
    bo.remap(rig.raw(&bo, MmapMode::Wb)).unwrap();
    assert_eq!((bo.map_mode(), rig.counts().mappings), (MmapMode::Wb, before));
    assert_eq!(rig.gpu(&bo, MocsClass::PageTable, 0), NEW);
    assert_eq!(read(&bo, 0), NEW);
    let other = rig.device.alloc(AllocRequest::new(4096)).unwrap();
    assert_eq!(refused(bo.remap(rig.raw(&other, MmapMode::Wb))).errno(), Errno::EINVAL, "another size");
    drop(other);
    close(&rig, bo, mapping);
}

/// vkUnmapMemory beside vkQueueSubmit is legal, and so is a flip beside both: each goes on while the others do.
#[test]
fn neither_submissions_nor_shows_are_refused_beside_an_unmap() {
    const UNMAPS: u64 = 200;
    const LEN: u64 = 1 << 18;
    let rig = rig("sim:glk");
    let created = rig.soft.create(LEN).unwrap();
    let request = AdoptRequest::new(created.handle, LEN).contents(Contents::New).level(CacheLevel::None);
    let bo = rig.device.adopt(request).unwrap();
    bo.map(MmapMode::Wb).unwrap();
    let is_over = AtomicBool::new(false);
    let (is_over, device) = (&is_over, &rig.device);
    // Each also flushes for writes that the CPU did not make.
    let gpu_writes =
        [Access::Read, Access::Write].map(|access| Submission { access, ..gpu(&bo, Access::Read) });
    let done = thread::scope(|scope| {
        let submits = gpu_writes.map(|submission| {
            scope.spawn(move || {
                let mut done = 0;
                while !is_over.load(Ordering::Relaxed) {
                    device.submit_with(&[submission], |_| Ok(())).unwrap();
                    done += 1;
                }
                done
            })
        });
        let shows = scope.spawn(|| {
            let mut done = 0;
            while !is_over.load(Ordering::Relaxed) {
                let shown = bo.prepare_scanout().unwrap();
                shown.flush().unwrap();
                done += 1;
            }
            done
        });
        for round in 0..UNMAPS {
            bo.mark_written(0, LEN).unwrap();
            match round % 2 {
                0 => bo.unmap().unwrap(),
                _ => bo.remap(rig.raw(&bo, MmapMode::Wb)).unwrap(),
            }
        }
        is_over.store(true, Ordering::Relaxed);
        submits.into_iter().chain([shows]).map(|thread| thread.join().unwrap()).min()
    });
    assert!(done > Some(0), "each thread went on");
    bo.unmap().unwrap();
    assert_eq!(bo.dirty_lines(), 0);
    drop(bo);
    rig.soft.close(created.handle).unwrap();
    nothing_left(&rig);
}

#[test]
fn an_object_with_a_mapping_of_the_drivers_is_not_reused() {
    for is_remapped in [false, true] {
        let rig = rig("sim:tgl");
        rig.device.set_reuse_limit(1 << 20);
        let bo = rig.bo(CachingMode::Cached, MmapMode::Wb);
        write(&bo, 0, &NEW);
        if is_remapped {
            bo.remap(rig.raw(&bo, MmapMode::Wb)).unwrap();
        } else {
            bo.unmap().unwrap();
        }
        drop(bo);
        assert_eq!(rig.device.reuse_stats().held, usize::from(!is_remapped));
        let again = rig.bo(CachingMode::Cached, MmapMode::Wb);
        assert_eq!(rig.device.reuse_stats().hits, u64::from(!is_remapped));
        write(&again, 0, &NEW);
        assert_eq!(read(&again, 0), NEW);
    }
}

const AROUND: Path = Path::Cpu(MmapMode::Wc);
const BYPASS: Path = Path::Gpu(MocsClass::BypassLlc);

/// A request for the driver's object of two pages and of unknown contents, for these readers, or for all.
fn request_for(handle: Handle, readers: Option<&[Path]>) -> AdoptRequest {
    let request = AdoptRequest::new(handle, 8192);
    match readers {
        Some(readers) => request.readers(readers),
        None => request,
    }
}

/// The driver's object, and its own mapping, to which it has stored.
fn adopted_for(rig: &Rig, caching: CachingMode, readers: Option<&[Path]>) -> (Mapping, Bo) {
    let handle = rig.soft.create(8192).unwrap().handle;
    rig.soft.set_caching(handle, caching).unwrap();
    let mapping = rig.soft.map(handle, MmapMode::Wb, 8192).unwrap();
    mapping.copy_in(0, &NEW).unwrap();
    let bo = rig
        .device
        .adopt(request_for(handle, readers).mapped(rig.soft.map(handle, MmapMode::Wb, 8192).unwrap()));
    (mapping, bo.unwrap())
}

#[test]
fn an_unmap_flushes_for_the_readers_that_the_driver_names() {
    let (cached, uncached) = (CachingMode::Cached, CachingMode::None);
    for (name, caching, readers, flushed) in [
        ("sim:tgl", cached, None, 128),
        ("sim:tgl", cached, Some(&[][..]), 0),
        ("sim:tgl", cached, Some(&[Path::Gpu(MocsClass::PageTable), BYPASS]), 0),
        ("sim:tgl", cached, Some(&[AROUND]), 0),
        ("sim:tgl", cached, Some(&[Path::Display]), 128),
        ("sim:hsw", cached, Some(&[]), 0),
        ("sim:jsl", cached, Some(&[]), 0),
        ("sim:jsl", cached, Some(&[BYPASS]), 128),
        ("sim:glk", uncached, Some(&[]), 128),
        ("sim:glk", cached, Some(&[]), 0),
        ("sim:glk", cached, Some(&[AROUND]), 128),
        // No reader at all, because the platform has no such mapping.
        ("sim:glk", cached, Some(&[Path::Cpu(MmapMode::Fixed)]), 0),
    ] {
        for remaps in [false, true] {
            let rig = rig(name);
            let (mapping, bo) = adopted_for(&rig, caching, readers);
            match remaps {
                true => bo.remap(rig.raw(&bo, MmapMode::Wb)).unwrap(),
                false => bo.unmap().unwrap(),
            }
            assert_eq!(128 - bo.dirty_lines(), flushed, "{name} {caching} {readers:?}");
            assert_eq!(rig.gpu(&bo, MocsClass::PageTable, 0), NEW, "{name} {caching} {readers:?}");
            // One that was not named misses what no other one needs, until a call names it.
            assert_eq!(rig.display(&bo, 0) == NEW, flushed > 0, "{name} {caching} {readers:?}");
            assert_eq!(bo.prepare_scanout().unwrap().report().lines, 128 - flushed);
            assert_eq!(rig.display(&bo, 0), NEW);
            close(&rig, bo, mapping);
        }
    }
}

#[test]
fn readers_join_those_that_were_named() {
    type Gain = fn(&Rig, &Bo);
    let gains: [(&str, Gain); 7] = [
        ("nothing", |_, _| {}),
        ("adopted again for the same", |rig, bo| {
            rig.device.adopt(request_for(bo.handle(), Some(&[]))).unwrap();
        }),
        ("shown", |_, bo| bo.prepare_scanout().unwrap().end()),
        ("exported", |_, bo| drop(bo.export().unwrap())),
        ("exported by the driver", |_, bo| bo.never_reuse()),
        ("adopted again for the display", |rig, bo| {
            rig.device.adopt(request_for(bo.handle(), Some(&[Path::Display]))).unwrap();
        }),
        ("adopted again for all", |rig, bo| {
            rig.device.adopt(request_for(bo.handle(), None)).unwrap();
        }),
    ];
    for (place, (what, gain)) in gains.into_iter().enumerate() {
        let rig = rig("sim:tgl");
        let (mapping, bo) = adopted_for(&rig, CachingMode::Cached, Some(&[]));
        bo.flush().unwrap();
        gain(&rig, &bo);
        mapping.copy_in(64, &NEW).unwrap();
        bo.mark_written(64, 8).unwrap();
        bo.unmap().unwrap();
        assert_eq!(bo.dirty_lines() == 0, place > 1, "{what}");
        assert_eq!(rig.display(&bo, 64) == NEW, place > 1, "{what}");
        close(&rig, bo, mapping);
    }
}

/// The driver loads through its new mapping without a call of the library's.
#[test]
fn a_remap_flushes_for_loads_through_the_new_mapping() {
    for (mode, is_flushed) in [(MmapMode::Wb, false), (MmapMode::Wc, true)] {
        let rig = rig("sim:glk");
        let (mapping, bo) = adopted_for(&rig, CachingMode::Cached, Some(&[]));
        bo.remap(rig.raw(&bo, mode)).unwrap();
        assert_eq!(
            (bo.dirty_lines() == 0, rig.raw_load(&bo, MmapMode::Wc, 0) == NEW),
            (is_flushed, is_flushed)
        );
        close(&rig, bo, mapping);
    }
}

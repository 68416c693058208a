//! Guards: the accesses that they allow, the lines that they mark, and the state after they are dropped.

use std::panic::{AssertUnwindSafe, catch_unwind};

use gem_coherency::Error;
use gem_coherency::backend::{Advice, Drm};
use gem_coherency::object::Upload;
use gem_coherency::policy::{Rule, Verdict};
use gem_coherency::units::ByteRange;
use gem_coherency::vocabulary::CachingMode::{Cached, None};
use gem_coherency::vocabulary::{Access, MmapMode, MocsClass};

use crate::trace::cache_operations;
use crate::{NEW, gpu, nothing_left, prepared, read, refused, rig, write};

#[test]
fn a_write_marks_its_lines_and_no_others() {
    let rig = rig("sim:glk");
    let bo = rig.bo(None, MmapMode::Wb);
    #[track_caller]
    fn case(bo: &gem_coherency::object::Bo, offset: u64, len: usize, lines: u64) {
        write(bo, offset, &vec![1; len]);
        assert_eq!(bo.dirty_lines(), lines, "{len} bytes at {offset}");
        bo.flush().unwrap();
        assert_eq!(bo.dirty_lines(), 0);
    }
    case(&bo, 0, 1, 1);
    case(&bo, 63, 2, 2);
    case(&bo, 4076, 100, 3);
    case(&bo, 0, 8192, 128);
    case(&bo, 8191, 1, 1);
    case(&bo, 17, 0, 0);
}

#[test]
fn a_guard_marks_its_stores_only() {
    let rig = rig("sim:glk");
    let bo = rig.bo(None, MmapMode::Wb);
    let mut guard = bo.write(0, 8192).unwrap();
    assert_eq!((guard.access(), guard.range()), (Access::Write, ByteRange::within(0, 8192, 8192).unwrap()));
    guard.write_at(64, &NEW).unwrap();
    assert_eq!(bo.dirty_lines(), 1, "only what was stored is dirty, and it is at once");
    assert_eq!(prepared(&rig, gpu(&bo, Access::Read)), (Verdict::Flush, Rule::NonCoherentRead, 1));
    guard.write_at(128, &NEW).unwrap();
    guard.finish();
    assert_eq!(prepared(&rig, gpu(&bo, Access::Read)), (Verdict::Flush, Rule::NonCoherentRead, 1));
    assert_eq!(rig.gpu(&bo, MocsClass::PageTable, 128), NEW);
}

#[test]
fn a_pattern_repeats_over_the_range() {
    let rig = rig("sim:tgl");
    let bo = rig.bo(Cached, MmapMode::Wb);
    for pattern in [&b"x"[..], b"abc", &[5; 5000]] {
        let mut guard = bo.write(10, 8000).unwrap();
        guard.fill(pattern).unwrap();
        let mut seen = vec![0; 8000];
        guard.read_at(10, &mut seen).unwrap();
        assert!(seen.iter().zip(pattern.iter().cycle()).all(|(seen, want)| seen == want));
    }
    assert_eq!(read(&bo, 0)[..], [0; 8]);
    let mut guard = bo.write(0, 8192).unwrap();
    assert!(matches!(refused(guard.fill(b"")), Error::BadSize { size: 0, .. }));
}

#[test]
fn a_read_guard_writes_nothing() {
    let rig = rig("sim:tgl");
    let bo = rig.bo(Cached, MmapMode::Wb);
    let handle = bo.handle().get();
    let mut guard = bo.read(0, 64).unwrap();
    let error = Error::WriteThroughReadGuard { handle };
    assert_eq!(refused(guard.write_at(0, &NEW)), error);
    assert_eq!(refused(guard.fill(&NEW)), error);
    assert_eq!(refused(guard.mark_written(0, 8)), error);
    guard.finish();
    let mut empty = bo.read(0, 0).unwrap();
    assert_eq!(refused(empty.fill(&NEW)), error, "not even nothing");
    assert_eq!((read(&bo, 0), bo.dirty_lines()), ([0; 8], 0));
}

#[test]
fn a_guard_ends_where_its_range_ends() {
    let rig = rig("sim:tgl");
    let bo = rig.bo(Cached, MmapMode::Wb);
    let mut guard = bo.write(64, 64).unwrap();
    for (offset, len) in [(0, 8), (60, 8), (124, 8), (128, 1), (u64::MAX, 1), (u64::MAX - 3, 8)] {
        let error = refused(guard.write_at(offset, &vec![1; len]));
        let outside = Error::RangeOutOfGuard { offset, len: len as u64, start: 64, end: 128 };
        assert_eq!(error, outside);
        assert_eq!(refused(guard.read_at(offset, &mut vec![0; len])), outside);
        assert_eq!(refused(guard.mark_written(offset, len as u64)), outside);
    }
    guard.write_at(64, &[1; 64]).unwrap();
    guard.finish();
    assert_eq!((bo.dirty_lines(), read(&bo, 56), read(&bo, 128)), (1, [0; 8], [0; 8]));
}

#[test]
fn a_range_outside_the_bo_is_refused_before_anything_is_mapped() {
    let rig = rig("sim:tgl");
    let bo = rig.device.alloc(gem_coherency::device::AllocRequest::new(4096)).unwrap();
    for (offset, len) in [(0, 4097), (4096, 1), (u64::MAX, 2), (1, u64::MAX)] {
        let error = Error::RangeOutOfBounds { offset, len, size: 4096 };
        assert_eq!(refused(bo.write(offset, len).map(drop)), error);
        assert_eq!(refused(bo.read(offset, len).map(drop)), error);
        assert_eq!(refused(bo.mark_written(offset, len)), error);
    }
    assert_eq!(rig.counts().mappings, 0);
    bo.read(4096, 0).unwrap().finish();
}

#[test]
fn a_dropped_guard_ends_its_access() {
    let rig = rig("sim:tgl");
    let bo = rig.bo(Cached, MmapMode::Wb);
    let (write, read) = (bo.write(0, 8).unwrap(), bo.read(0, 8).unwrap());
    assert!(matches!(refused(bo.close()), Error::InUse { writers: 1, readers: 1, .. }));
    drop(write);
    assert!(matches!(refused(bo.close()), Error::InUse { writers: 0, readers: 1, .. }));
    drop(read);
    bo.close().unwrap();
}

#[test]
fn an_access_that_fails_to_begin_leaves_no_guard() {
    let rig = rig("sim:glk");
    let bo = rig.device.alloc(gem_coherency::device::AllocRequest::new(4096)).unwrap();
    rig.soft.inject(gem_coherency_sim::InjectedFault::NoMemory, 0);
    assert_eq!(refused(bo.write(0, 8).map(drop)).errno(), gem_coherency::Errno::ENOMEM);
    bo.close().unwrap();
}

#[test]
fn a_panic_leaves_the_range_dirty_and_nothing_open() {
    let rig = rig("sim:glk");
    let bo = rig.bo(None, MmapMode::Wb);
    let panicked = catch_unwind(AssertUnwindSafe(|| {
        let mut guard = bo.write(0, 256).unwrap();
        guard.as_ptr().unwrap();
        rig.raw_store(&bo, MmapMode::Wb, 128, &NEW);
        panic!("between a raw store and its mark");
    }));
    assert!(panicked.is_err());
    assert_eq!(bo.dirty_lines(), 4, "what may have been stored counts as stored");
    assert_eq!(prepared(&rig, gpu(&bo, Access::Read)), (Verdict::Flush, Rule::NonCoherentRead, 4));
    assert_eq!(rig.gpu(&bo, MocsClass::PageTable, 128), NEW);
    bo.close().unwrap();
    drop(bo);
    nothing_left(&rig);
}

/// The loads through the pointer may pass flushes, if they go around the cache.
#[test]
fn a_pointer_around_the_cache_is_given_after_a_fence_for_its_loads() {
    let rig = rig("sim:glk");
    for (mode, fences) in
        [(MmapMode::Wc, &["fence loads"][..]), (MmapMode::Uc, &["fence loads"]), (MmapMode::Wb, &[])]
    {
        let bo = rig.bo(None, mode);
        bo.flush().unwrap();
        let mut guard = bo.read(0, 8).unwrap();
        assert_eq!(cache_operations(|| guard.as_ptr().map(drop)), fences, "{mode}");
    }
}

#[test]
fn a_panicking_thread_leaks_neither_handles_nor_mappings() {
    let rig = rig("sim:tgl");
    let device = rig.device.clone();
    let thread = std::thread::spawn(move || {
        let bo = device.alloc(gem_coherency::device::AllocRequest::new(4096)).unwrap();
        let other = device.alloc(gem_coherency::device::AllocRequest::new(4096)).unwrap();
        let mut guard = bo.write(0, 4096).unwrap();
        guard.fill(&NEW).unwrap();
        let _shown = other.prepare_scanout().unwrap();
        let _: gem_coherency::Result<()> = device.submit_with(&[gpu(&bo, Access::Write)], |_| {
            assert_eq!(device.open_counts().handles, 2);
            panic!("with a guard, a scanout and a submission open")
        });
    });
    assert!(thread.join().is_err());
    nothing_left(&rig);
}

#[test]
fn a_leaked_guard_does_not_keep_the_handle() {
    let rig = rig("sim:tgl");
    let bo = rig.bo(Cached, MmapMode::Wb);
    std::mem::forget(bo.write(0, 8).unwrap());
    assert!(matches!(refused(bo.close()), Error::InUse { .. }));
    drop(bo);
    nothing_left(&rig);
}

#[test]
fn a_store_that_faults_is_an_error_and_its_lines_count_as_stored() {
    for hint in [Option::None, Some(Upload::Once), Some(Upload::Kept)] {
        let rig = rig("sim:glk");
        let bo = rig.bo(None, MmapMode::Wb);
        // The contents are purged; the mapping stays, but has no pages.
        rig.soft.madvise(bo.handle(), Advice::DontNeed).unwrap();
        rig.soft.shrink();
        let mut guard = bo.write(0, 8192).unwrap();
        let stored = match hint {
            Option::None => guard.write_at(64, &[1; 128]),
            Some(hint) => guard.upload_at(64, &[1; 128], hint),
        };
        let error = refused(stored);
        assert!(matches!(error, Error::Ioctl { request: "page fault", .. }), "{hint:?}: {error:?}");
        assert_eq!(bo.dirty_lines(), 2, "{hint:?}: a part may be stored");
        let error = refused(guard.read_at(0, &mut [0]));
        assert!(matches!(error, Error::Ioctl { request: "page fault", .. }), "{hint:?}: {error:?}");
    }
}

//! Streams: what is stored by a pointer that moves reaches its reader, announced or not, and no mark is lost.

use std::panic::{AssertUnwindSafe, catch_unwind};

use gem_coherency::backend::{Advice, Drm as _};
use gem_coherency::device::Submission;
use gem_coherency::error::Error;
use gem_coherency::object::{Bo, Step, Stream};
use gem_coherency::vocabulary::{Access, CachingMode, MmapMode, MocsClass};

use crate::{NEW, Rig, prepared, rig};

const PAGE_TABLE: MocsClass = MocsClass::PageTable;

/// A BO of two pages that the GPU reads from memory.
fn uncached(rig: &Rig) -> Bo {
    rig.bo(CachingMode::None, MmapMode::Wb)
}

/// Makes memory current for the GPU; returns how many lines were flushed.
#[track_caller]
fn submitted(rig: &Rig, bo: &Bo) -> u64 {
    let reports = rig.device.submit(&[Submission { bo, access: Access::Read, mocs: PAGE_TABLE }]).unwrap();
    reports[0].lines
}

/// Stores [`NEW`] at each of `count` lines.
#[track_caller]
fn store(stream: &mut Stream<'_>, count: usize) {
    for _ in 0..count {
        stream.write(&[NEW; 8].concat()).unwrap();
    }
}

#[test]
fn the_gpu_reads_what_a_stream_stored_and_only_its_lines_are_flushed() {
    let rig = rig("sim:glk");
    let bo = uncached(&rig);
    let mut stream = bo.stream(64, 4096).unwrap();
    store(&mut stream, 3);
    assert_eq!((stream.cursor(), stream.room()), (256, 3904));
    assert_eq!(rig.gpu(&bo, PAGE_TABLE, 64), [0; 8], "not flushed: the GPU sees the zeroes");
    assert_eq!(stream.finish().step, Step::Write);
    assert_eq!(bo.dirty_lines(), 3);
    assert_eq!(submitted(&rig, &bo), 3);
    assert_eq!([64, 192].map(|offset| rig.gpu(&bo, PAGE_TABLE, offset)), [NEW; 2]);
    assert_eq!((bo.dirty_lines(), submitted(&rig, &bo)), (0, 0));
}

#[test]
fn a_submission_flushes_what_is_not_announced() {
    let rig = rig("sim:glk");
    let bo = uncached(&rig);
    let mut stream = bo.stream(0, 10 * 64).unwrap();
    store(&mut stream, 1);
    assert_eq!(bo.dirty_lines(), 10, "each of its lines may be dirty");
    assert_eq!(submitted(&rig, &bo), 10);
    assert_eq!(rig.gpu(&bo, PAGE_TABLE, 0), NEW);
    // They stay the stream's.
    store(&mut stream, 1);
    assert_eq!(submitted(&rig, &bo), 10);
    assert_eq!(rig.gpu(&bo, PAGE_TABLE, 64), NEW);
    stream.finish();
    assert_eq!((submitted(&rig, &bo), submitted(&rig, &bo)), (2, 0));
}

#[test]
fn an_announcement_leaves_the_lines_behind_the_cursor() {
    let rig = rig("sim:glk");
    let bo = uncached(&rig);
    let mut stream = bo.stream(0, 4 * 64).unwrap();
    store(&mut stream, 1);
    stream.write(&NEW).unwrap();
    stream.announce();
    // The cursor's line is marked, and the stream's.
    assert_eq!((bo.dirty_lines(), submitted(&rig, &bo)), (4, 4));
    assert_eq!(bo.dirty_lines(), 3);
    stream.write(&NEW).unwrap();
    assert_eq!(submitted(&rig, &bo), 3);
    assert_eq!([64, 72].map(|offset| rig.gpu(&bo, PAGE_TABLE, offset)), [NEW; 2]);
    stream.announce();
    stream.finish();
    assert_eq!((submitted(&rig, &bo), submitted(&rig, &bo)), (1, 0));
}

#[test]
fn a_show_and_an_export_flush_an_open_stream() {
    let rig = rig("sim:skl,display=on");
    let bo = rig.bo(CachingMode::Cached, MmapMode::Wb);
    let mut stream = bo.stream(0, 128).unwrap();
    store(&mut stream, 1);
    let on_screen = bo.prepare_scanout().unwrap();
    assert_eq!((on_screen.report().lines, rig.display(&bo, 0)), (2, NEW));
    store(&mut stream, 1);
    stream.finish();
    assert_eq!((on_screen.flush().unwrap().lines, rig.display(&bo, 64)), (2, NEW));
    drop(on_screen);

    let bo = rig.bo(CachingMode::Cached, MmapMode::Wb);
    let mut stream = bo.stream(0, 128).unwrap();
    store(&mut stream, 1);
    bo.export().unwrap();
    assert_eq!(rig.display(&bo, 0), NEW);
    stream.finish();
}

#[test]
fn without_an_end_the_whole_range_is_marked() {
    let rig = rig("sim:glk");
    for panics in [false, true] {
        let bo = uncached(&rig);
        let stored = catch_unwind(AssertUnwindSafe(|| {
            let mut stream = bo.stream(0, 5 * 64).unwrap();
            store(&mut stream, 1);
            stream.announce();
            assert!(!panics);
        }));
        assert_eq!(stored.is_err(), panics);
        assert_eq!((bo.dirty_lines(), submitted(&rig, &bo), submitted(&rig, &bo)), (5, 5, 0));
    }
}

#[test]
fn a_bo_has_one_stream_at_a_time() {
    let rig = rig("sim:glk");
    let bo = uncached(&rig);
    let mut stream = bo.stream(0, 64).unwrap();
    let refused = bo.stream(128, 32).unwrap_err();
    assert!(matches!(refused, Error::StreamOpen { offset: 128, len: 32, .. }), "{refused}");
    assert!(matches!(bo.close(), Err(Error::InUse { writers: 1, .. })), "the refused one is over");
    store(&mut stream, 1);
    stream.finish();
    assert_eq!(bo.dirty_lines(), 1, "the refused one marks nothing");
    bo.stream(128, 32).unwrap().finish();
    bo.close().unwrap();
}

#[test]
fn the_cursor_stays_in_the_range() {
    let rig = rig("sim:glk");
    let bo = uncached(&rig);
    assert!(matches!(bo.stream(0, 0), Err(Error::BadSize { .. })));
    assert!(matches!(bo.stream(8000, 193), Err(Error::RangeOutOfBounds { .. })));
    let mut stream = bo.stream(60, 8).unwrap();
    for len in [9, u64::MAX] {
        assert!(matches!(stream.advance(len), Err(Error::RangeOutOfGuard { end: 68, .. })));
    }
    assert!(matches!(stream.write(&[0; 9]), Err(Error::RangeOutOfGuard { offset: 60, len: 9, .. })));
    assert!(matches!(stream.advance_to(59), Err(Error::RangeOutOfGuard { offset: 59, start: 60, .. })));
    assert!(stream.advance_to(69).is_err());
    stream.advance_to(60).unwrap();
    assert_eq!(stream.cursor(), 60);
    stream.write(&NEW).unwrap();
    assert_eq!(stream.room(), 0);
    assert!(stream.write(&[0]).is_err());
    stream.finish();
    assert_eq!(bo.dirty_lines(), 2);
}

#[test]
fn stale_lines_are_invalidated_at_the_begin_and_at_each_pointer() {
    let rig = rig("sim:glk");
    let bo = uncached(&rig);
    bo.mark_stale(0, 128).unwrap();
    let mut stream = bo.stream(0, 64).unwrap();
    assert_eq!(bo.stale_lines(), 1, "those of the range");
    bo.mark_stale(0, 64).unwrap();
    let base = bo.as_ptr().unwrap();
    store(&mut stream, 1);
    assert_eq!(bo.stale_lines(), 1, "a line that is stored to whole");
    bo.mark_stale(0, 64).unwrap();
    assert_eq!(stream.pointer().unwrap().addr().get(), base.addr().get() + 64);
    assert_eq!(bo.stale_lines(), 1);
    stream.finish();
}

#[test]
fn stores_around_the_cache_are_drained() {
    let rig = rig("sim:glk");
    let bo = rig.bo(CachingMode::None, MmapMode::Wc);
    let mut stream = bo.stream(0, 4096).unwrap();
    store(&mut stream, 1);
    assert_eq!(bo.dirty_lines(), 0, "no line of the cache");
    assert!(bo.stream(0, 64).is_err(), "one at a time");
    for line in 0..2 {
        assert_eq!(rig.gpu(&bo, PAGE_TABLE, 64 * line), [0; 8], "not drained");
        prepared(&rig, Submission { bo: &bo, access: Access::Read, mocs: PAGE_TABLE });
        assert_eq!(rig.gpu(&bo, PAGE_TABLE, 64 * line), NEW);
        store(&mut stream, 1);
    }
    stream.finish();
    prepared(&rig, Submission { bo: &bo, access: Access::Read, mocs: PAGE_TABLE });
    assert_eq!(rig.gpu(&bo, PAGE_TABLE, 128), NEW);
}

#[test]
fn a_store_that_faults_moves_no_cursor_and_its_lines_count_as_stored() {
    let rig = rig("sim:glk");
    let bo = uncached(&rig);
    // The contents are purged; the mapping stays, but has no pages.
    rig.soft.madvise(bo.handle(), Advice::DontNeed).unwrap();
    rig.soft.shrink();
    let mut stream = bo.stream(64, 4096).unwrap();
    let failed = stream.write(&[1; 128]).unwrap_err();
    assert!(matches!(failed, Error::Ioctl { request: "page fault", .. }), "{failed}");
    assert_eq!(stream.cursor(), 64);
    stream.finish();
    assert_eq!(bo.dirty_lines(), 2, "a part may be stored");
}

//! Uploads: the data is in memory on return if the GPU reads memory; without the upload (the negative twin),
//! the GPU reads old bytes.

use gem_coherency::device::{AllocRequest, Submission};
use gem_coherency::object::Bo;
use gem_coherency::object::Upload;
use gem_coherency::policy::{Rule, Verdict};
use gem_coherency::vocabulary::CachingMode::{Cached, Display, None};
use gem_coherency::vocabulary::{Access, CachingMode, MmapMode, MocsClass};
use gem_coherency::{Error, units::ByteRange};

use crate::{NEW, Rig, gpu, nothing_left, prepared, read, refused, rig, write};

const PAGE_TABLE: MocsClass = MocsClass::PageTable;

/// Size of the BOs of these tests: more lines than there are write-combining buffers.
const SIZE: u64 = 8192;

/// Ranges with every kind of edge: inside a line, whole lines, partial lines, across a page boundary, all.
const RANGES: [(u64, u64); 7] = [(100, 8), (0, 64), (60, 8), (1, 1500), (4000, 200), (64, 4096), (0, SIZE)];

/// Returns bytes that are never zero.
fn data(len: u64) -> Vec<u8> {
    (0..len).map(|at| (at % 251) as u8 + 1).collect()
}

/// Returns all bytes of a BO as the GPU sees them.
fn gpu_sees(rig: &Rig, bo: &Bo, mocs: MocsClass) -> Vec<u8> {
    let mut seen = vec![0; SIZE as usize];
    rig.soft.gpu_read(bo.handle(), mocs, 0, &mut seen).unwrap();
    seen
}

/// Returns zeroes with `data` at `offset`.
fn expected(offset: u64, data: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0; SIZE as usize];
    bytes[offset as usize..][..data.len()].copy_from_slice(data);
    bytes
}

/// Checks uploads on a device where the GPU reads only memory: no work stays pending.
#[track_caller]
fn at_once(name: &str, caching: CachingMode) {
    let rig = rig(name);
    for &hint in Upload::ALL {
        for (offset, len) in RANGES {
            let (bo, data) = (rig.bo(caching, MmapMode::Wb), data(len));
            let report = bo.upload(offset, &data, hint).unwrap();
            let lines = ByteRange::within(offset, len, SIZE).unwrap().lines().count();
            let done = (report.decision.verdict, report.decision.rule, report.lines);
            assert_eq!(done, (Verdict::Flush, Rule::NonCoherentRead, lines), "{name} {hint} {offset}");
            assert_eq!(bo.dirty_lines(), 0, "{name} {hint} {offset}");
            assert!(gpu_sees(&rig, &bo, PAGE_TABLE) == expected(offset, &data), "{name} {hint} {offset}");
            let next = prepared(&rig, gpu(&bo, Access::Read));
            assert_eq!(next, (Verdict::NotNeeded, Rule::NothingDirty, 0), "{name} {hint} {offset}");
            assert_eq!(read(&bo, offset).first(), data.first(), "the CPU reads it back");

            let forgotten = rig.bo(caching, MmapMode::Wb);
            rig.raw_store(&forgotten, MmapMode::Wb, offset, &data);
            let stale = gpu_sees(&rig, &forgotten, PAGE_TABLE) == expected(0, &[]);
            // With random evictions, the data may be in memory by chance.
            assert!(stale || name.contains("seed"), "{name}: a store alone is not seen");
        }
    }
}

#[test]
fn an_upload_is_in_memory_where_the_gpu_does_not_snoop() {
    for name in ["sim:glk", "sim:chv", "sim:i965gm", "sim:glk,seed=1", "sim:glk,seed=2"] {
        at_once(name, None);
    }
    at_once("sim:mtl", Display);
}

#[test]
fn stores_around_the_cache_are_in_memory_after_the_fence_only() {
    let rig = rig("sim:glk");
    let bo = rig.bo(None, MmapMode::Wb);
    let mapping = rig.raw(&bo, MmapMode::Wb);
    mapping.copy_non_temporal(0, &data(128)).unwrap();
    assert_eq!(rig.gpu(&bo, PAGE_TABLE, 0), [0; 8], "in the write-combining buffers");
    mapping.publish().unwrap();
    assert_eq!(rig.gpu(&bo, PAGE_TABLE, 0)[..], data(8));
}

#[test]
fn a_partial_store_writes_back_the_lines_dirty_bytes() {
    let rig = rig("sim:glk");
    for &hint in Upload::ALL {
        let bo = rig.bo(None, MmapMode::Wb);
        write(&bo, 0, &NEW);
        write(&bo, 128, &NEW);
        assert_eq!(bo.dirty_lines(), 2);
        assert_eq!(bo.upload(32, &data(64), hint).unwrap().lines, 2);
        assert_eq!((bo.dirty_lines(), rig.gpu(&bo, PAGE_TABLE, 0)), (1, NEW), "{hint}");
        assert_eq!(
            rig.gpu(&bo, PAGE_TABLE, 128),
            [0; 8],
            "{hint}: another line is not uploaded, and stays dirty"
        );
        assert_eq!(prepared(&rig, gpu(&bo, Access::Read)), (Verdict::Flush, Rule::NonCoherentRead, 1));
    }
}

#[test]
fn a_partial_upload_over_stale_lines_keeps_the_gpus_bytes() {
    let rig = rig("sim:glk");
    for &hint in Upload::ALL {
        let bo = rig.bo(None, MmapMode::Wb);
        read(&bo, 0);
        rig.device.submit(&[gpu(&bo, Access::Write)]).unwrap();
        rig.soft.gpu_write(bo.handle(), PAGE_TABLE, 0, &[9; 192]).unwrap();
        let before = bo.stale_lines();
        let report = bo.upload(32, &data(96), hint).unwrap();
        assert_eq!(report.decision.verdict, Verdict::Invalidate, "{hint}: the first line");
        assert_eq!((report.lines, bo.stale_lines()), (1 + 2, before - 2), "{hint}");
        let mut upload = data(96);
        upload.splice(0..0, [9; 32]);
        upload.extend([9; 64]);
        assert!(gpu_sees(&rig, &bo, PAGE_TABLE)[..192] == upload, "{hint}");
        assert_eq!(read(&bo, 64)[..], upload[64..72], "{hint}: the CPU sees no stale line");
    }
}

#[test]
fn uploads_do_not_overwrite_later_gpu_writes() {
    let rig = rig("sim:glk");
    for &hint in Upload::ALL {
        let bo = rig.bo(None, MmapMode::Wb);
        bo.upload(0, &data(640), hint).unwrap();
        rig.device.submit(&[gpu(&bo, Access::Write)]).unwrap();
        rig.soft.gpu_write(bo.handle(), PAGE_TABLE, 0, &NEW).unwrap();
        rig.evict(&bo);
        assert_eq!((rig.gpu(&bo, PAGE_TABLE, 0), read(&bo, 0)), (NEW, NEW), "{hint}");
    }
}

#[test]
fn an_upload_is_a_store_where_the_gpu_snoops() {
    for (name, caching, rule) in [
        ("sim:tgl", None, Rule::LlcCoherent),
        ("sim:tgl", Cached, Rule::LlcCoherent),
        ("sim:jsl", Cached, Rule::LlcCoherent),
        ("sim:glk", Cached, Rule::Snooped),
        ("sim:mtl", Cached, Rule::Snooped),
    ] {
        let rig = rig(name);
        for &hint in Upload::ALL {
            let (bo, data) = (rig.bo(caching, MmapMode::Wb), data(100));
            let report = bo.upload(30, &data, hint).unwrap();
            let done = (report.decision.verdict, report.decision.rule, report.lines);
            assert_eq!(done, (Verdict::NotNeeded, rule, 0), "{name}");
            assert!(gpu_sees(&rig, &bo, PAGE_TABLE) == expected(30, &data), "{name}");
            assert_eq!(bo.dirty_lines(), 3, "{name}: the display has not seen it yet");
            assert_ne!(rig.display(&bo, 30)[..], data[..8], "{name}");
            bo.prepare_scanout().map(drop).unwrap_or_else(|error| assert_eq!(name, "sim:mtl", "{error}"));
        }
    }
}

#[test]
fn a_bypassing_read_finds_an_upload_once_it_is_submitted() {
    let rig = rig("sim:jsl");
    let bypass = MocsClass::BypassLlc;
    for &hint in Upload::ALL {
        let (bo, data) = (rig.bo(Cached, MmapMode::Wb), data(100));
        bo.upload(30, &data, hint).unwrap();
        assert!(gpu_sees(&rig, &bo, bypass) == expected(0, &[]), "{hint}: without the submission");
        let submission = Submission { bo: &bo, access: Access::Read, mocs: bypass };
        assert_eq!(prepared(&rig, submission), (Verdict::Flush, Rule::BypassMocsRead, 3));
        assert!(gpu_sees(&rig, &bo, bypass) == expected(30, &data), "{hint}");
    }
}

#[test]
fn around_the_cache_an_upload_is_drained_with_its_submission() {
    for (name, map, rule) in
        [("sim:glk", MmapMode::Wc, Rule::WcDrain), ("sim:glk", MmapMode::Gtt, Rule::GttDrain)]
    {
        let rig = rig(name);
        for &hint in Upload::ALL {
            let (bo, data) = (rig.bo(None, map), data(100));
            assert_eq!(bo.upload(30, &data, hint).unwrap().lines, 0);
            assert!(gpu_sees(&rig, &bo, PAGE_TABLE) == expected(0, &[]), "{map}: without the submission");
            assert_eq!(prepared(&rig, gpu(&bo, Access::Read)), (Verdict::Drain, rule, 0));
            assert!(gpu_sees(&rig, &bo, PAGE_TABLE) == expected(30, &data), "{map} {hint}");
        }
    }
}

#[test]
fn discrete_devices_see_uploads_in_local_and_in_snooped_memory() {
    let rig = rig("sim:dg2");
    for &hint in Upload::ALL {
        let bo = rig.device.alloc(AllocRequest::new(SIZE)).unwrap();
        let data = data(100);
        bo.upload(30, &data, hint).unwrap();
        crate::prepare(&rig.device, &[gpu(&bo, Access::Read)]).unwrap();
        assert!(gpu_sees(&rig, &bo, PAGE_TABLE) == expected(30, &data), "{hint}");
    }
}

#[test]
fn kept_bytes_stay_in_the_cache_and_others_leave_it() {
    let rig = rig("sim:glk");
    for (hint, seen) in [(Upload::Kept, data(8)), (Upload::Once, NEW.to_vec())] {
        let bo = rig.bo(None, MmapMode::Wb);
        bo.upload(0, &data(64), hint).unwrap();
        // Written behind the cache, so that the load shows whether the line was cached.
        rig.soft.gpu_write(bo.handle(), PAGE_TABLE, 0, &NEW).unwrap();
        assert_eq!(rig.raw_load(&bo, MmapMode::Wb, 0)[..], seen, "{hint}");
    }
}

#[test]
fn an_upload_is_checked_like_a_store() {
    let rig = rig("sim:glk");
    let bo = rig.bo(None, MmapMode::Wb);
    let error = refused(bo.upload(SIZE - 1, &data(2), Upload::Once));
    assert!(matches!(error, Error::RangeOutOfBounds { size: SIZE, .. }), "{error}");
    let mut guard = bo.write(64, 64).unwrap();
    let outside = Error::RangeOutOfGuard { offset: 60, len: 8, start: 64, end: 128 };
    assert_eq!(refused(guard.upload_at(60, &NEW, Upload::Once)), outside);
    guard.upload_at(64, &[], Upload::Once).unwrap();
    drop(guard);
    let handle = bo.handle().get();
    let error = refused(bo.read(0, 64).unwrap().upload_at(0, &NEW, Upload::Kept));
    assert_eq!(error, Error::WriteThroughReadGuard { handle });
    assert!(gpu_sees(&rig, &bo, PAGE_TABLE) == expected(0, &[]), "nothing was stored");
    bo.close().unwrap();
    assert!(matches!(refused(bo.upload(0, &NEW, Upload::Once)), Error::Closed { .. }));
    drop(bo);
    nothing_left(&rig);
}

#[test]
fn an_upload_while_others_submit_is_never_lost() {
    let rig = rig("sim:glk");
    let bo = rig.bo(None, MmapMode::Wb);
    std::thread::scope(|scope| {
        let submitter = scope.spawn(|| {
            for _ in 0..200 {
                crate::prepare(&rig.device, &[gpu(&bo, Access::Read)]).unwrap();
            }
        });
        for round in 0..200u64 {
            let hint = Upload::ALL[round as usize % Upload::ALL.len()];
            let bytes = [round as u8; 72];
            write(&bo, 2000, &bytes[..8]);
            bo.upload(2000, &bytes, hint).unwrap();
            assert_eq!(rig.gpu(&bo, PAGE_TABLE, 2000)[..], bytes[..8], "round {round}, {hint}");
        }
        submitter.join().unwrap();
    });
}

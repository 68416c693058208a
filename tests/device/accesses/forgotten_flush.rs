//! Rules for writers: with the flush the reader sees new bytes; without it (the negative twin), old ones.

use gem_coherency::object::Bo;
use gem_coherency::policy::{Rule, Verdict};
use gem_coherency::vocabulary::CachingMode::{Cached, None};
use gem_coherency::vocabulary::{Access, MmapMode, MocsClass};

use crate::{NEW, Rig, gpu, prepared, read, rig, write};
use gem_coherency::device::Submission;

const BYPASS: MocsClass = MocsClass::BypassLlc;
const PAGE_TABLE: MocsClass = MocsClass::PageTable;

/// Checks a GPU read that requires memory to be current: with the submission's flushes, then without them.
#[track_caller]
fn gpu_read(rig: &Rig, make: impl Fn() -> Bo, mocs: MocsClass, expected: (Verdict, Rule, u64)) {
    let bo = make();
    write(&bo, 100, &NEW);
    assert_eq!(prepared(rig, Submission { bo: &bo, access: Access::Read, mocs }), expected);
    assert_eq!(rig.gpu(&bo, mocs, 100), NEW);

    let forgotten = make();
    write(&forgotten, 100, &NEW);
    assert_eq!(rig.gpu(&forgotten, mocs, 100), [0; 8], "nobody flushed: the GPU sees the zeroes");
}

#[test]
fn non_coherent_read_needs_the_dirty_lines_in_memory() {
    for name in ["sim:glk", "sim:bxt", "sim:chv", "sim:i965gm", "sim:g45"] {
        let rig = rig(name);
        let expected = (Verdict::Flush, Rule::NonCoherentRead, 1);
        gpu_read(&rig, || rig.bo(None, MmapMode::Wb), PAGE_TABLE, expected);
    }
}

#[test]
fn meteor_lake_written_through_is_not_coherent() {
    let rig = rig("sim:mtl");
    let display = gem_coherency::vocabulary::CachingMode::Display;
    let expected = (Verdict::Flush, Rule::NonCoherentRead, 1);
    gpu_read(&rig, || rig.bo(display, MmapMode::Wb), PAGE_TABLE, expected);
}

#[test]
fn bypassing_read_needs_the_dirty_lines_in_memory() {
    for name in ["sim:jsl", "sim:ehl"] {
        let rig = rig(name);
        let expected = (Verdict::Flush, Rule::BypassMocsRead, 1);
        gpu_read(&rig, || rig.bo(Cached, MmapMode::Wb), BYPASS, expected);
        gpu_read(&rig, || rig.bo(None, MmapMode::Wb), BYPASS, expected);
    }
}

#[test]
fn write_combining_stores_are_drained() {
    let rig = rig("sim:glk");
    gpu_read(&rig, || rig.bo(None, MmapMode::Wc), PAGE_TABLE, (Verdict::Drain, Rule::WcDrain, 0));
}

#[test]
fn aperture_stores_are_drained() {
    for name in ["sim:glk", "sim:g45"] {
        let rig = rig(name);
        gpu_read(&rig, || rig.bo(None, MmapMode::Gtt), PAGE_TABLE, (Verdict::Drain, Rule::GttDrain, 0));
    }
}

#[test]
fn uncached_stores_need_nothing() {
    let rig = rig("sim:glk");
    let bo = rig.bo(None, MmapMode::Uc);
    write(&bo, 100, &NEW);
    assert_eq!(prepared(&rig, gpu(&bo, Access::Read)), (Verdict::NotNeeded, Rule::UncachedStore, 0));
    assert_eq!(rig.gpu(&bo, PAGE_TABLE, 100), NEW);
}

#[test]
fn coherent_reads_need_nothing_and_see_everything() {
    for (name, rule) in [
        ("sim:tgl", Rule::LlcCoherent),
        ("sim:jsl", Rule::LlcCoherent),
        ("sim:glk", Rule::Snooped),
        ("sim:mtl", Rule::Snooped),
    ] {
        let rig = rig(name);
        let bo = rig.bo(Cached, MmapMode::Wb);
        write(&bo, 100, &NEW);
        assert_eq!(prepared(&rig, gpu(&bo, Access::Read)), (Verdict::NotNeeded, rule, 0), "{name}");
        assert_eq!(rig.gpu(&bo, PAGE_TABLE, 100), NEW, "{name}");
        assert_eq!(bo.dirty_lines(), 1, "{name}: the display has not seen it yet");
    }
}

#[test]
fn a_line_left_dirty_for_a_coherent_read_is_flushed_for_a_bypassing_one() {
    let rig = rig("sim:jsl");
    let bo = rig.bo(Cached, MmapMode::Wb);
    write(&bo, 4076, &[7; 100]);
    assert_eq!(bo.dirty_lines(), 3);
    assert_eq!(prepared(&rig, gpu(&bo, Access::Read)), (Verdict::NotNeeded, Rule::LlcCoherent, 0));
    let bypass = Submission { bo: &bo, access: Access::Read, mocs: BYPASS };
    assert_eq!(prepared(&rig, bypass), (Verdict::Flush, Rule::BypassMocsRead, 3));
    assert_eq!(rig.gpu(&bo, BYPASS, 4100), [7; 8]);
    assert_eq!(bo.dirty_lines(), 0);
}

#[test]
fn non_coherent_write_is_not_overwritten_by_an_older_dirty_line() {
    let rig = rig("sim:glk");
    let bo = rig.bo(None, MmapMode::Wb);
    write(&bo, 0, &[1; 64]);
    let (verdict, rule, lines) = prepared(&rig, gpu(&bo, Access::Write));
    assert_eq!((verdict, rule, lines), (Verdict::Flush, Rule::NonCoherentWrite, 1));
    rig.soft.gpu_write(bo.handle(), PAGE_TABLE, 0, &NEW).unwrap();
    rig.evict(&bo);
    assert_eq!(read(&bo, 0), NEW);

    let forgotten = rig.bo(None, MmapMode::Wb);
    write(&forgotten, 0, &[1; 64]);
    rig.soft.gpu_write(forgotten.handle(), PAGE_TABLE, 0, &NEW).unwrap();
    rig.evict(&forgotten);
    assert_eq!(rig.gpu(&forgotten, PAGE_TABLE, 0), [1; 8], "the eviction destroyed what the GPU wrote");
}

#[test]
fn bypassing_read_after_a_cached_gpu_write_needs_the_whole_object_flushed() {
    let rig = rig("sim:jsl");
    let after_a_gpu_write = || {
        let bo = rig.bo(Cached, MmapMode::Wb);
        write(&bo, 0, &[1; 64]);
        rig.device.submit(&[gpu(&bo, Access::Write)]).unwrap();
        rig.soft.gpu_write(bo.handle(), PAGE_TABLE, 5000, &NEW).unwrap();
        bo
    };
    let bo = after_a_gpu_write();
    let bypass = Submission { bo: &bo, access: Access::Read, mocs: BYPASS };
    assert_eq!(prepared(&rig, bypass), (Verdict::Flush, Rule::GpuWriteMayBeCached, 128));
    assert_eq!((rig.gpu(&bo, BYPASS, 5000), bo.dirty_lines()), (NEW, 0));
    assert_eq!(prepared(&rig, bypass), (Verdict::NotNeeded, Rule::NothingDirty, 0), "once is enough");

    assert_eq!(rig.gpu(&after_a_gpu_write(), BYPASS, 5000), [0; 8]);
}

#[test]
fn a_raw_store_counts_once_it_is_marked() {
    let rig = rig("sim:glk");
    let bo = rig.bo(None, MmapMode::Wb);
    bo.as_ptr().unwrap();
    rig.raw_store(&bo, MmapMode::Wb, 0, &NEW);
    assert_eq!(prepared(&rig, gpu(&bo, Access::Read)), (Verdict::NotNeeded, Rule::NothingDirty, 0));
    assert_eq!(rig.gpu(&bo, PAGE_TABLE, 0), [0; 8]);
    bo.mark_written(0, 8).unwrap();
    assert_eq!(prepared(&rig, gpu(&bo, Access::Read)), (Verdict::Flush, Rule::NonCoherentRead, 1));
    assert_eq!(rig.gpu(&bo, PAGE_TABLE, 0), NEW);
}

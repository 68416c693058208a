//! Rules for readers: with the invalidate the CPU sees new bytes; without it (the negative twin), old ones.

use gem_coherency::backend::Drm;
use gem_coherency::device::AllocRequest;
use gem_coherency::object::Bo;
use gem_coherency::policy::{Rule, Verdict};
use gem_coherency::vocabulary::CachingMode::{Cached, None};
use gem_coherency::vocabulary::{Access, MmapMode, MocsClass};
use gem_coherency_sim::PREVIOUS_OWNER;

use crate::{NEW, Rig, gpu, read, rig, write};

const PAGE_TABLE: MocsClass = MocsClass::PageTable;

/// Writes `data` by the GPU to a line that is in the CPU's cache.
fn gpu_writes_after_the_cache(rig: &Rig, bo: &Bo, data: &[u8]) {
    read(bo, 0);
    rig.device.submit(&[gpu(bo, Access::Write)]).unwrap();
    rig.soft.gpu_write(bo.handle(), PAGE_TABLE, 0, data).unwrap();
}

#[test]
fn cpu_read_after_a_non_coherent_gpu_write_invalidates_first() {
    let rig = rig("sim:glk");
    let bo = rig.bo(None, MmapMode::Wb);
    gpu_writes_after_the_cache(&rig, &bo, &NEW);
    assert_eq!(rig.raw_load(&bo, MmapMode::Wb, 0), [0; 8], "without the invalidate: old bytes");

    let guard = bo.read(0, 128).unwrap();
    let report = guard.report();
    assert_eq!(
        (report.decision.verdict, report.decision.rule, report.lines),
        (Verdict::Invalidate, Rule::StaleAfterGpuWrite, 2)
    );
    let mut seen = [0; 8];
    guard.read_at(0, &mut seen).unwrap();
    assert_eq!(seen, NEW);
}

#[test]
fn a_second_read_invalidates_nothing() {
    let rig = rig("sim:glk");
    let bo = rig.bo(None, MmapMode::Wb);
    gpu_writes_after_the_cache(&rig, &bo, &NEW);
    let lines = || {
        let report = bo.read(0, 128).unwrap().finish();
        (report.decision.verdict, report.decision.rule, report.lines)
    };
    assert_eq!(lines(), (Verdict::Invalidate, Rule::StaleAfterGpuWrite, 2));
    assert_eq!(lines(), (Verdict::NotNeeded, Rule::NothingStale, 0));
    assert_eq!(bo.stale_lines(), 126, "only what was read was invalidated");
}

#[test]
fn coherent_gpu_writes_make_nothing_stale() {
    for (name, caching, rule) in [
        ("sim:tgl", Cached, Rule::LlcCoherent),
        ("sim:tgl", None, Rule::LlcCoherent),
        ("sim:glk", Cached, Rule::Snooped),
        ("sim:mtl", Cached, Rule::Snooped),
    ] {
        let rig = rig(name);
        let bo = rig.bo(caching, MmapMode::Wb);
        gpu_writes_after_the_cache(&rig, &bo, &NEW);
        assert_eq!(bo.stale_lines(), 0, "{name}");
        let report = bo.read(0, 8).unwrap().finish();
        assert_eq!((report.decision.verdict, report.decision.rule), (Verdict::NotNeeded, rule), "{name}");
        assert_eq!(read(&bo, 0), NEW, "{name}");
    }
}

#[test]
fn a_mapping_around_the_cache_needs_no_invalidate() {
    let rig = rig("sim:glk");
    let bo = rig.bo(None, MmapMode::Wc);
    gpu_writes_after_the_cache(&rig, &bo, &NEW);
    let report = bo.read(0, 8).unwrap().finish();
    assert_eq!((report.decision.verdict, report.decision.rule), (Verdict::NotNeeded, Rule::UncachedRead));
    assert_eq!(read(&bo, 0), NEW);
}

#[test]
fn a_late_cached_mapping_marks_earlier_writes_stale() {
    let rig = rig("sim:glk");
    let bo = rig.bo(None, MmapMode::Wc);
    rig.raw_load(&bo, MmapMode::Wb, 0);
    gpu_writes_after_the_cache(&rig, &bo, &NEW);
    assert_eq!(bo.stale_lines(), 0, "no cached mapping: nobody keeps account");
    bo.map(MmapMode::Wb).unwrap();
    assert_eq!(rig.raw_load(&bo, MmapMode::Wb, 0), [0; 8]);
    assert_eq!(read(&bo, 0), NEW);
}

#[test]
fn a_store_into_part_of_a_stale_line_keeps_the_rest_of_it() {
    let rig = rig("sim:glk");
    let bo = rig.bo(None, MmapMode::Wb);
    gpu_writes_after_the_cache(&rig, &bo, &[9; 128]);
    let mut guard = bo.write(0, 128).unwrap();
    guard.write_at(32, &[1; 8]).unwrap();
    let report = guard.finish();
    assert_eq!(
        (report.decision.verdict, report.decision.rule, report.lines),
        (Verdict::Invalidate, Rule::PartialLineWrite, 1)
    );
    crate::prepare(&rig.device, &[gpu(&bo, Access::Read)]).unwrap();
    assert_eq!(rig.gpu(&bo, PAGE_TABLE, 32), [1; 8]);
    assert_eq!(rig.gpu(&bo, PAGE_TABLE, 0), [9; 8]);
    assert_eq!(rig.gpu(&bo, PAGE_TABLE, 64), [9; 8]);

    let forgotten = rig.bo(None, MmapMode::Wb);
    gpu_writes_after_the_cache(&rig, &forgotten, &[9; 128]);
    rig.raw_store(&forgotten, MmapMode::Wb, 32, &[1; 8]);
    forgotten.mark_written(32, 8).unwrap();
    crate::prepare(&rig.device, &[gpu(&forgotten, Access::Read)]).unwrap();
    assert_eq!(rig.gpu(&forgotten, PAGE_TABLE, 0), [0; 8], "stale zeroes over what the GPU wrote");
}

#[test]
fn a_line_that_is_stored_whole_needs_no_invalidate() {
    let rig = rig("sim:glk");
    let bo = rig.bo(None, MmapMode::Wb);
    gpu_writes_after_the_cache(&rig, &bo, &[9; 128]);
    let before = bo.stale_lines();
    let mut guard = bo.write(0, 128).unwrap();
    guard.write_at(0, &[1; 128]).unwrap();
    assert_eq!(guard.finish().lines, 0);
    assert_eq!(bo.stale_lines(), before - 2, "what was overwritten is right");
    assert_eq!(read(&bo, 64), [1; 8]);
}

#[test]
fn stores_around_the_cache_make_lines_stale_without_an_llc() {
    let rig = rig("sim:glk");
    let bo = rig.bo(None, MmapMode::Wb);
    read(&bo, 0);
    bo.map(MmapMode::Wc).unwrap();
    write(&bo, 0, &NEW);
    assert_eq!(rig.raw_load(&bo, MmapMode::Wb, 0), [0; 8], "without the invalidate: old bytes");
    bo.map(MmapMode::Wb).unwrap();
    let report = bo.read(0, 8).unwrap().finish();
    assert_eq!((report.decision.verdict, report.lines), (Verdict::Invalidate, 1));
    assert_eq!(read(&bo, 0), NEW);
}

#[test]
fn an_uncached_mapping_reads_flushed_dirty_lines() {
    let rig = rig("sim:glk");
    let bo = rig.bo(None, MmapMode::Wb);
    write(&bo, 0, &NEW);
    assert_eq!(rig.raw_load(&bo, MmapMode::Wc, 0), [0; 8], "without the flush: old bytes");
    bo.map(MmapMode::Wc).unwrap();
    let report = bo.read(0, 8).unwrap().finish();
    assert_eq!(
        (report.decision.verdict, report.decision.rule, report.lines),
        (Verdict::Flush, Rule::UncachedAlias, 1)
    );
    assert_eq!(read(&bo, 0), NEW);
}

#[test]
fn mixed_mappings_need_no_flush_with_an_llc() {
    let rig = rig("sim:tgl");
    let bo = rig.bo(Cached, MmapMode::Wb);
    write(&bo, 0, &NEW);
    bo.map(MmapMode::Wc).unwrap();
    assert_eq!(bo.read(0, 8).unwrap().finish().lines, 0);
    assert_eq!(read(&bo, 0), NEW);
    write(&bo, 0, b"over it!");
    bo.map(MmapMode::Wb).unwrap();
    assert_eq!(bo.read(0, 8).unwrap().finish().lines, 0);
    assert_eq!(&read(&bo, 0), b"over it!");
}

#[test]
fn a_pointer_from_a_guard_shows_no_stale_bytes() {
    let rig = rig("sim:glk");
    let bo = rig.bo(None, MmapMode::Wb);
    gpu_writes_after_the_cache(&rig, &bo, &[9; 128]);
    let mut guard = bo.write(0, 128).unwrap();
    assert_eq!(guard.as_ptr().unwrap(), bo.as_ptr().unwrap());
    assert_eq!(guard.report().lines, 2);
    rig.raw_store(&bo, MmapMode::Wb, 32, &[1; 8]);
    guard.mark_written(32, 8).unwrap();
    drop(guard);
    crate::prepare(&rig.device, &[gpu(&bo, Access::Read)]).unwrap();
    assert_eq!(rig.gpu(&bo, PAGE_TABLE, 0), [9; 8]);
    assert_eq!(rig.gpu(&bo, PAGE_TABLE, 32), [1; 8]);
}

/// Returns the number of dirty lines of a BO of two pages after `store` stored two lines through a pointer of
/// a write guard.
fn dirty_after(store: impl FnOnce(&Bo) -> gem_coherency::Result<()>) -> u64 {
    let rig = rig("sim:glk");
    let bo = rig.bo(None, MmapMode::Wb);
    let _ = store(&bo);
    bo.dirty_lines()
}

#[test]
fn a_store_through_a_pointer_is_never_lost() {
    fn fails() -> gem_coherency::Result<()> {
        Err(gem_coherency::Error::Closed { handle: 0 })
    }
    let early = |bo: &Bo| {
        let mut guard = bo.write(0, 4096)?;
        guard.as_ptr()?;
        fails()?;
        guard.mark_written(0, 128)
    };
    assert_eq!(dirty_after(early), 64, "an early return: the whole range");
    let between = |bo: &Bo| {
        let mut guard = bo.write(0, 4096)?;
        guard.as_ptr()?;
        guard.mark_written(0, 128)?;
        fails()
    };
    assert_eq!(dirty_after(between), 64, "there may be more than was named");
    let unnamed = |bo: &Bo| {
        let mut guard = bo.write(0, 4096)?;
        guard.as_ptr()?;
        guard.finish();
        Ok(())
    };
    assert_eq!(dirty_after(unnamed), 64, "nothing was named");
    let named = |bo: &Bo| {
        let mut guard = bo.write(0, 4096)?;
        guard.as_ptr()?;
        guard.mark_written(0, 128)?;
        guard.finish();
        Ok(())
    };
    assert_eq!(dirty_after(named), 2, "what was named, and said to be all");
    let read = |bo: &Bo| {
        bo.read(0, 4096)?.as_ptr()?;
        fails()
    };
    assert_eq!(dirty_after(read), 0, "a read guard stores nothing");
    let copied = |bo: &Bo| {
        bo.write(0, 4096)?.write_at(0, &[1; 128])?;
        fails()
    };
    assert_eq!(dirty_after(copied), 2, "copies are marked as they are made");
}

#[test]
fn invalidated_lines_are_not_flushed() {
    // Both dirty and stale: lines of an import, and lines stored through two mappings.
    let rig = rig("sim:glk");
    let foreign = rig.soft.create(1 << 16).unwrap();
    rig.soft.map(foreign.handle, MmapMode::Wb, 1 << 16).unwrap().copy_in(0, &NEW).unwrap();
    let dma_buf = rig.soft.export(foreign.handle).unwrap();
    let bo = rig.device.import(&dma_buf).unwrap();
    bo.map(MmapMode::Wb).unwrap();
    assert_eq!((bo.dirty_lines(), bo.stale_lines()), (1024, 1024));
    assert_eq!(bo.read(0, 1 << 16).unwrap().finish().lines, 1024);
    assert_eq!(read(&bo, 0), NEW, "an invalidate writes dirty lines back");
    assert_eq!(bo.flush().unwrap().lines, 0, "once is enough");
    write(&bo, 128, &NEW);
    assert_eq!(bo.flush().unwrap().lines, 1, "what is stored afterwards counts");

    let rig = crate::rig("sim:mtl");
    let bo = rig.device.alloc(AllocRequest::new(8192)).unwrap();
    bo.map(MmapMode::Wc).unwrap();
    write(&bo, 0, &NEW);
    bo.map(MmapMode::Wb).unwrap();
    let invalidated = bo.read(0, 8192).unwrap().finish().lines;
    let flushed = bo.flush().unwrap().lines;
    assert_eq!(invalidated + flushed, 128, "each line of the kernel's zeroes once");
}

#[test]
fn the_kernels_zeroes_do_not_overwrite_uncached_stores() {
    let rig = rig("sim:mtl");
    let bo = || rig.device.alloc(AllocRequest::new(8192)).unwrap();
    // An object on Meteor Lake is cached from its creation, so the acquire does not flush its zeroes.
    let forgotten = bo();
    rig.raw_store(&forgotten, MmapMode::Wc, 0, &NEW);
    assert_eq!(&rig.raw_load(&forgotten, MmapMode::Wc, 8)[..], &PREVIOUS_OWNER[8..], "somebody else's bytes");
    rig.evict(&forgotten);
    assert_eq!(rig.raw_load(&forgotten, MmapMode::Wc, 0), [0; 8], "the zeroes came later");

    let bo = bo();
    bo.map(MmapMode::Wc).unwrap();
    let mut guard = bo.write(0, 64).unwrap();
    guard.write_at(0, &NEW).unwrap();
    let report = guard.finish();
    assert_eq!((report.decision.rule, report.lines), (Rule::UncachedAlias, 1));
    assert_eq!(read(&bo, 8), [0; 8]);
    rig.evict(&bo);
    assert_eq!(read(&bo, 0), NEW);
    assert_eq!(read(&bo, 4096), [0; 8]);
}

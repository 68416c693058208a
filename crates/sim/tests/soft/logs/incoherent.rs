//! The log of incoherent accesses, and of lines that are dirty at a submission.

use gem_coherency::backend::{Drm, ExecObject, Extras};
use gem_coherency::cacheops::{CacheLines as _, LineOp};
use gem_coherency::platform::EngineClass;
use gem_coherency::units::LineRange;
use gem_coherency::vocabulary::{Access, CacheLevel, CachingMode, Domains, MmapMode, MocsClass};
use gem_coherency_sim::Mistake::{LostWrite, StaleCpuRead, StaleRead};
use gem_coherency_sim::{Incoherent, Mistake, Route, SimDevice};

use crate::Page;
use crate::gpu::{END, Gpu, SIZE};

/// The page table's MOCS.
const PTE: Route = Route::Gpu(MocsClass::PageTable);

fn watched(name: &str) -> Page {
    let page = Page::new(name);
    page.device.watch(true);
    page
}

/// First and end of each range of lines.
type Runs = Vec<(u64, u64)>;

/// Kinds, routes and lines that were logged.
fn found(device: &SimDevice) -> Vec<(Mistake, Route, Runs)> {
    let all = device.incoherent().into_iter();
    all.map(|access| (access.kind, access.route, runs(&access.lines))).collect()
}

fn runs(lines: &[LineRange]) -> Runs {
    lines.iter().map(|lines| (lines.first(), lines.end())).collect()
}

#[test]
fn objects_are_numbered_from_a_number() {
    let page = watched("glk");
    page.device.number_objects_from(100);
    page.device.number_objects_from(7);
    let next = page.device.create(4096).unwrap().handle;
    page.device.number_objects_from(100);
    let last = page.device.create(4096).unwrap().handle;
    let numbers = [page.handle(), next, last].map(|handle| {
        let map = page.device.map(handle, MmapMode::Wb, 4096).unwrap();
        map.copy_in(0, b"new").unwrap();
        page.device.gpu_read(handle, MocsClass::PageTable, 0, &mut [0; 64]).unwrap();
        page.device.incoherent().iter().map(|access| access.object).collect::<Vec<_>>()
    });
    assert_eq!(numbers, [[1], [100], [101]]);
}

#[test]
fn a_read_of_memory_is_stale_if_the_cache_has_other_bytes() {
    let page = watched("glk");
    page.map.copy_in(60, b"new bytes").unwrap();
    let mut bytes = [0; 192];
    page.device.gpu_read(page.handle(), MocsClass::PageTable, 0, &mut bytes).unwrap();
    let incoherent = Incoherent {
        object: 1,
        handle: Some(page.handle()),
        size: 4096,
        level: CacheLevel::None,
        kind: StaleRead,
        route: PTE,
        lines: vec![LineRange::new(0, 2)],
    };
    assert_eq!(page.device.incoherent(), [incoherent], "not line 2, which is clean");
    assert_eq!(page.device.incoherent(), [], "taken");
    page.gpu_reads(MocsClass::PageTable);
    assert_eq!(found(&page.device), [], "line 0 has the same bytes up to 60");
    page.display_reads();
    page.flush();
    page.device.gpu_read(page.handle(), MocsClass::PageTable, 0, &mut bytes).unwrap();
    assert_eq!(found(&page.device), [], "flushed");
}

#[test]
fn a_dirty_line_with_memorys_bytes_matters_to_writes_alone() {
    for (stored, log) in [([0; 4], 0), ([7; 4], 1)] {
        let page = watched("glk");
        page.store(&stored);
        page.gpu_reads(MocsClass::PageTable);
        page.gpu_writes(&[9; 4]);
        assert_eq!(found(&page.device).len(), 1 + log);
    }
}

#[test]
fn a_write_under_dirty_lines_is_lost() {
    for (op, log) in [(None, vec![(LostWrite, PTE, vec![(0, 1)])]), (Some(LineOp::WriteBack), vec![])] {
        let page = watched("glk");
        page.store(b"new!");
        op.into_iter().for_each(|op| page.lines(op));
        page.gpu_writes(b"gpu!");
        assert_eq!(found(&page.device), log);
    }
    let page = watched("glk");
    page.store(b"new!");
    page.gpu_writes(b"new!");
    assert_eq!(found(&page.device), [], "the same bytes");
}

#[test]
fn the_cpu_reads_clean_bytes_that_memory_has_newer_ones_of() {
    for (op, log) in
        [(None, vec![(StaleCpuRead, Route::CpuCached, vec![(0, 1)])]), (Some(LineOp::Invalidate), vec![])]
    {
        let page = watched("glk");
        page.load();
        page.gpu_writes(b"gpu!");
        op.into_iter().for_each(|op| page.lines(op));
        page.load();
        assert_eq!(found(&page.device), log);
    }
}

#[test]
fn coherent_accesses_and_those_that_nobody_watches_are_not_logged() {
    for (name, on, route, log) in [
        ("tgl", true, MocsClass::PageTable, 0),
        ("jsl", true, MocsClass::PageTable, 0),
        ("jsl", true, MocsClass::BypassLlc, 1),
        ("dg2", true, MocsClass::PageTable, 0),
        ("glk", true, MocsClass::PageTable, 1),
        ("glk", false, MocsClass::PageTable, 0),
        ("glk,memory=coherent", true, MocsClass::PageTable, 0),
    ] {
        let page = watched(name);
        page.device.watch(on);
        page.store(b"new!");
        page.gpu_reads(route);
        page.device.gpu_write(page.handle(), MocsClass::Uncached, 0, b"gpu!").unwrap();
        // Only reads go around the cache of a Jasper Lake.
        let logged = if name.starts_with("jsl") { log } else { 2 * log };
        assert_eq!(found(&page.device).len(), logged, "{name} {route:?}");
    }
}

#[test]
fn snooped_objects_are_coherent_with_the_gpu_and_not_with_the_display() {
    let page = watched("glk");
    page.device.set_caching(page.handle(), CachingMode::Cached).unwrap();
    page.store(b"new!");
    page.gpu_reads(MocsClass::PageTable);
    assert_eq!(found(&page.device), []);
    page.display_reads();
    assert_eq!(found(&page.device), [(StaleRead, Route::Display, vec![(0, 1)])]);
}

#[test]
fn a_fresh_objects_zeroes_are_not_in_memory_before_they_are_flushed() {
    for (flush, log) in [(false, vec![(StaleRead, Route::Display, vec![(64, 65)])]), (true, vec![])] {
        let device = crate::sim("tgl");
        device.watch(true);
        let bo = device.create(8192).unwrap();
        let map = device.map(bo.handle, MmapMode::Wb, 8192).unwrap();
        if flush {
            map.perform(LineOp::Flush, LineRange::new(64, 65)).unwrap();
        }
        let mut bytes = [0; 4];
        device.gpu_read(bo.handle, MocsClass::PageTable, 4096, &mut bytes).unwrap();
        device.display_read(bo.handle, 4096, &mut bytes).unwrap();
        assert_eq!(found(&device), log);
    }
}

#[test]
fn the_lines_of_shared_bytes_are_found_by_comparison() {
    for flush in [false, true] {
        let page = watched("glk");
        assert!(!page.map.as_ptr().is_null());
        page.store(b"new!");
        if flush {
            page.flush();
        }
        page.gpu_reads(MocsClass::PageTable);
        assert_eq!(found(&page.device).len(), usize::from(!flush));
    }
}

#[test]
fn a_loads_object_is_known_through_every_kind_of_mapping() {
    let page = watched("glk");
    let legacy = page.device.map_legacy(page.handle(), MmapMode::Wb, 4096).unwrap();
    page.load();
    page.gpu_writes(b"gpu!");
    legacy.copy_out(0, &mut [0; 4]).unwrap();
    let found = page.device.incoherent();
    assert_eq!(found.len(), 1);
    assert_eq!((found[0].object, found[0].handle), (1, Some(page.handle())));
}

#[test]
fn what_has_no_room_is_counted() {
    let device = crate::sim("glk");
    let bo = device.create(16 << 20).unwrap();
    let map = device.map(bo.handle, MmapMode::Wb, bo.size_bytes).unwrap();
    device.set_domain(bo.handle, Domains::CPU, Domains::CPU).unwrap();
    device.gpu_read(bo.handle, MocsClass::PageTable, 0, &mut [0]).unwrap();
    device.watch(true);
    // Every other line, so that no two ranges meet.
    let lines = 16 << 20 >> 6;
    for line in (0..lines).step_by(2) {
        map.copy_in(line * 64, &[1]).unwrap();
    }
    let mut bytes = vec![0; 16 << 20];
    device.gpu_read(bo.handle, MocsClass::PageTable, 0, &mut bytes).unwrap();
    assert_eq!(device.incoherent_dropped(), lines / 2 - 65_536);
    assert_eq!(device.incoherent_dropped(), 0, "taken");
    assert_eq!(device.incoherent().iter().map(|access| access.lines.len()).sum::<usize>(), 65_536);
    device.gpu_read(bo.handle, MocsClass::PageTable, 0, &mut bytes[..1]).unwrap();
    assert_eq!(device.incoherent().len(), 1, "there is room again");
}

/// What the log says of a submission whose target has dirty bytes in lines 1, 2 and 64.
fn dirty_at_submission(name: &str, flush: bool) -> Vec<(u64, Runs)> {
    let gpu = Gpu::new(name);
    gpu.device.watch(true);
    gpu.run(&[END]).unwrap();
    gpu.target.store(124, &[7, 7]);
    gpu.target.store(4096, &[7]);
    // The same bytes as in memory.
    gpu.source.store(0, &[0]);
    if flush {
        gpu.target.flush();
    }
    gpu.run_on(EngineClass::Render, &[END]).unwrap();
    let found = gpu.device.dirty_at_submission();
    assert_eq!(gpu.device.dirty_at_submission(), [], "taken");
    for dirty in &found {
        assert_eq!((dirty.handle, dirty.size), (Some(gpu.target.handle()), SIZE));
        assert_eq!((dirty.object, dirty.level), (1, CacheLevel::None));
    }
    found.into_iter().map(|dirty| (dirty.submission, runs(&dirty.lines))).collect()
}

#[test]
fn lines_that_are_dirty_at_a_submission_are_logged_where_the_gpu_does_not_see_them() {
    assert_eq!(dirty_at_submission("glk", false), [(2, vec![(1, 3), (64, 65)])]);
    assert_eq!(dirty_at_submission("glk", true), []);
    for coherent in ["tgl", "jsl", "dg2", "glk,memory=coherent"] {
        assert_eq!(dirty_at_submission(coherent, false), [], "{coherent}");
    }
}

#[test]
fn the_kernels_flushes_come_before_the_log_of_a_submission() {
    let gpu = Gpu::new("glk");
    gpu.device.watch(true);
    for domain in [None, Some(Domains::CPU)] {
        if let Some(domain) = domain {
            crate::write_domain(&gpu.device, gpu.target.handle(), domain).unwrap();
        }
        gpu.target.store(0, &[8 + u32::from(domain.is_some())]);
        gpu.run(&[END]).unwrap();
        assert_eq!(gpu.device.dirty_at_submission().is_empty(), domain.is_some());
    }
}

#[test]
fn a_batch_that_nobody_watches_logs_nothing_and_a_stale_batch_is_a_stale_read() {
    let gpu = Gpu::new("glk");
    gpu.target.store(0, &[7]);
    gpu.run(&[END]).unwrap();
    assert_eq!(gpu.device.dirty_at_submission(), []);
    gpu.device.watch(true);
    for (engine, log) in [
        (EngineClass::Render, vec![(StaleRead, PTE, vec![(0, 1)])]),
        // Graphics 9's parser reads the batch of a copy engine through the CPU's caches.
        (EngineClass::Copy, vec![]),
    ] {
        gpu.batch.store(0, &[END, 1]);
        gpu.submit(engine, 2).unwrap();
        assert_eq!(found(&gpu.device), log);
    }
}

#[test]
fn the_kernels_own_copy_reads_stale_bytes_without_its_flush() {
    for (name, log) in [
        ("glk", vec![]),
        ("glk,without=pread-invalidate", vec![(StaleCpuRead, Route::CpuCached, vec![(0, 1)])]),
    ] {
        let page = watched(name);
        page.load();
        let object = ExecObject { handle: page.handle(), access: Access::Write };
        page.device.execute(&[object]).unwrap();
        page.gpu_writes(b"gpu!");
        page.device.pread(page.handle(), 0, &mut [0; 4]).unwrap();
        assert_eq!(found(&page.device), log, "{name}");
    }
}

//! Stale bytes, one case at a time; `rules` has all of them.

use gem_coherency::backend::{Drm, ExecObject, Extras};
use gem_coherency::cacheops::LineOp;
use gem_coherency::policy::Rule;
use gem_coherency::policy::kernel::Action;
use gem_coherency::vocabulary::{Access, CachingMode, Domains, MmapMode, MocsClass};

use crate::{Page, sim, write_domain};

const OLD: [u8; 4] = [0; 4];
const NEW: [u8; 4] = *b"new!";

#[test]
fn glk_gpu_sees_a_wb_store_only_after_a_flush() {
    let page = Page::new("glk");
    page.store(&NEW);
    assert_eq!(page.gpu_reads(MocsClass::PageTable), OLD);
    page.lines(LineOp::WriteBack);
    assert_eq!(page.gpu_reads(MocsClass::PageTable), NEW);
}

#[test]
fn glk_gpu_sees_a_wb_store_at_once_when_it_snoops() {
    let page = Page::new("glk");
    page.device.set_caching(page.handle(), CachingMode::Cached).unwrap();
    page.store(&NEW);
    assert_eq!(page.gpu_reads(MocsClass::PageTable), NEW);
}

#[test]
fn jsl_bypass_and_display_see_a_wb_store_only_after_a_flush() {
    let page = Page::new("jsl");
    page.store(&NEW);
    assert_eq!(page.gpu_reads(MocsClass::PageTable), NEW);
    assert_eq!(page.gpu_reads(MocsClass::Uncached), NEW);
    assert_eq!(page.gpu_reads(MocsClass::BypassLlc), OLD);
    assert_eq!(page.display_reads(), OLD);
    page.flush();
    assert_eq!(page.gpu_reads(MocsClass::BypassLlc), NEW);
    assert_eq!(page.display_reads(), NEW);
}

#[test]
fn tgl_has_the_bypass_entries_and_they_bypass_nothing() {
    let page = Page::new("tgl");
    page.store(&NEW);
    assert_eq!(page.gpu_reads(MocsClass::BypassLlc), NEW);
    assert_eq!(page.display_reads(), OLD);
}

#[test]
fn glk_cpu_sees_a_gpu_write_only_after_an_invalidate() {
    let page = Page::new("glk");
    assert_eq!(page.load(), OLD, "the line is cached now");
    page.gpu_writes(&NEW);
    assert_eq!(page.load(), OLD);
    page.lines(LineOp::WriteBack);
    assert_eq!(page.load(), OLD, "a write-back drops nothing");
    page.lines(LineOp::Invalidate);
    assert_eq!(page.load(), NEW);
}

#[test]
fn glk_partial_store_into_a_stale_line_loses_the_gpus_bytes() {
    let lost = Page::new("glk");
    lost.load();
    lost.gpu_writes(&[7; 64]);
    lost.store(&NEW);
    lost.flush();
    let mut line = [1; 64];
    lost.device.gpu_read(lost.handle(), MocsClass::PageTable, 0, &mut line).unwrap();
    assert_eq!((line[3], line[4]), (b'!', 0), "the rest of the line was stale");

    let kept = Page::new("glk");
    kept.load();
    kept.gpu_writes(&[7; 64]);
    kept.lines(LineOp::Invalidate);
    kept.store(&NEW);
    kept.flush();
    kept.device.gpu_read(kept.handle(), MocsClass::PageTable, 0, &mut line).unwrap();
    assert_eq!((line[3], line[4]), (b'!', 7));
}

#[test]
fn glk_dirty_line_overwrites_what_the_gpu_wrote_before_it() {
    let page = Page::new("glk");
    page.store(&OLD);
    page.gpu_writes(&NEW);
    page.flush();
    assert_eq!(page.gpu_reads(MocsClass::PageTable), OLD);
}

#[test]
fn wc_stores_wait_for_a_drain_or_a_submission() {
    for name in ["glk", "tgl", "mtl"] {
        let page = Page::new(name);
        let map = page.device.map(page.handle(), MmapMode::Wc, 4096).unwrap();
        map.copy_in(0, &NEW).unwrap();
        assert_eq!(page.gpu_reads(MocsClass::PageTable), OLD, "{name}");
        map.drain().unwrap();
        assert_eq!(page.gpu_reads(MocsClass::PageTable), NEW, "{name}");
        map.copy_in(0, b"next").unwrap();
        page.device.execute(&[ExecObject { handle: page.handle(), access: Access::Read }]).unwrap();
        assert_eq!(page.gpu_reads(MocsClass::PageTable), *b"next", "{name}");
    }
}

#[test]
fn a_mapping_sees_its_own_stores() {
    for &mode in MmapMode::ALL {
        let device = sim(if mode == MmapMode::Fixed { "dg2" } else { "glk" });
        let handle = device.create(1 << 20).unwrap().handle;
        let map = device.map(handle, mode, 1 << 20).unwrap();
        let data: Vec<u8> = (0..100_000u32).map(|n| (n % 251) as u8).collect();
        map.copy_in(4077, &data).unwrap();
        let mut seen = vec![0; data.len()];
        map.copy_out(4077, &mut seen).unwrap();
        assert!(seen == data, "{mode}");
    }
}

#[test]
fn the_aperture_of_a_snooped_object_is_no_way_without_llc() {
    let page = Page::new("glk");
    page.device.set_caching(page.handle(), CachingMode::Cached).unwrap();
    let map = page.device.map(page.handle(), MmapMode::Gtt, 4096).unwrap();
    let error = map.copy_in(0, &NEW).unwrap_err();
    assert_eq!(error.to_string(), "page fault: EFAULT: Bad address (purged object, or a bad address)");
    assert_eq!((page.device.bus_errors(), page.load()), (1, OLD));
    let tgl = Page::new("tgl");
    let map = tgl.device.map(tgl.handle(), MmapMode::Gtt, 4096).unwrap();
    map.copy_in(0, &NEW).unwrap();
    map.drain().unwrap();
    assert_eq!((tgl.device.bus_errors(), tgl.load()), (0, NEW));
}

#[test]
fn set_domain_flushes_and_invalidates_for_the_caller() {
    let page = Page::new("glk");
    write_domain(&page.device, page.handle(), Domains::CPU).unwrap();
    page.store(&NEW);
    page.device.execute(&[ExecObject { handle: page.handle(), access: Access::Write }]).unwrap();
    assert_eq!(page.gpu_reads(MocsClass::PageTable), NEW);
    page.load();
    page.gpu_writes(b"gpu!");
    assert_eq!(page.load(), NEW);
    page.device.set_domain(page.handle(), Domains::CPU, Domains::empty()).unwrap();
    assert_eq!(page.load(), *b"gpu!");
    let flushes = page.device.kernel_flushes();
    let rules: Vec<_> = flushes.iter().map(|flush| (flush.action, flush.rule)).collect();
    assert_eq!(
        rules,
        [
            (Action::FlushSync, Rule::AcquireDirty),
            (Action::FlushAsync, Rule::ExecFlush),
            (Action::FlushSync, Rule::EnterCpuStale),
        ]
    );
    assert_eq!((flushes[0].lines_written, flushes[1].lines_written, flushes[2].lines_written), (64, 1, 0));
    assert!(flushes.iter().all(|flush| flush.bytes == 4096 && flush.handle == Some(page.handle())));
}

#[test]
fn stores_through_a_mapping_alone_make_nothing_dirty_for_the_kernel() {
    let page = Page::new("glk");
    page.store(&NEW);
    page.device.execute(&[ExecObject { handle: page.handle(), access: Access::Read }]).unwrap();
    assert_eq!(page.gpu_reads(MocsClass::PageTable), OLD);
}

#[test]
fn pwrite_reaches_the_gpu_and_pread_sees_it_on_every_platform_that_has_them() {
    for name in ["i965gm", "glk", "jsl", "tgl", "hsw"] {
        for (caching, awake) in
            [(None, true), (None, false), (Some(CachingMode::None), true), (Some(CachingMode::None), false)]
        {
            let page = Page::new(name);
            page.device.set_awake(awake);
            if let Some(mode) = caching {
                page.device.set_caching(page.handle(), mode).unwrap();
            }
            let object = ExecObject { handle: page.handle(), access: Access::Write };
            page.device.execute(&[object]).unwrap();
            page.load();
            page.gpu_writes(&[7; 64]);
            page.device.pwrite(page.handle(), 0, &NEW).unwrap();
            page.device.execute(&[object]).unwrap();
            let mut line = [0; 8];
            page.device.gpu_read(page.handle(), MocsClass::PageTable, 0, &mut line).unwrap();
            assert_eq!(&line, b"new!\x07\x07\x07\x07", "{name} {caching:?} awake {awake}");
            page.gpu_writes(b"gpu!");
            page.device.pread(page.handle(), 0, &mut line).unwrap();
            assert_eq!(&line, b"gpu!\x07\x07\x07\x07", "{name} {caching:?} awake {awake}");
        }
    }
}

#[test]
fn a_flush_before_pread_drains_the_cpus_buffers_and_not_the_chipsets() {
    for (mode, seen) in [(MmapMode::Wc, NEW), (MmapMode::Gtt, OLD)] {
        let page = Page::new("glk");
        let object = ExecObject { handle: page.handle(), access: Access::Write };
        page.device.execute(&[object]).unwrap();
        let map = page.device.map(page.handle(), mode, 4096).unwrap();
        map.copy_in(0, &NEW).unwrap();
        let mut bytes = [0; 4];
        page.device.pread(page.handle(), 0, &mut bytes).unwrap();
        assert_eq!(bytes, seen, "{mode}");
        let flushes = page.device.kernel_flushes();
        assert_eq!(flushes.last().map(|flush| flush.rule), Some(Rule::PreadInvalidate));
    }
}

#[test]
fn a_touch_that_is_refused_has_brought_the_pages_in() {
    for name in ["glk", "chv", "vlv", "ilk", "gm45"] {
        let device = sim(name);
        let bo = device.create(4096).unwrap();
        device.set_caching(bo.handle, CachingMode::Cached).unwrap();
        let map = device.map(bo.handle, MmapMode::Gtt, 4096).unwrap();
        for touch in 1..=2 {
            // Raises SIGBUS on a real device.
            let _ = map.copy_out(0, &mut [0; 4]);
            assert_eq!(device.bus_errors(), touch, "{name}");
        }
        let flushes = device.take_kernel_flushes();
        let flushes: Vec<_> = flushes.iter().map(|flush| (flush.action, flush.rule, flush.bytes)).collect();
        assert_eq!(flushes, [(Action::FlushSync, Rule::AcquireDirty, 4096)], "{name}");
        // At another level the same mapping serves, and nothing is acquired again.
        device.set_caching(bo.handle, CachingMode::None).unwrap();
        map.copy_out(0, &mut [0; 4]).unwrap();
        assert_eq!((device.bus_errors(), device.take_kernel_flushes().len()), (2, 0), "{name}");
    }
}

#[test]
fn hibernation_flushes_what_it_releases() {
    let flushed = |name: &str| {
        let page = Page::new(name);
        page.device.execute(&[ExecObject { handle: page.handle(), access: Access::Write }]).unwrap();
        page.device.take_kernel_flushes();
        page.device.hibernate().unwrap();
        let flushes = page.device.take_kernel_flushes();
        flushes.iter().map(|flush| (flush.action, flush.rule)).collect::<Vec<_>>()
    };
    let last = (Action::Wbinvd, Rule::HibernateWbinvd);
    assert_eq!(flushed("glk"), [(Action::FlushSync, Rule::ReleaseStale), last]);
    assert_eq!(flushed("tgl"), [last]);
    assert_eq!(flushed("glk,without=release-stale"), [last]);
}

#[test]
fn contents_survive_sleep() {
    for name in ["glk", "jsl", "tgl", "hsw"] {
        for hibernate in [false, true] {
            let page = Page::new(name);
            let object = ExecObject { handle: page.handle(), access: Access::Write };
            page.store(&NEW);
            page.flush();
            page.device.execute(&[object]).unwrap();
            if hibernate { page.device.hibernate() } else { page.device.suspend() }.unwrap();
            page.device.resume().unwrap();
            assert_eq!(page.load(), NEW, "{name}");
            assert_eq!(page.gpu_reads(MocsClass::PageTable), NEW, "{name}");
        }
    }
}

#[test]
fn suspend_flushes_once_for_all_objects() {
    let device = sim("glk");
    for _ in 0..3 {
        let handle = device.create(4096).unwrap().handle;
        device.execute(&[ExecObject { handle, access: Access::Write }]).unwrap();
    }
    device.suspend().unwrap();
    let wbinvds = device.kernel_flushes().into_iter().filter(|flush| flush.action == Action::Wbinvd).count();
    assert_eq!(wbinvds, 1);
}

#[test]
fn an_adversary_breaks_what_relied_on_luck_and_nothing_that_followed_the_rules() {
    let mut lucky = 0;
    for seed in 0..50 {
        let page = Page::new(&format!("glk,adversary=on,seed={seed}"));
        // By the rules: flush what was stored, invalidate what the GPU wrote.
        page.store(&NEW);
        page.flush();
        assert_eq!(page.gpu_reads(MocsClass::PageTable), NEW, "{seed}");
        page.gpu_writes(b"gpu!");
        page.lines(LineOp::Invalidate);
        assert_eq!(page.load(), *b"gpu!", "{seed}");
        // By luck: no line was read since the flush, so a read ahead is what breaks it.
        let unlucky = Page::new(&format!("glk,adversary=on,seed={seed}"));
        for _ in 0..8 {
            unlucky.gpu_reads(MocsClass::PageTable);
        }
        unlucky.gpu_writes(&NEW);
        lucky += u32::from(unlucky.load() == NEW);
    }
    assert!((1..50).contains(&lucky), "{lucky} of 50 had luck");
}

#[test]
fn ten_thousand_objects_cost_little() {
    let device = sim("tgl");
    let handles: Vec<_> = (0..10_000).map(|_| device.create(64 << 10).unwrap().handle).collect();
    let objects: Vec<_> =
        handles.iter().map(|&handle| ExecObject { handle, access: Access::Write }).collect();
    device.execute(&objects).unwrap();
    let map = device.map(handles[9_999], MmapMode::Wb, 64 << 10).unwrap();
    map.copy_in(65_532, &NEW).unwrap();
    for handle in handles {
        device.close(handle).unwrap();
    }
    assert_eq!(device.open_counts().handles, 0);
}

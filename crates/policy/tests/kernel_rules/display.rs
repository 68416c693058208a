//! Scanout: pin, unpin, SW_FINISH, DIRTYFB; and dma-buf access to a shown object.

use super::*;
use gem_coherency_policy::Errno;

use Action::{Barrier, FlushAsync, FlushGgtt, FlushSync};

fn framebuffer(under: Under, level: CacheLevel, read: Domains, write: Domains, dirty: bool) -> Snapshot {
    Snapshot { framebuffer: true, ..under.state(level, read, write, dirty) }
}

/// Returns a new object of the default level that became a framebuffer.
fn fresh(under: Under) -> Snapshot {
    let added = under.step(under.created(Creation::User), Event::AddFramebuffer);
    assert_eq!(added.effects.actions().count(), 0);
    added.next
}

#[test]
fn becoming_a_framebuffer_flushes_nothing_and_keeps_the_level() {
    for under in every(&[LLC, BYPASS, NON_LLC, WT]) {
        let before = under.state(LLC_LEVEL, GPU, RENDER, true);
        under.case(before, Event::AddFramebuffer, &[], Snapshot { framebuffer: true, ..before });
    }
}

#[test]
fn flipping_to_a_never_touched_bo() {
    let shown = |under: Under, level| Snapshot { pinned: true, ..framebuffer(under, level, CPU, NO, false) };
    for under in every(&[LLC, PAT]) {
        under.case(fresh(under), Event::PinDisplay, &[FlushAsync], shown(under, NONE));
    }
    for under in every(&[WT]) {
        under.case(fresh(under), Event::PinDisplay, &[FlushAsync], shown(under, WT_LEVEL));
    }
    // The acquire comes before the level is forced, so jsl and ehl flush twice.
    for under in every(&[BYPASS]) {
        under.case(fresh(under), Event::PinDisplay, &[FlushSync, FlushAsync], shown(under, NONE));
    }
    for under in every(&[NON_LLC]) {
        under.case(fresh(under), Event::PinDisplay, &[FlushSync], shown(under, NONE));
    }
}

#[test]
fn first_domain_change_on_a_fresh_framebuffer_then_sw_finish() {
    for under in every(&[LLC, WT]) {
        let same = under.step(fresh(under), Event::SetDomainCpu(WRITE));
        assert_eq!(same.effects.actions().count(), 0, "{}", under.name);
        assert_eq!(under.step(same.next, Event::SwFinish).effects.actions().count(), 0, "{}", under.name);
    }
    for under in every(&[BYPASS, NON_LLC]) {
        let first = under.step(fresh(under), Event::SetDomainCpu(WRITE));
        assert_eq!(first.effects.actions().collect::<Vec<_>>(), [FlushSync], "{}", under.name);
        let finish = under.step(first.next, Event::SwFinish);
        assert_eq!(finish.effects.actions().collect::<Vec<_>>(), [FlushAsync], "{}", under.name);
    }
}

#[test]
fn a_cpu_write_is_flushed_once_by_the_next_display_point() {
    for under in every(&[LLC, BYPASS, NON_LLC, PAT]) {
        let shown = Snapshot { pinned: true, ..framebuffer(under, NONE, CPU, NO, false) };
        let written = under.step(shown, Event::SetDomainCpu(WRITE)).next;
        assert!(written.dirty);
        for event in [Event::SwFinish, Event::DirtyFb, Event::PinDisplay] {
            under.case(written, event, &[FlushAsync], shown);
            assert_eq!(under.step(shown, event).effects.actions().count(), 0, "repeated {event}");
        }
    }
}

#[test]
fn a_cpu_write_then_gtt_or_wc_then_a_display_point() {
    for (event, domain) in [(Event::SetDomainGtt(READ), GTT), (Event::SetDomainWc(READ), WC)] {
        for under in every(&[LLC, BYPASS]) {
            let written = Snapshot { pinned: true, ..framebuffer(under, NONE, CPU, CPU, true) };
            let moved = Snapshot { read_domains: CPU | domain, write_domain: NO, ..written };
            under.case(written, event, &[Barrier], moved);
            under.case(moved, Event::SwFinish, &[FlushAsync], Snapshot { dirty: false, ..moved });
        }
        for under in every(&[NON_LLC, PAT]) {
            let written = Snapshot { pinned: true, ..framebuffer(under, NONE, CPU, CPU, true) };
            let moved = Snapshot { read_domains: CPU | domain, write_domain: NO, dirty: false, ..written };
            under.case(written, event, &[FlushSync, Barrier], moved);
            under.case(moved, Event::SwFinish, &[], moved);
        }
    }
}

#[test]
fn gtt_writes_are_drained_at_display_points() {
    for under in every(&[LLC, NON_LLC]) {
        let gtt = framebuffer(under, NONE, GTT, GTT, false);
        under.case(gtt, Event::SwFinish, &[FlushGgtt], Snapshot { write_domain: NO, ..gtt });
    }
}

#[test]
fn a_gpu_write_is_flushed_only_from_a_cached_level() {
    for under in every(&[LLC, BYPASS, WT]) {
        let cached = framebuffer(under, LLC_LEVEL, GPU, RENDER, false);
        under.case(cached, Event::SwFinish, &[FlushAsync], Snapshot { write_domain: NO, ..cached });
        let none = framebuffer(under, NONE, GPU, RENDER, false);
        under.case(none, Event::SwFinish, &[], Snapshot { write_domain: NO, ..none });
    }
    for under in every(&[WT]) {
        let wt = framebuffer(under, WT_LEVEL, GPU, RENDER, false);
        under.case(wt, Event::SwFinish, &[], Snapshot { write_domain: NO, ..wt });
    }
}

#[test]
fn cpu_write_execbuf_write_sw_finish() {
    for under in every(&[LLC, BYPASS]) {
        let used = under.step(framebuffer(under, NONE, CPU, CPU, true), Event::Exec(WRITE)).next;
        assert!(used.dirty, "{}", under.name);
        assert_eq!(under.step(used, Event::SwFinish).effects.actions().collect::<Vec<_>>(), [FlushAsync]);
    }
    for under in every(&[NON_LLC]) {
        let exec = under.step(framebuffer(under, NONE, CPU, CPU, true), Event::Exec(WRITE));
        assert!(exec.effects.actions().any(|action| action == FlushAsync));
        assert_eq!(under.step(exec.next, Event::SwFinish).effects.actions().count(), 0);
    }
}

#[test]
fn non_framebuffers_are_not_flushed_for_display() {
    for under in every(&[LLC, NON_LLC]) {
        let dirty = under.state(NONE, CPU, CPU, true);
        assert_eq!(under.case(dirty, Event::SwFinish, &[], dirty), Rule::NotFramebuffer);
        let refusal = step(under.caps, &under.rules, dirty, Event::DirtyFb).unwrap_err();
        assert_eq!(refusal.errno, Some(Errno::ENOENT));
        assert_eq!(
            step(under.caps, &under.rules, dirty, Event::PinDisplay).unwrap_err().errno,
            Some(Errno::EINVAL)
        );
    }
}

#[test]
fn dirtyfb_off_screen_flushes_before_6_7_only() {
    for name in ["glk", "jsl", "tgl"] {
        for minor in [1, 6] {
            let old = Under::new(name, 6, minor);
            let dirty = framebuffer(old, NONE, CPU, CPU, true);
            assert_eq!(old.step(dirty, Event::DirtyFb).rule, Rule::ScanoutFlush, "{name} 6.{minor}");
        }
        for minor in [7, 12] {
            let new = Under::new(name, 6, minor);
            let dirty = framebuffer(new, NONE, CPU, CPU, true);
            assert_eq!(
                new.case(dirty, Event::DirtyFb, &[], dirty),
                Rule::DirtyFbOffPlane,
                "{name} 6.{minor}"
            );
        }
    }
}

#[test]
fn the_level_is_never_restored() {
    for under in every(&[LLC, BYPASS, WT]) {
        let shown = under.step(fresh(under), Event::PinDisplay).next;
        let gone = under.step(under.step(shown, Event::UnpinDisplay).next, Event::RemoveFramebuffer).next;
        assert_eq!(gone.level, shown.level, "{}", under.name);
        assert_ne!(gone.level, LLC_LEVEL, "{}", under.name);
    }
}

#[test]
fn mapped_stores_are_invisible_to_the_kernel() {
    // A store through a mapping is no event: the object stays clean, and DIRTYFB is a no-op.
    for under in every(&[LLC, NON_LLC]) {
        let shown = Snapshot { pinned: true, ..framebuffer(under, NONE, CPU, NO, false) };
        assert_eq!(under.case(shown, Event::DirtyFb, &[], shown), Rule::ScanoutClean);
    }
}

#[test]
fn discrete_scans_out_of_local_memory_only_and_never_flushes() {
    for under in every(&[DISCRETE]) {
        let local = Snapshot { framebuffer: true, ..under.created(Creation::Local) };
        let pinned = under.step(local, Event::PinDisplay);
        assert!(pinned.next.pinned && pinned.effects.actions().all(|action| !action.is_flush()));
        let system = Snapshot { framebuffer: true, ..under.created(Creation::User) };
        assert_eq!(
            step(under.caps, &under.rules, system, Event::PinDisplay).unwrap_err().errno,
            Some(Errno::EINVAL)
        );
    }
}

#[test]
fn a_chosen_pat_index_survives_the_pin() {
    let mtl = Under::new("mtl", 6, 12);
    let object = Snapshot { framebuffer: true, ..mtl.created(Creation::UserWithPat(3)) };
    let pinned = mtl.step(object, Event::PinDisplay).next;
    assert_eq!((pinned.level, pinned.user_pat), (LLC_LEVEL, Some(3)));
}

#[test]
fn imports_change_level_at_the_pin_without_a_flush() {
    for under in every(&[LLC]) {
        let import = Snapshot { framebuffer: true, ..under.created(Creation::Import) };
        let pinned = under.step(import, Event::PinDisplay);
        assert_eq!(pinned.next.level, NONE);
        assert!(pinned.effects.actions().all(|action| !action.is_flush()), "{}", under.name);
    }
}

#[test]
fn the_end_of_dma_buf_access_flushes_only_without_llc() {
    for under in every(&[NON_LLC, PAT]) {
        let written = under.state(NONE, CPU, CPU, true);
        under.case(written, Event::DmaBufEnd, &[FlushSync, Barrier], under.state(NONE, CPU | GTT, NO, false));
    }
    for under in every(&[LLC, BYPASS]) {
        let written = under.state(NONE, CPU, CPU, true);
        under.case(written, Event::DmaBufEnd, &[Barrier], under.state(NONE, CPU | GTT, NO, true));
        let cached = under.state(LLC_LEVEL, CPU, CPU, false);
        under.case(cached, Event::DmaBufEnd, &[Barrier], under.state(LLC_LEVEL, CPU | GTT, NO, false));
    }
}

#[test]
fn the_begin_of_dma_buf_access_is_a_move_to_the_cpu_domain() {
    for under in every(&[NON_LLC, PAT]) {
        let gpu = under.state(NONE, GPU, RENDER, false);
        under.case(gpu, Event::DmaBufBegin(READ), &[FlushSync], under.state(NONE, GPU | CPU, NO, false));
        under.case(gpu, Event::DmaBufBegin(WRITE), &[FlushSync], under.state(NONE, CPU, CPU, true));
    }
    for under in every(&[LLC, BYPASS]) {
        let gpu = under.state(NONE, GPU, RENDER, false);
        under.case(gpu, Event::DmaBufBegin(READ), &[], under.state(NONE, GPU | CPU, NO, false));
    }
}

#[test]
fn dma_buf_end_then_dirtyfb() {
    for under in every(&[LLC, BYPASS]) {
        let shown = Snapshot { pinned: true, ..framebuffer(under, NONE, CPU, CPU, true) };
        let ended = under.step(shown, Event::DmaBufEnd);
        assert!(ended.effects.actions().all(|action| !action.is_flush()));
        assert_eq!(under.step(ended.next, Event::DirtyFb).rule, Rule::ScanoutFlush);
    }
    for under in every(&[NON_LLC]) {
        let shown = Snapshot { pinned: true, ..framebuffer(under, NONE, CPU, CPU, true) };
        let ended = under.step(shown, Event::DmaBufEnd);
        assert_eq!(ended.rule, Rule::LeaveCpuWrite);
        assert_eq!(under.step(ended.next, Event::DirtyFb).rule, Rule::ScanoutClean);
    }
}

#[test]
fn userptr_has_no_dma_buf() {
    for under in every(&[LLC, NON_LLC]) {
        let object = under.created(Creation::Userptr);
        let refusal = step(under.caps, &under.rules, object, Event::DmaBufBegin(READ)).unwrap_err();
        assert_eq!(refusal.errno, Some(Errno::EINVAL));
    }
}

#[test]
fn a_display_flush_of_an_object_without_pages_brings_them_in_first() {
    for under in every(&[NON_LLC]) {
        let after = Snapshot { pages: true, write_domain: NO, dirty: false, ..fresh(under) };
        assert_eq!(
            under.case(fresh(under), Event::SwFinish, &[FlushSync, FlushAsync], after),
            Rule::AcquireDirty
        );
    }
}

#[test]
fn linux_5_10_changes_the_level_before_it_acquires_the_pages() {
    for ((major, minor), flushes) in [((5, 10), &[FlushSync][..]), ((5, 14), &[FlushAsync])] {
        let under = Under::new("jsl", major, minor);
        let named = Snapshot { framebuffer: true, ..under.created(Creation::User) };
        let step = under.step(named, Event::PinDisplay);
        let actions: Vec<_> = step.effects.actions().collect();
        assert_eq!((&actions[..], step.next.dirty), (flushes, false), "{}", under.rules.version);
    }
}

#[test]
fn the_worker_of_linux_5_10_acquires_the_pages_of_a_clean_object() {
    for ((major, minor), flushes) in [((5, 10), &[FlushAsync][..]), ((5, 14), &[FlushSync, FlushAsync])] {
        let under = Under::new("glk", major, minor);
        let named = Snapshot { framebuffer: true, ..under.created(Creation::User) };
        let step = under.step(named, Event::SwFinish);
        let actions: Vec<_> = step.effects.actions().collect();
        assert_eq!((&actions[..], step.next.pages), (flushes, true), "{}", under.rules.version);
    }
}

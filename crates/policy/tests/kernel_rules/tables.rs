//! The domain machine: one case per row of the transition tables, by class of platform.
//!
//! T1: no LLC, level NONE. T2: a snooped or shared level anywhere. T3: LLC, level NONE. T4: WT with
//! eDRAM. T5: discrete.

use super::*;

use Action::{Barrier, FlushAsync, FlushChipset, FlushGgtt, FlushSync, WriteBarrier};
use Event::{Exec, SetDomainCpu, SetDomainGtt, SetDomainWc};

#[test]
fn t1_fresh_without_pages() {
    for under in every(&[NON_LLC, NEITHER]) {
        let fresh = under.created(Creation::User);
        under.case(fresh, Event::Acquire, &[FlushSync], under.state(NONE, CPU, NO, false));
        under.case(fresh, SetDomainCpu(WRITE), &[FlushSync], under.state(NONE, CPU, CPU, true));
        under.case(fresh, SetDomainCpu(READ), &[FlushSync], under.state(NONE, CPU, NO, false));
        under.case(fresh, Event::Fault, &[FlushSync], under.state(NONE, CPU, NO, false));
    }
}

#[test]
fn t1_in_the_cpu_write_domain() {
    for under in every(&[NON_LLC, NEITHER, PAT]) {
        let cpu = under.state(NONE, CPU, CPU, true);
        under.case(cpu, SetDomainCpu(READ), &[], cpu);
        assert_eq!(under.case(cpu, SetDomainCpu(WRITE), &[], cpu), Rule::AlreadyInDomain);
        let flush = [FlushSync, Barrier];
        assert_eq!(
            under.case(cpu, SetDomainGtt(READ), &flush, under.state(NONE, CPU | GTT, NO, false)),
            Rule::LeaveCpuWrite
        );
        under.case(cpu, SetDomainWc(READ), &flush, under.state(NONE, CPU | WC, NO, false));
        under.case(cpu, SetDomainGtt(WRITE), &flush, under.state(NONE, GTT, GTT, false));
        under.case(cpu, SetDomainWc(WRITE), &flush, under.state(NONE, WC, WC, false));
    }
}

#[test]
fn t1_clean_in_the_cpu_domain() {
    for under in every(&[NON_LLC, NEITHER, PAT]) {
        let clean = under.state(NONE, CPU, NO, false);
        under.case(clean, SetDomainCpu(READ), &[], clean);
        under.case(clean, SetDomainCpu(WRITE), &[], under.state(NONE, CPU, CPU, true));
    }
}

#[test]
fn t1_dirty_at_execbuf() {
    for under in every(&[NON_LLC, NEITHER, PAT]) {
        for (read, write) in [(CPU, NO), (CPU, CPU), (GTT | CPU, NO)] {
            let dirty = under.state(NONE, read, write, true);
            let rule = under.case(
                dirty,
                Exec(READ),
                &[FlushAsync, FlushChipset],
                under.state(NONE, read | GPU, NO, false),
            );
            assert_eq!(rule, Rule::ExecFlush);
            under.case(
                dirty,
                Exec(WRITE),
                &[FlushAsync, FlushChipset],
                under.state(NONE, GPU, RENDER, false),
            );
        }
    }
}

#[test]
fn t1_in_the_gtt_write_domain() {
    for under in every(&[NON_LLC, NEITHER, PAT]) {
        let gtt = under.state(NONE, GTT, GTT, false);
        let flush = [FlushGgtt, FlushSync];
        assert_eq!(
            under.case(gtt, SetDomainCpu(READ), &flush, under.state(NONE, GTT | CPU, NO, false)),
            Rule::EnterCpuStale
        );
        under.case(gtt, SetDomainCpu(WRITE), &flush, under.state(NONE, CPU, CPU, true));
        under.case(gtt, SetDomainWc(WRITE), &[FlushGgtt, Barrier], under.state(NONE, WC, WC, false));
        under.case(gtt, SetDomainGtt(READ), &[], gtt);
    }
}

#[test]
fn t1_in_the_wc_write_domain() {
    for under in every(&[NON_LLC, NEITHER, PAT]) {
        let wc = under.state(NONE, WC, WC, false);
        under.case(wc, SetDomainCpu(WRITE), &[WriteBarrier, FlushSync], under.state(NONE, CPU, CPU, true));
        under.case(wc, SetDomainGtt(READ), &[WriteBarrier, Barrier], under.state(NONE, WC | GTT, NO, false));
    }
}

#[test]
fn t1_after_a_gpu_write() {
    for under in every(&[NON_LLC, NEITHER, PAT]) {
        let gpu = under.state(NONE, GPU, RENDER, false);
        under.case(gpu, SetDomainCpu(READ), &[FlushSync], under.state(NONE, GPU | CPU, NO, false));
        under.case(gpu, SetDomainCpu(WRITE), &[FlushSync], under.state(NONE, CPU, CPU, true));
        under.case(gpu, SetDomainGtt(WRITE), &[Barrier], under.state(NONE, GTT, GTT, false));
        under.case(gpu, SetDomainWc(WRITE), &[Barrier], under.state(NONE, WC, WC, false));
    }
}

#[test]
fn t1_put_pages() {
    for under in every(&[NON_LLC, NEITHER, PAT]) {
        let gone = Snapshot { pages: false, ..under.state(NONE, CPU, CPU, true) };
        under.case(under.state(NONE, GTT, NO, false), Event::Release, &[FlushSync], gone);
        under.case(under.state(NONE, GPU, RENDER, false), Event::Release, &[FlushSync], gone);
        under.case(under.state(NONE, CPU, NO, false), Event::Release, &[], gone);
        under.case(under.state(NONE, CPU | GTT, NO, false), Event::Release, &[], gone);
    }
}

#[test]
fn t1_becoming_cached_sets_the_dirty_bit_and_flushes_nothing() {
    for under in every(&[NON_LLC]) {
        for (read, write) in [(CPU, CPU), (GTT, GTT), (GPU, RENDER)] {
            let before = under.state(NONE, read, write, false);
            let after = under.state(LLC_LEVEL, read, write, true);
            assert_eq!(
                under.case(before, Event::SetCaching(CachingMode::Cached), &[], after),
                Rule::LevelChange
            );
        }
    }
}

#[test]
fn t2_acquire_and_cpu() {
    for under in every(&[LLC, WT, PAT]) {
        let fresh = under.created(Creation::User);
        under.case(fresh, Event::Acquire, &[], under.state(LLC_LEVEL, CPU, CPU, false));
    }
    for under in every(&[BYPASS]) {
        let fresh = under.created(Creation::User);
        under.case(fresh, Event::Acquire, &[FlushSync], under.state(LLC_LEVEL, CPU, NO, false));
    }
    for under in every(&[LLC, WT, BYPASS, NON_LLC, PAT]) {
        let cpu = under.state(LLC_LEVEL, CPU, CPU, false);
        under.case(cpu, SetDomainGtt(READ), &[Barrier], under.state(LLC_LEVEL, CPU | GTT, NO, false));
        under.case(cpu, SetDomainWc(READ), &[Barrier], under.state(LLC_LEVEL, CPU | WC, NO, false));
    }
}

#[test]
fn t2_leaving_gtt_and_wc_drains() {
    for under in every(&[LLC, WT, BYPASS, NON_LLC, PAT]) {
        let cpu = under.state(LLC_LEVEL, CPU, CPU, false);
        under.case(under.state(LLC_LEVEL, GTT, GTT, false), SetDomainCpu(WRITE), &[FlushGgtt], cpu);
        under.case(under.state(LLC_LEVEL, WC, WC, false), SetDomainCpu(WRITE), &[WriteBarrier], cpu);
        let framebuffer = Snapshot { framebuffer: true, ..under.state(LLC_LEVEL, WC, WC, false) };
        let after = Snapshot { framebuffer: true, ..under.state(LLC_LEVEL, CPU, CPU, true) };
        under.case(framebuffer, SetDomainCpu(WRITE), &[WriteBarrier], after);
    }
}

#[test]
fn t2_a_gpu_write_becomes_dirty_when_it_leaves_the_render_domain() {
    for under in every(&[LLC, WT, BYPASS, NON_LLC, PAT]) {
        let gpu = under.state(LLC_LEVEL, GPU, RENDER, false);
        under.case(gpu, SetDomainCpu(READ), &[], under.state(LLC_LEVEL, GPU | CPU, NO, true));
        under.case(gpu, SetDomainCpu(WRITE), &[], under.state(LLC_LEVEL, CPU, CPU, true));
        under.case(gpu, SetDomainGtt(WRITE), &[Barrier], under.state(LLC_LEVEL, GTT, GTT, true));
        under.case(gpu, SetDomainWc(WRITE), &[Barrier], under.state(LLC_LEVEL, WC, WC, true));
    }
}

#[test]
fn t2_dirty_is_not_flushed_at_execbuf() {
    for under in every(&[LLC, WT, BYPASS, NON_LLC, PAT]) {
        let dirty = under.state(LLC_LEVEL, CPU, CPU, true);
        let rule =
            under.case(dirty, Exec(READ), &[FlushChipset], under.state(LLC_LEVEL, CPU | GPU, NO, true));
        assert_eq!(rule, Rule::ExecCoherent);
    }
}

#[test]
fn t2_put_pages_and_acquire_again() {
    for under in every(&[LLC, WT, BYPASS]) {
        let gone = Snapshot { pages: false, ..under.state(LLC_LEVEL, CPU, CPU, true) };
        under.case(under.state(LLC_LEVEL, GPU, NO, true), Event::Release, &[], gone);
    }
    for under in every(&[LLC, WT, BYPASS, NON_LLC, PAT]) {
        let gone = Snapshot { pages: false, ..under.state(LLC_LEVEL, CPU, CPU, true) };
        under.case(gone, Event::Acquire, &[FlushSync], under.state(LLC_LEVEL, CPU, NO, false));
    }
}

#[test]
fn t2_becoming_uncached_is_flushed_by_the_next_execbuf_without_llc() {
    for under in every(&[NON_LLC]) {
        let none = under.state(NONE, CPU, CPU, true);
        let before = under.state(LLC_LEVEL, CPU, CPU, false);
        under.case(before, Event::SetCaching(CachingMode::None), &[], none);
        assert_eq!(under.step(none, Exec(READ)).rule, Rule::ExecFlush);
    }
}

#[test]
fn t3_acquire_and_cpu() {
    for under in every(&[LLC, WT, BYPASS]) {
        let gone = Snapshot { pages: false, ..under.state(NONE, CPU, CPU, true) };
        under.case(gone, Event::Acquire, &[FlushSync], under.state(NONE, CPU, NO, false));
        let clean = under.state(NONE, CPU, NO, false);
        under.case(clean, SetDomainCpu(WRITE), &[], under.state(NONE, CPU, CPU, true));
    }
}

#[test]
fn t3_leaving_the_cpu_write_domain_skips_the_flush_and_stays_dirty() {
    for under in every(&[LLC, WT, BYPASS]) {
        let cpu = under.state(NONE, CPU, CPU, true);
        let rule = under.case(cpu, SetDomainGtt(READ), &[Barrier], under.state(NONE, CPU | GTT, NO, true));
        assert_eq!(rule, Rule::CoherentForRead);
        under.case(cpu, SetDomainWc(READ), &[Barrier], under.state(NONE, CPU | WC, NO, true));
    }
}

#[test]
fn t3_dirty_stays_dirty_at_execbuf() {
    for under in every(&[LLC, WT, BYPASS]) {
        let dirty = under.state(NONE, CPU, CPU, true);
        under.case(dirty, Exec(READ), &[FlushChipset], under.state(NONE, CPU | GPU, NO, true));
    }
}

#[test]
fn t3_display_flushes_by_force() {
    for under in every(&[LLC, BYPASS]) {
        let shown = Snapshot { framebuffer: true, pinned: true, ..under.state(NONE, CPU, CPU, true) };
        let after = Snapshot { write_domain: NO, dirty: false, ..shown };
        assert_eq!(under.case(shown, Event::SwFinish, &[FlushAsync], after), Rule::ScanoutFlush);
        under.case(shown, Event::DirtyFb, &[FlushAsync], after);
        under.case(Snapshot { pinned: false, ..shown }, Event::PinDisplay, &[FlushAsync], after);
    }
}

#[test]
fn t3_gpu_write_then_cpu_write() {
    for under in every(&[LLC, WT, BYPASS]) {
        let gpu = under.state(NONE, GPU, RENDER, false);
        under.case(gpu, SetDomainCpu(WRITE), &[], under.state(NONE, CPU, CPU, true));
        under.case(gpu, SetDomainCpu(READ), &[], under.state(NONE, GPU | CPU, NO, false));
    }
}

#[test]
fn t3_put_pages() {
    for under in every(&[LLC, WT, BYPASS]) {
        let gone = Snapshot { pages: false, ..under.state(NONE, CPU, CPU, true) };
        for (read, write) in [(GTT, GTT), (GPU, RENDER), (CPU, NO)] {
            under.case(under.state(NONE, read, write, false), Event::Release, &[], gone);
        }
    }
}

#[test]
fn t4_gpu_writes_through_wt_never_become_dirty() {
    for under in every(&[WT]) {
        let gpu = under.state(WT_LEVEL, GPU, RENDER, false);
        under.case(gpu, SetDomainCpu(READ), &[], under.state(WT_LEVEL, GPU | CPU, NO, false));
        under.case(gpu, SetDomainGtt(WRITE), &[Barrier], under.state(WT_LEVEL, GTT, GTT, false));
    }
}

#[test]
fn t4_cpu_writes_to_a_wt_framebuffer_are_dirty_until_a_display_point() {
    for under in every(&[WT]) {
        let shown = Snapshot { framebuffer: true, pinned: true, ..under.state(WT_LEVEL, CPU, NO, false) };
        let written = Snapshot { write_domain: CPU, dirty: true, ..shown };
        under.case(shown, SetDomainCpu(WRITE), &[], written);
        let after = Snapshot { write_domain: NO, dirty: false, ..written };
        under.case(written, Event::DirtyFb, &[FlushAsync], after);
        let ordinary = under.state(WT_LEVEL, CPU, NO, false);
        under.case(ordinary, SetDomainCpu(WRITE), &[], under.state(WT_LEVEL, CPU, CPU, false));
    }
}

#[test]
fn t5_discrete_refuses_domains_and_never_flushes() {
    for under in every(&[DISCRETE]) {
        let fresh = under.created(Creation::User);
        for event in [SetDomainCpu(READ), SetDomainGtt(WRITE), SetDomainWc(READ)] {
            let refusal = step(under.caps, &under.rules, fresh, event).unwrap_err();
            assert_eq!(refusal.errno, Some(gem_coherency_policy::Errno::ENODEV), "{} {event}", under.name);
        }
        let used = under.step(fresh, Exec(WRITE));
        assert_eq!(used.effects.actions().collect::<Vec<_>>(), [FlushChipset]);
        assert!(!used.next.dirty);
        assert_eq!(used.next.write_domain, RENDER);
    }
}

#[test]
fn userptr_domains_are_not_tracked() {
    for under in every(&[LLC, NON_LLC, BYPASS]) {
        let present = under.step(under.created(Creation::Userptr), Event::Acquire).next;
        for event in [SetDomainCpu(WRITE), SetDomainGtt(WRITE)] {
            assert_eq!(under.case(present, event, &[], present), Rule::UserptrUntracked);
        }
    }
}

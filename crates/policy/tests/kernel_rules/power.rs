//! Suspend, hibernation, resume.

use super::*;

use Action::{FlushSync, Wbinvd};

#[test]
fn suspend_writes_all_caches_back_for_non_coherent_objects_outside_the_cpu_domain() {
    for under in every(&[NON_LLC, NEITHER, PAT]) {
        let home = under.state(NONE, CPU, CPU, true);
        for (read, write) in [(GPU, RENDER), (GTT, GTT), (WC, NO)] {
            let rule = under.case(under.state(NONE, read, write, false), Event::Suspend, &[Wbinvd], home);
            assert_eq!(rule, Rule::SuspendWbinvd);
        }
        assert_eq!(
            under.case(under.state(NONE, CPU | GPU, NO, false), Event::Suspend, &[], home),
            Rule::SuspendCoherent
        );
    }
}

#[test]
fn suspend_of_coherent_objects_only_moves_them_home() {
    for under in every(&[LLC, BYPASS, WT]) {
        under.case(
            under.state(NONE, GPU, RENDER, false),
            Event::Suspend,
            &[],
            under.state(NONE, CPU, CPU, true),
        );
        let cached = under.state(LLC_LEVEL, CPU, CPU, false);
        under.case(under.state(LLC_LEVEL, GPU, RENDER, false), Event::Suspend, &[], cached);
    }
    for under in every(&[NON_LLC]) {
        let cached = under.state(LLC_LEVEL, CPU, CPU, false);
        under.case(under.state(LLC_LEVEL, GPU, RENDER, false), Event::Suspend, &[], cached);
    }
}

#[test]
fn objects_without_pages_and_unlisted_ones_are_not_visited() {
    for under in every(&[NON_LLC, LLC]) {
        let fresh = under.created(Creation::User);
        under.case(fresh, Event::Suspend, &[], fresh);
        let import = Snapshot { pages: true, ..under.created(Creation::Import) };
        assert_eq!(under.case(import, Event::Suspend, &[], import), Rule::NotShrinkable);
    }
}

#[test]
fn hibernation_always_writes_all_caches_back_and_drops_pages() {
    for under in every(&[NON_LLC, NEITHER, PAT]) {
        let gone = Snapshot { pages: false, ..under.state(NONE, CPU, CPU, true) };
        let step = under.step(under.state(NONE, GPU, RENDER, false), Event::Hibernate);
        let issued: Vec<_> = step.effects.iter().map(|effect| (effect.action, effect.rule)).collect();
        assert_eq!(issued, [(FlushSync, Rule::ReleaseStale), (Wbinvd, Rule::HibernateWbinvd)]);
        assert_eq!(step.next, gone, "{}", under.name);
        under.case(under.state(NONE, CPU, NO, false), Event::Hibernate, &[Wbinvd], gone);
    }
    for under in every(&[LLC, BYPASS]) {
        let gone = Snapshot { pages: false, ..under.state(LLC_LEVEL, CPU, CPU, false) };
        let rule = under.case(under.state(LLC_LEVEL, GPU, RENDER, false), Event::Hibernate, &[Wbinvd], gone);
        assert_eq!(rule, Rule::HibernateWbinvd);
    }
}

#[test]
fn hibernation_keeps_the_pages_of_framebuffers() {
    for under in every(&[NON_LLC]) {
        let framebuffer = Snapshot { framebuffer: true, ..under.state(NONE, GPU, RENDER, false) };
        let kept = Snapshot { framebuffer: true, ..under.state(NONE, CPU, CPU, true) };
        let step = under.step(framebuffer, Event::Hibernate);
        let issued: Vec<_> = step.effects.iter().map(|effect| (effect.action, effect.rule)).collect();
        assert_eq!(issued, [(Wbinvd, Rule::SuspendWbinvd), (Wbinvd, Rule::HibernateWbinvd)]);
        assert_eq!(step.next, kept, "{}", under.name);
    }
}

#[test]
fn a_shown_object_keeps_its_pages_through_hibernation() {
    for under in every(&[LLC, NON_LLC]) {
        let shown = Snapshot { framebuffer: true, pinned: true, ..under.state(NONE, CPU, NO, false) };
        let after = Snapshot { write_domain: CPU, dirty: true, ..shown };
        under.case(shown, Event::Hibernate, &[Wbinvd], after);
    }
}

#[test]
fn resume_of_a_bound_object_that_was_being_written() {
    for under in every(&[NON_LLC, LLC, BYPASS]) {
        let written = under.state(NONE, CPU, CPU, true);
        let after = under.state(NONE, CPU | GTT, NO, true);
        assert_eq!(under.case(written, Event::Resume { bound: true }, &[Wbinvd], after), Rule::ResumeWbinvd);
        under.case(written, Event::Resume { bound: false }, &[], written);
        let read = under.state(NONE, CPU, NO, false);
        let rule =
            under.case(read, Event::Resume { bound: true }, &[], under.state(NONE, CPU | GTT, NO, false));
        assert_eq!(rule, Rule::ResumeClean);
    }
}

#[test]
fn resumed_objects_are_flushed_by_the_next_execbuf_without_llc() {
    for under in every(&[NON_LLC, NEITHER, PAT]) {
        let slept = under.step(under.state(NONE, GPU, RENDER, false), Event::Suspend).next;
        let woke = under.step(slept, Event::Resume { bound: true }).next;
        assert_eq!(under.step(woke, Event::Exec(READ)).rule, Rule::ExecFlush);
    }
}

#[test]
fn a_release_after_the_machine_slept_needs_no_second_flush() {
    for under in every(&[NON_LLC]) {
        let slept = under.step(under.state(NONE, GPU, RENDER, false), Event::Suspend).next;
        let released = under.step(slept, Event::Release);
        assert!(!released.effects.actions().any(|action| action == FlushSync));
    }
}

#[test]
fn linux_5_10_moves_each_object_when_the_machine_sleeps() {
    let under = Under::new("glk", 5, 10);
    let stored = under.state(NONE, CPU, CPU, true);
    let cleaned = under.state(NONE, CPU | GTT, NO, false);
    under.case(stored, Event::Suspend, &[FlushSync, Action::Barrier], cleaned);
    // What the GPU wrote is invalidated at the next access, not here.
    let drawn = under.state(NONE, GPU, RENDER, false);
    under.case(drawn, Event::Suspend, &[Action::Barrier], under.state(NONE, GPU | GTT, NO, false));
    let shown = |state| Snapshot { framebuffer: true, ..state };
    let home = shown(under.state(NONE, CPU, CPU, true));
    under.case(shown(drawn), Event::Hibernate, &[Action::Barrier, FlushSync], home);
    let gone = Snapshot { pages: false, ..under.state(NONE, CPU, CPU, true) };
    under.case(drawn, Event::Hibernate, &[FlushSync], gone);
    // Later kernels write back all caches instead.
    let later = Under::new("glk", 5, 14);
    later.case(drawn, Event::Suspend, &[Wbinvd], later.state(NONE, CPU, CPU, true));
}

//! SET_CACHING: which requests can change a level, and the effects.

use super::*;
use gem_coherency_policy::Errno;

#[track_caller]
fn refused(under: Under, object: Snapshot, mode: CachingMode, errno: Option<Errno>, rule: Rule) {
    let refusal = step(under.caps, &under.rules, object, Event::SetCaching(mode)).unwrap_err();
    assert_eq!((refusal.errno, refusal.rule), (errno, rule), "{} {mode}", under.name);
}

#[test]
fn every_change_of_level_marks_dirty_and_flushes_nothing() {
    for under in every(&[LLC, BYPASS, NON_LLC]) {
        for (from, mode, to) in [
            (NONE, CachingMode::Cached, LLC_LEVEL),
            (LLC_LEVEL, CachingMode::None, NONE),
            (LLC_LEVEL, CachingMode::Display, NONE),
        ] {
            let before = under.state(from, GTT, GTT, false);
            let after = under.state(to, GTT, GTT, true);
            assert_eq!(under.case(before, Event::SetCaching(mode), &[], after), Rule::LevelChange);
        }
    }
}

#[test]
fn asking_for_the_level_it_has_changes_nothing() {
    for under in every(&[LLC, BYPASS, NON_LLC, NEITHER]) {
        let none = under.state(NONE, CPU, NO, false);
        for mode in [CachingMode::None, CachingMode::Display] {
            assert_eq!(under.case(none, Event::SetCaching(mode), &[], none), Rule::LevelUnchanged);
        }
    }
}

#[test]
fn display_is_wt_only_with_edram() {
    for under in every(&[WT]) {
        let before = under.state(NONE, CPU, NO, false);
        under.case(
            before,
            Event::SetCaching(CachingMode::Display),
            &[],
            under.state(WT_LEVEL, CPU, NO, true),
        );
    }
}

#[test]
fn cached_needs_llc_or_snooping() {
    for under in every(&[NEITHER]) {
        let object = under.created(Creation::User);
        refused(under, object, CachingMode::Cached, Some(Errno::ENODEV), Rule::NoSnoop);
    }
}

#[test]
fn discrete_and_meteor_lake_have_no_set_caching() {
    for &mode in CachingMode::ALL {
        for under in every(&[DISCRETE]) {
            refused(under, under.created(Creation::User), mode, Some(Errno::ENODEV), Rule::DiscreteRefuses);
        }
        let mtl = Under::new("mtl", 6, 12);
        refused(mtl, mtl.created(Creation::User), mode, Some(Errno::EOPNOTSUPP), Rule::PatReplacesCaching);
    }
}

#[test]
fn userptr_grants_cached_silently_and_refuses_the_rest() {
    for under in every(&[LLC, NON_LLC]) {
        let object = under.created(Creation::Userptr);
        under.case(object, Event::SetCaching(CachingMode::Cached), &[], object);
        for mode in [CachingMode::None, CachingMode::Display] {
            refused(under, object, mode, Some(Errno::ENXIO), Rule::UserptrKeepsLevel);
        }
    }
}

#[test]
fn changing_the_level_of_a_shown_object_never_returns() {
    for under in every(&[LLC, BYPASS, NON_LLC]) {
        let shown = Snapshot { framebuffer: true, pinned: true, ..under.state(NONE, CPU, NO, false) };
        refused(under, shown, CachingMode::Cached, None, Rule::LevelChangeHangs);
        under.case(shown, Event::SetCaching(CachingMode::None), &[], shown);
        let away = under.step(shown, Event::UnpinDisplay).next;
        assert_eq!(under.step(away, Event::SetCaching(CachingMode::Cached)).next.level, LLC_LEVEL);
    }
    for under in every(&[WT]) {
        let shown = Snapshot { framebuffer: true, pinned: true, ..under.state(WT_LEVEL, CPU, NO, false) };
        refused(under, shown, CachingMode::None, None, Rule::LevelChangeHangs);
    }
}

#[test]
fn userptr_is_an_ordinary_object_under_linux_5_10() {
    let under = Under::new("glk", 5, 10);
    let object = Snapshot { pages: true, ..under.created(Creation::Userptr) };
    let none = Snapshot { level: NONE, coherent: Coherency::empty(), dirty: true, ..object };
    under.case(object, Event::SetCaching(CachingMode::None), &[], none);
    let wc = Snapshot { read_domains: CPU | WC, write_domain: NO, dirty: false, ..none };
    under.case(none, Event::SetDomainWc(READ), &[Action::FlushSync, Action::Barrier], wc);
    let pread = Snapshot { read_domains: WC, ..wc };
    under.case(pread, Event::Pread, &[Action::FlushBefore], pread);
    let later = Under::new("glk", 5, 14);
    let object = Snapshot { pages: true, ..later.created(Creation::Userptr) };
    refused(later, object, CachingMode::None, Some(Errno::ENXIO), Rule::UserptrKeepsLevel);
    assert_eq!(later.step(object, Event::SetDomainWc(READ)).rule, Rule::UserptrUntracked);
}

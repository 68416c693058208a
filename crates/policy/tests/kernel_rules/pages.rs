//! Acquire and release: the flushes when pages are acquired and released.

use super::*;

use Action::{FlushAfter, FlushBefore, FlushChipset, FlushSync, Wbinvd};

#[test]
fn a_fresh_non_coherent_object_is_flushed_when_its_pages_come() {
    for under in every(&[NON_LLC, NEITHER]) {
        let fresh = under.created(Creation::User);
        let rule = under.case(
            fresh,
            Event::Acquire,
            &[FlushSync],
            Snapshot { write_domain: NO, dirty: false, pages: true, ..fresh },
        );
        assert_eq!(rule, Rule::AcquireDirty);
    }
}

#[test]
fn a_fresh_cached_object_is_not_flushed_on_llc() {
    for under in every(&[LLC, WT, PAT]) {
        let fresh = under.created(Creation::User);
        let rule = under.case(fresh, Event::Acquire, &[], Snapshot { pages: true, ..fresh });
        assert_eq!(rule, Rule::AcquireCoherent);
    }
}

#[test]
fn jsl_and_ehl_flush_every_user_object_on_every_acquire() {
    for under in every(&[BYPASS]) {
        for creation in [Creation::User, Creation::Userptr] {
            let fresh = under.created(creation);
            let after = Snapshot { write_domain: NO, dirty: false, pages: true, ..fresh };
            assert_eq!(under.case(fresh, Event::Acquire, &[FlushSync], after), Rule::BypassAcquire);
        }
        let again = under.step(under.state(LLC_LEVEL, CPU, NO, false), Event::Release).next;
        assert!(!again.pages);
        assert_eq!(under.step(again, Event::Acquire).rule, Rule::BypassAcquire);
    }
}

#[test]
fn the_kernels_own_objects_are_not_flushed_on_jsl() {
    for under in every(&[BYPASS]) {
        let fresh = under.created(Creation::Internal);
        under.case(fresh, Event::Acquire, &[], Snapshot { pages: true, ..fresh });
    }
}

#[test]
fn kernels_without_the_series_leak_on_jsl() {
    // 5.10 and 5.14 lack the rule. From 5.16 to 6.0 it never applies to ordinary objects, which lacked the USER flag.
    for (major, minor) in [(5, 10), (5, 14), (5, 16), (6, 0)] {
        let under = Under::new("jsl", major, minor);
        let fresh = under.created(Creation::User);
        let rule = under.case(fresh, Event::Acquire, &[], Snapshot { pages: true, ..fresh });
        assert_eq!(rule, Rule::AcquireCoherent, "{major}.{minor}");
    }
    let under = Under::new("jsl", 5, 16);
    assert_eq!(under.step(under.created(Creation::Userptr), Event::Acquire).rule, Rule::BypassAcquire);
}

#[test]
fn the_fix_of_6_2_is_in_the_stable_series_of_5_15_and_6_1() {
    for (major, minor) in [(5, 15), (6, 1), (6, 2), (6, 3)] {
        for name in ["jsl", "ehl"] {
            let under = Under::new(name, major, minor);
            let step = under.step(under.created(Creation::User), Event::Acquire);
            assert_eq!(step.rule, Rule::BypassAcquire, "{name} {major}.{minor}");
        }
    }
    // 5.15 lacks the changes of 5.16.
    let under = Under::new("jsl", 5, 15);
    assert_eq!(under.step(under.created(Creation::Userptr), Event::Acquire).rule, Rule::AcquireCoherent);
}

#[test]
fn a_pat_index_of_userspace_counts_as_a_bypass() {
    let under = Under::new("mtl", 6, 12);
    let chosen = under.created(Creation::UserWithPat(3));
    assert_eq!(under.step(chosen, Event::Acquire).rule, Rule::BypassAcquire);
    assert_eq!(under.step(under.created(Creation::User), Event::Acquire).rule, Rule::AcquireCoherent);
}

#[test]
fn a_relevelled_object_is_flushed_at_its_next_acquire_even_on_llc() {
    for under in every(&[LLC, WT]) {
        let none = under.step(under.created(Creation::User), Event::SetCaching(CachingMode::None)).next;
        let after = Snapshot { write_domain: NO, dirty: false, pages: true, ..none };
        assert_eq!(under.case(none, Event::Acquire, &[FlushSync], after), Rule::AcquireUncachedLlc);
    }
}

#[test]
fn acquiring_present_pages_does_nothing() {
    for under in every(&[NON_LLC, LLC, BYPASS]) {
        let present = under.state(NONE, GTT, GTT, true);
        assert_eq!(under.case(present, Event::Acquire, &[], present), Rule::PagesPresent);
    }
}

#[test]
fn imports_write_all_caches_back_where_they_are_not_coherent() {
    let mtl = Under::new("mtl", 6, 12);
    for under in every(&[NON_LLC, NEITHER, BYPASS, &["dg2"]]).chain([mtl]) {
        let import = under.created(Creation::Import);
        let rule = under.case(import, Event::Acquire, &[Wbinvd], Snapshot { pages: true, ..import });
        assert_eq!(rule, Rule::ImportWbinvd);
    }
    for under in every(&[LLC, WT, &["dg1"]]) {
        let import = under.created(Creation::Import);
        let rule = under.case(import, Event::Acquire, &[], Snapshot { pages: true, ..import });
        assert_eq!(rule, Rule::ImportCoherent);
    }
}

#[test]
fn an_import_that_became_dirty_loses_the_bit_without_a_flush() {
    for under in every(&[LLC, NON_LLC]) {
        let import = under.created(Creation::Import);
        let other = if import.level == NONE { CachingMode::Cached } else { CachingMode::None };
        let dirty = under.step(import, Event::SetCaching(other)).next;
        assert!(dirty.dirty, "{}", under.name);
        let acquired = under.step(dirty, Event::Acquire);
        assert!(
            !acquired.next.dirty && !acquired.effects.actions().any(|a| a == FlushSync),
            "{}",
            under.name
        );
    }
}

#[test]
fn physical_copies_are_flushed_as_they_are_made_and_copied_back() {
    for under in every(&[&["i945gm"]]) {
        let phys = Snapshot { pages: false, ..under.created(Creation::Phys) };
        under.case(
            phys,
            Event::Acquire,
            &[FlushAfter, FlushChipset],
            Snapshot { write_domain: NO, dirty: false, pages: true, ..phys },
        );
        let back = under.step(Snapshot { pages: true, ..phys }, Event::Release);
        assert_eq!(back.effects.actions().collect::<Vec<_>>(), [FlushBefore]);
        assert!(back.next.dirty);
    }
}

#[test]
fn pages_outside_the_cpu_domain_are_flushed_at_release_without_llc() {
    for under in every(&[NON_LLC, NEITHER, PAT]) {
        for (read, write) in [(GTT, GTT), (WC, WC), (GPU, RENDER), (GTT | WC, NO)] {
            let out = under.state(NONE, read, write, false);
            let after = Snapshot { read_domains: CPU, write_domain: CPU, dirty: true, pages: false, ..out };
            assert_eq!(under.case(out, Event::Release, &[FlushSync], after), Rule::ReleaseStale);
        }
        let inside = under.state(NONE, CPU | GTT, NO, false);
        let after = Snapshot { read_domains: CPU, write_domain: CPU, dirty: true, pages: false, ..inside };
        assert_eq!(under.case(inside, Event::Release, &[], after), Rule::ReleaseCoherent);
    }
}

#[test]
fn released_pages_are_dirty_without_llc_whatever_the_level() {
    for under in every(&[NON_LLC, PAT]) {
        let cached = under.state(LLC_LEVEL, GPU, RENDER, false);
        let after = Snapshot { read_domains: CPU, write_domain: CPU, dirty: true, pages: false, ..cached };
        under.case(cached, Event::Release, &[], after);
    }
    let old = Under::new("glk", 5, 15);
    assert!(!old.step(old.state(LLC_LEVEL, GPU, RENDER, false), Event::Release).next.dirty);
}

#[test]
fn release_on_llc_flushes_nothing() {
    for under in every(&[LLC, BYPASS, WT]) {
        let none = under.state(NONE, GTT, GTT, false);
        under.case(
            none,
            Event::Release,
            &[],
            Snapshot { read_domains: CPU, write_domain: CPU, dirty: true, pages: false, ..none },
        );
        let cached = under.state(LLC_LEVEL, GPU, RENDER, false);
        under.case(
            cached,
            Event::Release,
            &[],
            Snapshot { read_domains: CPU, write_domain: CPU, pages: false, ..cached },
        );
    }
}

#[test]
fn imports_and_stolen_memory_release_without_any_change_of_domain() {
    for under in every(&[LLC, NON_LLC]) {
        let import = under.step(under.created(Creation::Import), Event::Acquire).next;
        under.case(import, Event::Release, &[], Snapshot { pages: false, ..import });
        let stolen = under.created(Creation::Stolen);
        under.case(stolen, Event::Release, &[], stolen);
    }
}

#[test]
fn internal_objects_return_to_the_cpu_domain() {
    for under in every(&[NON_LLC]) {
        let used = Snapshot {
            read_domains: GPU,
            write_domain: RENDER,
            ..under.step(under.created(Creation::Internal), Event::Acquire).next
        };
        let after = Snapshot { read_domains: CPU, write_domain: CPU, dirty: true, pages: false, ..used };
        under.case(used, Event::Release, &[], after);
    }
}

#[test]
fn discrete_objects_are_never_flushed() {
    for under in every(&[DISCRETE]) {
        for creation in [Creation::User, Creation::Local] {
            let fresh = under.created(creation);
            let acquired = under.step(fresh, Event::Acquire).next;
            under.case(fresh, Event::Acquire, &[], Snapshot { pages: true, ..fresh });
            under.case(acquired, Event::Release, &[], Snapshot { pages: false, ..acquired });
        }
    }
}

#[test]
fn linux_5_10_leaves_the_domains_of_released_internal_objects() {
    for ((major, minor), write) in [((5, 10), NO), ((5, 14), CPU)] {
        let under = Under::new("glk", major, minor);
        let held = under.step(under.created(Creation::Internal), Event::Acquire).next;
        let released = under.step(held, Event::Release).next;
        assert_eq!(released.write_domain, write, "{}", under.rules.version);
    }
}

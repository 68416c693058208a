//! pread and pwrite: partial lines, the aperture path, and objects that stay dirty.

use super::*;
use gem_coherency_policy::Errno;

use Action::{Barrier, FlushAfter, FlushBefore, WriteBarrier};

const fn pwrite(partial: bool, awake: bool) -> Event {
    Event::Pwrite { partial, awake }
}

#[test]
fn pread_of_a_clean_non_coherent_object_invalidates_each_page_first() {
    for under in every(&[NON_LLC, NEITHER]) {
        let gpu = under.state(NONE, GPU, RENDER, false);
        let rule = under.case(gpu, Event::Pread, &[FlushBefore], under.state(NONE, GPU, NO, false));
        assert_eq!(rule, Rule::PreadInvalidate);
        let gtt = under.state(NONE, WC, WC, false);
        under.case(gtt, Event::Pread, &[WriteBarrier, FlushBefore], under.state(NONE, WC, NO, false));
    }
}

#[test]
fn pread_in_the_cpu_domain_or_of_a_dirty_object_flushes_nothing() {
    for under in every(&[NON_LLC, NEITHER]) {
        for (read, write, dirty) in [(CPU, NO, false), (CPU, CPU, true)] {
            let state = under.state(NONE, read, write, dirty);
            under.case(state, Event::Pread, &[], state);
        }
        let dirty = under.state(NONE, GTT, NO, true);
        assert_eq!(under.case(dirty, Event::Pread, &[], dirty), Rule::TransferDirty);
    }
}

#[test]
fn pread_of_a_coherent_object_moves_to_the_cpu_domain() {
    for under in every(&[&["snb", "skl", "tgl"], BYPASS, WT]) {
        for level in [NONE, LLC_LEVEL] {
            let gtt = under.state(level, GTT, GTT, false);
            let step = under.step(gtt, Event::Pread);
            assert!(step.effects.actions().all(|action| !action.is_flush()), "{}", under.name);
            assert_eq!(step.next, under.state(level, GTT | CPU, NO, false));
        }
    }
}

#[test]
fn pwrite_without_pages_goes_to_the_page_cache() {
    for under in every(&[NON_LLC, NEITHER, &["skl", "tgl"], BYPASS]) {
        let fresh = under.created(Creation::User);
        for event in [pwrite(false, true), pwrite(true, false)] {
            assert_eq!(under.case(fresh, event, &[], fresh), Rule::PwritePageCache);
        }
    }
}

#[test]
fn pwrite_to_a_clean_object_that_is_not_coherent_for_write_takes_the_aperture() {
    for under in every(&[NON_LLC, NEITHER, &["skl", "tgl"], BYPASS, WT]) {
        for event in [pwrite(false, true), pwrite(true, true)] {
            let clean = under.state(NONE, CPU, NO, false);
            let rule = under.case(clean, event, &[Barrier], under.state(NONE, GTT, GTT, false));
            assert_eq!(rule, Rule::PwriteAperture);
        }
    }
}

#[test]
fn pwrite_asleep_flushes_the_touched_lines_and_partial_ones_before() {
    for under in every(&[NON_LLC, NEITHER, &["skl", "tgl"], BYPASS, WT]) {
        let outside = under.state(NONE, GTT, NO, false);
        assert_eq!(under.case(outside, pwrite(false, false), &[FlushAfter], outside), Rule::PwriteFlush);
        let rule = under.case(outside, pwrite(true, false), &[FlushBefore, FlushAfter], outside);
        assert_eq!(rule, Rule::PartialLineWrite);
        let inside = under.state(NONE, CPU, NO, false);
        under.case(inside, pwrite(true, false), &[FlushAfter], inside);
    }
}

#[test]
fn pwrite_to_a_dirty_object_flushes_nothing() {
    for under in every(&[NON_LLC, NEITHER, &["skl", "tgl"], BYPASS]) {
        let dirty = under.state(NONE, CPU, CPU, true);
        for event in [pwrite(false, true), pwrite(true, false)] {
            assert_eq!(under.case(dirty, event, &[], dirty), Rule::TransferDirty);
        }
    }
}

#[test]
fn pwrite_to_a_coherent_object_goes_through_the_cache() {
    for under in every(&[NON_LLC, &["skl", "tgl"], BYPASS, WT]) {
        let cached = under.state(LLC_LEVEL, GPU, NO, false);
        let after = under.state(LLC_LEVEL, CPU, CPU, false);
        assert_eq!(under.case(cached, pwrite(true, true), &[], after), Rule::PwriteCached);
        // A framebuffer's bytes must reach memory: through the aperture if possible.
        let shown = Snapshot { framebuffer: true, ..cached };
        assert_eq!(under.step(shown, pwrite(false, true)).rule, Rule::PwriteAperture);
        assert!(under.step(shown, pwrite(false, false)).next.dirty);
    }
}

#[test]
fn imports_take_the_aperture_and_userptr_is_refused() {
    for under in every(&[NON_LLC, &["skl"]]) {
        let import = Snapshot { pages: true, ..under.created(Creation::Import) };
        assert_eq!(under.step(import, pwrite(false, false)).rule, Rule::PwriteAperture);
        let userptr = under.created(Creation::Userptr);
        for event in [Event::Pread, pwrite(false, true)] {
            assert_eq!(
                step(under.caps, &under.rules, userptr, event).unwrap_err().errno,
                Some(Errno::EINVAL)
            );
        }
    }
}

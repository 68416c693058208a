//! The GPU's use: the flushes of execbuf, and the domains after it.

use super::*;

use Action::{FlushAsync, FlushChipset, FlushSync};

#[test]
fn coherent_for_read_never_flushes_at_execbuf() {
    for under in every(&[LLC, BYPASS, WT]) {
        for level in [NONE, LLC_LEVEL] {
            for dirty in [false, true] {
                let before = under.state(level, CPU, CPU, dirty);
                let read = under.state(level, CPU | GPU, NO, dirty);
                under.case(before, Event::Exec(READ), &[FlushChipset], read);
                let write = under.state(level, GPU, RENDER, dirty);
                under.case(before, Event::Exec(WRITE), &[FlushChipset], write);
            }
        }
    }
}

#[test]
fn clean_non_coherent_objects_are_not_flushed() {
    for under in every(&[NON_LLC, NEITHER, PAT]) {
        let clean = under.state(NONE, CPU, NO, false);
        let rule =
            under.case(clean, Event::Exec(READ), &[FlushChipset], under.state(NONE, CPU | GPU, NO, false));
        assert_eq!(rule, Rule::ExecClean);
    }
}

#[test]
fn a_first_use_acquires_before_it_looks_at_the_dirty_bit() {
    for under in every(&[NON_LLC, NEITHER]) {
        let fresh = under.created(Creation::User);
        let after = under.state(NONE, CPU | GPU, NO, false);
        assert_eq!(
            under.case(fresh, Event::Exec(READ), &[FlushSync, FlushChipset], after),
            Rule::AcquireDirty
        );
    }
}

#[test]
fn a_read_leaves_the_cpu_bit_and_a_write_takes_it() {
    for under in every(&[NON_LLC, PAT]) {
        let after_read = under.step(under.state(NONE, CPU, NO, false), Event::Exec(READ)).next;
        assert_eq!(under.step(after_read, Event::SetDomainCpu(READ)).effects.actions().count(), 0);
        let after_write = under.step(under.state(NONE, CPU, NO, false), Event::Exec(WRITE)).next;
        let back = under.step(after_write, Event::SetDomainCpu(READ));
        assert_eq!(back.effects.actions().collect::<Vec<_>>(), [FlushSync]);
    }
}

#[test]
fn the_kernel_never_looks_at_the_mocs_entry() {
    // On jsl and ehl, execbuf does not flush a dirty object, with a bypassing MOCS or without. Only the
    // acquire flushed it, so the driver must flush before a bypassing read.
    for under in every(&[BYPASS]) {
        let written = under.state(LLC_LEVEL, CPU, CPU, false);
        let rule = under.step(written, Event::Exec(READ)).rule;
        assert_eq!(rule, Rule::ExecClean);
    }
}

#[test]
fn dirty_objects_without_struct_pages_lose_the_bit_silently() {
    for under in every(&[NON_LLC]) {
        let import = Snapshot { dirty: true, pages: true, ..under.created(Creation::Import) };
        let exec = under.step(import, Event::Exec(READ));
        assert!(!exec.next.dirty && !exec.effects.actions().any(|action| action == FlushAsync));
    }
}

//! The transition table: every reachable state, event and platform.

use std::collections::BTreeSet;
use std::sync::OnceLock;

use gem_coherency::platform;
use gem_coherency::policy::Rule;
use gem_coherency::policy::kernel::{Action, Backing, Creation, Event, KernelRules, Snapshot};
use gem_coherency::vocabulary::{CacheLevel, Coherency, KernelVersion};
use gem_coherency_check::{Transition, transitions};

const CREATIONS: [Creation; 8] = [
    Creation::User,
    Creation::UserWithPat(0),
    Creation::UserWithPat(2),
    Creation::UserWithPat(3),
    Creation::Userptr,
    Creation::Import,
    Creation::Stolen,
    Creation::Local,
];

fn kernels() -> [KernelVersion; 5] {
    [(5, 10), (5, 14), (6, 1), (6, 12), (7, 3)].map(|(major, minor)| KernelVersion::new(major, minor))
}

/// Returns every row of every platform, kernel and kind of object, with eDRAM where a platform can have it.
fn rows() -> &'static [(platform::Machine, Transition)] {
    static ROWS: OnceLock<Vec<(platform::Machine, Transition)>> = OnceLock::new();
    ROWS.get_or_init(|| {
        let mut rows = Vec::new();
        for platform in platform::all() {
            for kernel in kernels().into_iter().filter(|&kernel| platform.claimed_by(kernel).is_ok()) {
                let fuses: &[bool] = if platform.name == "hsw" { &[false, true] } else { &[false] };
                for &edram in fuses {
                    let machine = platform.machine(kernel, edram);
                    let rules = KernelRules::of(kernel).unwrap();
                    for creation in CREATIONS {
                        rows.extend(
                            transitions(&machine, &rules, creation).into_iter().map(|row| (machine, row)),
                        );
                    }
                }
            }
        }
        assert!(rows.len() > 100_000, "only {} rows", rows.len());
        rows
    })
}

#[test]
fn the_kernels_invariants_hold_in_every_reachable_state() {
    for (machine, row) in rows() {
        let Ok(step) = row.outcome else { continue };
        let (name, next) = (machine.platform.name, step.next);
        let one = next.write_domain.bits().count_ones();
        assert!(one <= 1, "{name}: more than one write domain in {next:?}");
        if machine.caps.contains(platform::Caps::DISCRETE) && machine.kernel >= KernelVersion::new(6, 1) {
            assert!(!next.dirty, "{name}: dirty on a discrete device: {next:?}");
        }
        if next.pinned && next.user_pat.is_none() {
            assert!(matches!(next.level, CacheLevel::None | CacheLevel::Wt), "{name}: shown at {next:?}");
        }
        assert!(next.framebuffer || !next.pinned, "{name}: shown but no framebuffer: {next:?}");
    }
}

#[test]
fn non_llc_objects_without_pages_are_dirty() {
    // Swap-in relies on this: the next acquire flushes.
    let mut seen = 0;
    for platform in platform::all() {
        let kernel = KernelVersion::new(6, 12);
        let machine = platform.machine(kernel, false);
        if machine
            .caps
            .intersects(platform::Caps::LLC | platform::Caps::DISCRETE | platform::Caps::PAT_AT_CREATE)
        {
            continue;
        }
        for row in transitions(&machine, &KernelRules::of(kernel).unwrap(), Creation::User) {
            if !row.before.pages {
                assert!(row.before.dirty, "{}: {:?}", platform.name, row.before);
                seen += 1;
            }
        }
    }
    assert!(seen > 100, "only {seen} states without pages");
}

#[test]
fn whatever_the_cpu_wrote_without_coherency_is_dirty() {
    for (machine, row) in rows() {
        let Snapshot { backing, coherent, dirty, write_domain, .. } = row.before;
        let tracked = matches!(backing, Backing::Shmem) && row.before.user_pat.is_none();
        let cpu = write_domain.contains(gem_coherency::vocabulary::Domains::CPU);
        if tracked && cpu && !coherent.contains(Coherency::WRITE) {
            assert!(dirty, "{}: {:?}", machine.platform.name, row.before);
        }
    }
}

#[test]
fn a_flush_is_named_by_its_rule_and_no_flush_by_its_reason() {
    for (_, row) in rows() {
        let Ok(step) = row.outcome else { continue };
        let flushes: Vec<_> = step.effects.iter().filter(|effect| effect.action.is_flush()).collect();
        if let Some(first) = flushes.first() {
            assert_eq!(step.rule, first.rule, "{row:?}");
        }
    }
}

#[test]
fn every_kernel_rule_is_reached() {
    let mut reached = BTreeSet::new();
    for (_, row) in rows() {
        match row.outcome {
            Ok(step) => {
                reached.insert(step.rule);
                reached.extend(step.effects.iter().map(|effect| effect.rule));
            }
            Err(refusal) => {
                reached.insert(refusal.rule);
            }
        }
    }
    let kernel_rules = &Rule::ALL[Rule::ALL.iter().position(|&rule| rule == Rule::AcquireDirty).unwrap()..];
    // The table has no row with the copy of an old display's cursor; tests/kernel_rules tests it.
    let missing: Vec<_> =
        kernel_rules.iter().filter(|&rule| !reached.contains(rule) && *rule != Rule::PhysCopy).collect();
    assert!(missing.is_empty(), "never reached: {missing:?}");
}

#[test]
fn on_llc_only_forced_and_acquire_flushes_touch_memory() {
    let machine = platform::by_name("tgl").unwrap().machine(KernelVersion::new(6, 12), false);
    let rules = KernelRules::of(machine.kernel).unwrap();
    for row in transitions(&machine, &rules, Creation::User) {
        let Ok(step) = row.outcome else { continue };
        for effect in step.effects.iter().filter(|effect| effect.action == Action::FlushSync) {
            assert!(effect.rule == Rule::AcquireUncachedLlc, "{:?} {}: {effect:?}", row.before, row.event);
        }
    }
}

#[test]
fn events_round_trip_through_their_words() {
    for &event in Event::ALL {
        assert_eq!(event.name().parse::<Event>().unwrap(), event);
    }
    assert!("set-domain".parse::<Event>().is_err());
}

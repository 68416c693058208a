//! The decisions about the bytes of new pages.

use gem_coherency_policy::platform::by_name;
use gem_coherency_policy::policy::kernel::{Creation, KernelRules, Snapshot};
use gem_coherency_policy::policy::{Rule, needs_flush_of_import, needs_flush_of_zeroes};
use gem_coherency_policy::vocabulary::KernelVersion;

#[test]
fn zeroes_stay_dirty_only_where_nothing_flushes_or_shares_them() {
    let decide_under = |kernel, name: &str, creation| {
        let caps = by_name(name).unwrap().caps;
        let rules = KernelRules::of(kernel).unwrap();
        let fresh = Snapshot::created(caps, &rules, creation).unwrap();
        needs_flush_of_zeroes(caps, &rules, fresh).rule
    };
    let decide = |name: &str, creation| decide_under(KernelVersion::new(6, 12), name, creation);
    assert_eq!(decide("glk", Creation::User), Rule::AcquireDirty);
    assert_eq!(decide("i965gm", Creation::User), Rule::AcquireDirty);
    assert_eq!(decide("tgl", Creation::User), Rule::LlcCoherent);
    assert_eq!(decide("jsl", Creation::User), Rule::BypassAcquire);
    for unfixed in [(5, 10), (5, 14), (5, 16), (6, 0)].map(|(major, minor)| KernelVersion::new(major, minor))
    {
        assert_eq!(decide_under(unfixed, "jsl", Creation::User), Rule::ZeroesStayDirty, "{unfixed}");
        assert_eq!(decide_under(unfixed, "tgl", Creation::User), Rule::LlcCoherent, "{unfixed}");
    }
    for fixed in [KernelVersion::new(5, 15), KernelVersion::new(6, 1), KernelVersion::new(6, 2)] {
        assert_eq!(decide_under(fixed, "jsl", Creation::User), Rule::BypassAcquire, "{fixed}");
    }
    assert_eq!(decide("dg2", Creation::User), Rule::DiscreteSnoops);
    assert_eq!(decide("mtl", Creation::User), Rule::ZeroesStayDirty);
    for index in 0..=4 {
        assert_eq!(decide("mtl", Creation::UserWithPat(index)), Rule::BypassAcquire, "PAT index {index}");
    }
}

#[test]
fn the_pages_of_an_import_are_flushed_by_the_kernel_or_by_the_exporter() {
    for (name, kernel, rule) in [
        ("glk", (5, 15), Rule::ImportUntracked),
        ("glk", (5, 16), Rule::ImportWbinvd),
        ("jsl", (5, 15), Rule::ImportUntracked),
        ("jsl", (6, 12), Rule::ImportWbinvd),
        ("tgl", (5, 15), Rule::ImportCoherent),
        ("tgl", (6, 12), Rule::ImportCoherent),
        ("dg1", (5, 15), Rule::ImportCoherent),
        ("dg1", (6, 12), Rule::ImportCoherent),
        ("dg2", (6, 12), Rule::ImportWbinvd),
    ] {
        let kernel = KernelVersion::new(kernel.0, kernel.1);
        let (machine, rules) =
            (by_name(name).unwrap().machine(kernel, false), KernelRules::of(kernel).unwrap());
        let decision = needs_flush_of_import(machine.caps, &rules);
        assert_eq!(
            (decision.rule, decision.is_needed()),
            (rule, rule != Rule::ImportCoherent),
            "{name} {kernel}"
        );
    }
}

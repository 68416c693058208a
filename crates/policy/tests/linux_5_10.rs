//! What Linux 5.10 claims and refuses, and the kernels without rules.

use gem_coherency_policy::platform::{self, Call, Caps, Machine};
use gem_coherency_policy::policy::kernel::KernelRules;
use gem_coherency_policy::vocabulary::{KernelVersion, MmapMode};
use gem_coherency_policy::{Errno, Unknown};

const V5_10: KernelVersion = KernelVersion::new(5, 10);
const V6_1: KernelVersion = KernelVersion::new(6, 1);

fn machine(name: &str, kernel: KernelVersion) -> Machine {
    platform::by_name(name).unwrap().machine(kernel, false)
}

#[test]
fn linux_5_10_claims_the_platforms_up_to_rocket_lake() {
    let later = ["adls", "adlp", "dg1", "dg2", "atsm", "mtl"];
    for platform in platform::all() {
        let claimed = platform.claimed_by(V5_10);
        let unknown = Unknown::PlatformUnderKernel { driver: "i915", platform: platform.name, kernel: V5_10 };
        let want = if later.contains(&platform.name) { Err(unknown) } else { Ok(*platform) };
        assert_eq!(claimed, want);
        assert_eq!(platform.claimed_by(KernelVersion::new(5, 14)), Ok(*platform));
    }
}

#[test]
fn linux_5_10_refuses_fewer_calls() {
    let errno = |name, kernel, call| machine(name, kernel).refusal(call).map(|refusal| refusal.errno);
    for call in [Call::PreadPwrite, Call::Relocations] {
        assert_eq!(errno("rkl", V5_10, call), None);
        assert!(errno("rkl", V6_1, call).is_some());
    }
    let fixed = Call::MmapOffset(MmapMode::Fixed);
    assert_eq!(errno("glk", V5_10, fixed), Some(Errno::EINVAL));
    assert_eq!(errno("glk", V6_1, fixed), Some(Errno::ENODEV));
}

#[test]
fn kernels_whose_rules_are_not_known_are_refused() {
    for (major, minor, known) in
        [(5, 9, false), (5, 10, true), (5, 11, false), (5, 13, false), (5, 14, true), (7, 3, true)]
    {
        let version = KernelVersion::new(major, minor);
        let rules = KernelRules::of(version);
        assert_eq!(rules.is_ok(), known, "{version}");
        if let Err(unknown) = rules {
            let text = format!("kernel {version} is not supported: the rules cover 5.10, and 5.14 and later");
            assert_eq!(unknown.to_string(), text);
        }
    }
}

#[test]
fn the_explorer_alone_knows_linux_5_3_with_the_rules_of_5_10_and_a_table_that_bypasses() {
    let v5_3 = KernelRules::FIRST_BYPASS;
    assert!(KernelRules::of(v5_3).is_err());
    let (old, v5_10) = (KernelRules::for_search(v5_3).unwrap(), KernelRules::of(V5_10).unwrap());
    assert_eq!(KernelRules { version: V5_10, bypass_entries: false, ..old }, v5_10);
    assert!(old.bypass_entries);
    assert_eq!(KernelRules::for_search(V5_10), Ok(v5_10));
    for unknown in [(5, 2), (5, 4), (5, 9), (5, 13)].map(|(major, minor)| KernelVersion::new(major, minor)) {
        assert!(KernelRules::for_search(unknown).is_err(), "{unknown}");
    }
}

#[test]
fn the_first_release_of_a_series_lacks_what_its_stable_releases_got() {
    for (first, usual) in [("5.15.0", "5.15"), ("6.1.0", "6.1")] {
        let [first, usual] = [first, usual].map(|text| KernelRules::of(text.parse().unwrap()).unwrap());
        assert!(!first.shmem_is_user && usual.shmem_is_user, "{usual:?}");
        assert!(first.bypass_acquire_flush && usual.bypass_acquire_flush, "{first:?}");
        assert!(!first.discrete_never_dirty, "{first:?}");
    }
    let same = KernelVersion::first_of(6, 12);
    assert_eq!(same, KernelVersion::new(6, 12));
}

#[test]
fn linux_5_10_has_write_through_on_haswell_and_broadwell_only() {
    let has_wt =
        |name: &str, kernel| platform::by_name(name).unwrap().machine(kernel, true).caps.contains(Caps::WT);
    for (name, old) in [("hsw", true), ("bdw", true), ("skl", false), ("tgl", false)] {
        assert_eq!((has_wt(name, V5_10), has_wt(name, V6_1)), (old, true), "{name}");
    }
}

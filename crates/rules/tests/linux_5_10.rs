//! What Linux 5.10 claims and refuses, compared with its source, and the kernels that have no rules.

use gem_coherency_rules::platform::{self, Call, Caps, Machine};
use gem_coherency_rules::policy::kernel::KernelRules;
use gem_coherency_rules::vocabulary::{KernelVersion, MmapMode};
use gem_coherency_rules::{Errno, Unknown};

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
        let unknown = Unknown::PlatformUnderKernel { platform: platform.name, kernel: V5_10 };
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
fn linux_5_10_has_write_through_on_haswell_and_broadwell_only() {
    let has_wt =
        |name: &str, kernel| platform::by_name(name).unwrap().machine(kernel, true).caps.contains(Caps::WT);
    for (name, old) in [("hsw", true), ("bdw", true), ("skl", false), ("tgl", false)] {
        assert_eq!((has_wt(name, V5_10), has_wt(name, V6_1)), (old, true), "{name}");
    }
}

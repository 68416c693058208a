//! The facts that a device reports about itself, and what follows from them.

use gem_coherency_policy::Errno;

use crate::backend::{Drm, Param};
use crate::error::Result;
use crate::platform::{Call, Caps, Driver, Facts, Machine, Refusal};
use crate::policy::Rule;
use crate::policy::kernel::KernelRules;
use crate::policy::needs_flush_of_import;
use crate::vocabulary::MmapMode;

/// A map mode, and whether the platform has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MapModeInfo {
    /// The mode.
    pub mode: MmapMode,
    /// The reason why created objects cannot be mapped in this mode; `None` if they can.
    pub refusal: Option<Refusal>,
}

/// A surprising property of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Quirk {
    /// A short name, for programs.
    pub name: &'static str,
    /// A description, in one sentence.
    pub text: &'static str,
}

/// Asks the device for its facts.
///
/// # Errors
/// CHIPSET_ID's. Other facts that the device does not report are `None`.
pub(super) fn facts(drm: &dyn Drm) -> Result<Facts> {
    let chipset = drm.param(Param::ChipsetId)?;
    let flag = |param| drm.param(param).ok().map(|value| value != 0);
    Ok(Facts {
        // An ID that does not fit is mapped to 0, which is unknown.
        chipset_id: u16::try_from(chipset).unwrap_or(0),
        has_llc: flag(Param::HasLlc),
        has_wt: flag(Param::HasWt),
        coherent_ggtt: flag(Param::MmapGttCoherent),
    })
}

/// Returns every map mode, and whether `machine` has it.
pub(super) fn map_modes(machine: &Machine) -> Vec<MapModeInfo> {
    let info = |&mode| MapModeInfo { mode, refusal: machine.refusal(Call::MmapOffset(mode)) };
    MmapMode::ALL.iter().map(info).collect()
}

/// Those of every device of xe.
const XE_QUIRKS: [Quirk; 3] = [
    Quirk {
        name: "caching-at-creation",
        text: "how the CPU maps an object is chosen when it is created, how the GPU caches it when it is bound",
    },
    Quirk {
        name: "waits-of-its-own",
        text: "there is no GEM_WAIT: the library waits for what it submitted, and a driver for its own submissions",
    },
    Quirk {
        name: "foreign-not-mapped",
        text: "another driver's object is not mapped: a load would raise SIGBUS",
    },
];

/// Returns the surprising properties of `machine` under `rules`.
pub(super) fn quirks(machine: &Machine, rules: &KernelRules) -> Vec<Quirk> {
    if machine.driver == Driver::Xe {
        return XE_QUIRKS.to_vec();
    }
    let has = |cap| machine.caps.contains(cap);
    let integrated = !has(Caps::DISCRETE);
    let no_llc = integrated && !has(Caps::LLC);
    let bypass = has(Caps::LLC_BYPASS_MOCS) && has(Caps::LLC);
    let no_set_caching =
        machine.refusal(Call::SetCaching).is_some_and(|refusal| refusal.errno == Errno::EOPNOTSUPP);
    let all = [
        (bypass, "llc-bypass-mocs", "reads with MOCS entries 16 and 17 bypass the LLC at any level"),
        (
            bypass && !(rules.bypass_acquire_flush && rules.shmem_is_user),
            "unflushed-zeroes",
            "this kernel leaves the zeroes of new pages in the cache: a bypassing read returns the previous \
             owner's data",
        ),
        (
            no_llc && has(Caps::SNOOP) && has(Caps::APERTURE),
            "gtt-snooped-faults",
            "a snooped BO is not mapped through the aperture: the first access would raise SIGBUS",
        ),
        (
            has(Caps::APERTURE) && !has(Caps::COHERENT_GGTT),
            "aperture-round-trip",
            "a fence alone does not drain stores through the aperture: a read through it does",
        ),
        (
            needs_flush_of_import(machine.caps, rules).rule == Rule::ImportWbinvd,
            "import-wbinvd",
            "the kernel executes wbinvd for an import's pages: every cache of the machine is written back",
        ),
        (
            machine.refusal(Call::SetCaching).is_none(),
            "level-change-hangs",
            "SET_CACHING to another level blocks while the BO is on screen: the library refuses it",
        ),
        (
            no_set_caching,
            "caching-at-creation",
            "caching is a PAT index, chosen at creation: SET_CACHING does not exist",
        ),
        (
            !integrated,
            "kernel-decides-caching",
            "the kernel decides caching and mapping: the only map mode is fixed, and there is no caching mode",
        ),
        (
            integrated && !machine.caps.intersects(Caps::LLC | Caps::SNOOP),
            "no-snooping",
            "the GPU neither shares nor snoops the CPU's caches: the caching mode cached is refused",
        ),
    ];
    all.into_iter().filter(|(here, ..)| *here).map(|(_, name, text)| Quirk { name, text }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::platform::by_name;
    use crate::vocabulary::KernelVersion;

    #[track_caller]
    fn case(platform: &str, kernel: KernelVersion, expected: &[&str]) {
        let machine = by_name(platform).unwrap().machine(kernel, false);
        let rules = KernelRules::of(kernel).unwrap();
        let names: Vec<_> = quirks(&machine, &rules).iter().map(|quirk| quirk.name).collect();
        assert_eq!(names, expected, "{platform}");
    }

    #[test]
    fn quirks_are_those_of_the_platform_and_the_kernel() {
        let (old, new) = (KernelVersion::new(5, 14), KernelVersion::new(6, 12));
        let atom = ["gtt-snooped-faults", "aperture-round-trip", "import-wbinvd", "level-change-hangs"];
        case("glk", new, &atom);
        case("jsl", new, &["llc-bypass-mocs", "aperture-round-trip", "import-wbinvd", "level-change-hangs"]);
        case(
            "jsl",
            old,
            &["llc-bypass-mocs", "unflushed-zeroes", "aperture-round-trip", "level-change-hangs"],
        );
        case("skl", new, &["level-change-hangs"]);
        case("mtl", new, &["import-wbinvd", "caching-at-creation"]);
        case("dg1", new, &["kernel-decides-caching"]);
        case("i965gm", new, &["import-wbinvd", "level-change-hangs", "no-snooping"]);
    }

    #[test]
    fn a_discrete_device_has_the_mode_fixed_only() {
        let machine = by_name("dg2").unwrap().machine(KernelVersion::new(6, 12), false);
        let allowed: Vec<_> =
            map_modes(&machine).iter().filter(|it| it.refusal.is_none()).map(|it| it.mode).collect();
        assert_eq!(allowed, [MmapMode::Fixed]);
    }
}

//! The platform tables against i915's facts, typed a second time.

use std::collections::HashSet;

use gem_coherency_policy::platform::{self, Call, CapSource, Caps, Fact, Facts, Machine, Ppgtt};
use gem_coherency_policy::vocabulary::{KernelVersion, MmapMode};
use gem_coherency_policy::{Errno, Excerpt, Unknown};

const V6_1: KernelVersion = KernelVersion::new(6, 1);
const V6_4: KernelVersion = KernelVersion::new(6, 4);
const V6_5: KernelVersion = KernelVersion::new(6, 5);
const V6_12: KernelVersion = KernelVersion::new(6, 12);

fn machine(name: &str, kernel: KernelVersion) -> Machine {
    platform::by_name(name).unwrap().machine(kernel, false)
}

// PCI IDs

#[test]
fn i915_claims_365_ids_and_only_ivy_bridges_016a_stands_twice() {
    let rows = platform::ids();
    assert_eq!(rows.len(), 365);
    let mut seen = HashSet::new();
    let twice: Vec<u16> = rows.iter().map(|row| row.id).filter(|id| !seen.insert(*id)).collect();
    assert_eq!(twice, [0x016a]);
    assert!(rows.iter().all(|row| row.id_macro.starts_with("INTEL_") && row.id_macro.contains("_IDS")));
}

/// i915 distinguishes the Quanta board with the subsystem 152d:8990 from other 016a by an earlier row. Both
/// are Ivy Bridge, so the ID alone suffices.
#[test]
fn the_quanta_ivy_bridge_is_an_ivy_bridge() {
    let rows: Vec<_> = platform::ids().iter().filter(|row| row.id == 0x016a).collect();
    assert_eq!(rows[0].subsystem, Some((0x152d, 0x8990)));
    assert_eq!((rows[0].id_macro, rows[1].id_macro), ("INTEL_IVB_Q_IDS", "INTEL_IVB_D_GT2_IDS"));
    assert_eq!((rows[0].platform, rows[1].platform), (&platform::IVB, &platform::IVB));
    assert_eq!(platform::row_by_id(0x016a).unwrap().subsystem, None);
    assert_eq!(platform::ids().iter().filter(|row| row.subsystem.is_some()).count(), 1);
}

#[test]
fn every_platform_has_ids_and_its_example_is_one_of_them() {
    for platform in platform::all() {
        assert!(platform.ids().any(|row| row.id == platform.example_id), "{platform}");
        assert_eq!(platform::by_id(platform.example_id).unwrap(), *platform);
    }
    assert_eq!(platform::all().len(), 38);
    let unlisted = platform::ids().iter().find(|row| !platform::all().contains(&row.platform));
    assert_eq!(unlisted.map(|row| row.id), None);
}

#[test]
fn ids_mean_the_platforms_that_i915_takes_them_for() {
    let samples = [
        (0x3577, "i830"),
        (0x358e, "i85x"),
        (0xa001, "pnv"),
        (0x2e92, "g45"),
        (0x0042, "ilk"),
        (0x010a, "snb"),
        (0x0f33, "vlv"),
        (0x0d26, "hsw"),
        (0x162b, "bdw"),
        (0x22b0, "chv"),
        (0x193b, "skl"),
        (0x1a85, "bxt"),
        (0x3184, "glk"),
        (0x87c0, "kbl"),
        (0x87ca, "cfl"),
        (0x3ea0, "cfl"),
        (0x9bca, "cml"),
        (0x8a5a, "icl"),
        (0x4571, "ehl"),
        (0x4e71, "jsl"),
        (0x9a78, "tgl"),
        (0x4c9a, "rkl"),
        (0xa788, "adls"),
        (0x46d0, "adlp"),
        (0xa7a0, "adlp"),
        (0xa7a1, "adlp"),
        (0x4908, "dg1"),
        (0x5690, "dg2"),
        (0x56c2, "atsm"),
        (0x7dd5, "mtl"),
        (0x7d67, "mtl"),
        (0xb640, "mtl"),
    ];
    for (id, name) in samples {
        assert_eq!(platform::by_id(id).unwrap().name, name, "{id:04x}");
    }
    assert_eq!(platform::row_by_id(0x4905).unwrap().id_macro, "INTEL_DG1_IDS");
}

#[test]
fn an_unknown_id_is_an_error_and_never_the_nearest_platform() {
    // 0bd5 is Ponte Vecchio; 4e60 lies between two Jasper Lakes.
    for id in [0x0000, 0x0bd5, 0x4e60, 0xffff] {
        assert_eq!(platform::by_id(id), Err(Unknown::DeviceId { id }));
    }
    assert_eq!(platform::by_name("4e60"), Err(Unknown::DeviceId { id: 0x4e60 }));
}

#[test]
fn a_platform_of_xe_is_an_error_that_names_it() {
    let lunar_lake = Unknown::DrivenByXe { platform: "Lunar Lake" };
    assert_eq!(platform::by_id(0x64a0), Err(lunar_lake.clone()));
    for name in ["lnl", "LNL", "Lunar Lake", "lunar-lake", "64a0", "8086:64a0"] {
        assert_eq!(platform::by_name(name), Err(lunar_lake.clone()));
    }
    assert_eq!(lunar_lake.to_string(), "Lunar Lake is driven by xe, and these rules are those of i915");
    // The twin: what i915 claims is not xe's.
    let claimed = platform::ids().iter().filter(|row| platform::by_id(row.id).is_err()).count();
    assert_eq!(claimed, 0);
}

// Names

#[test]
fn a_platform_is_found_by_name_alias_title_and_id_in_any_case() {
    for platform in platform::all() {
        for name in platform.aliases.iter().chain([&platform.name, &platform.title]) {
            assert_eq!(platform::by_name(name).unwrap(), *platform, "{name}");
        }
    }
    let samples = [
        ("apl", "bxt"),
        ("byt", "vlv"),
        ("bsw", "chv"),
        ("ADL-N", "adlp"),
        ("rplp", "adlp"),
        ("rpls", "adls"),
        ("arl", "mtl"),
        ("whl", "cfl"),
        ("JSL", "jsl"),
        ("Jasper Lake", "jsl"),
        ("0x4e61", "jsl"),
        ("4E61", "jsl"),
        ("8086:4571", "ehl"),
        ("0x0046", "ilk"),
    ];
    for (word, name) in samples {
        assert_eq!(platform::by_name(word).unwrap().name, name, "{word}");
    }
}

#[test]
fn no_name_means_two_platforms() {
    let names = platform::all().iter().flat_map(|p| p.aliases.iter().chain([&p.name]));
    let mut seen = HashSet::new();
    let twice: Vec<_> = names.filter(|name| !seen.insert(**name)).collect();
    assert!(twice.is_empty(), "{twice:?}");
}

#[test]
fn an_unknown_name_is_an_error_that_names_it() {
    for name in ["", "pvc", "conservative", "4e6", "0x", "0x4e610", "jslx", "-", "8086:", "ＪＳＬ"] {
        let unknown = platform::by_name(name).unwrap_err();
        assert!(
            matches!(unknown, Unknown::Platform { name: known, .. } if known == Excerpt::new(name)),
            "{unknown}"
        );
    }
    let text = |name| platform::by_name(name).unwrap_err().to_string();
    assert_eq!(
        text("jslx"),
        "unknown platform 'jslx'; did you mean jsl? (expected a name such as jsl, or a PCI ID such as 0x4e61)"
    );
    // It is one of xe, and by its right name the error says so.
    assert!(text("lnll").starts_with("unknown platform 'lnll'; did you mean lnl?"), "{}", text("lnll"));
    assert_eq!(
        text("qwert"),
        "unknown platform 'qwert' (expected a name such as jsl, or a PCI ID such as 0x4e61)"
    );
}

// Capabilities

/// Columns: LLC, SNOOP, coherent GGTT, discrete, aperture; then whether i915 probes eDRAM.
const CAPABILITIES: &[(&str, &str, bool)] = &[
    ("i830 i845g i85x i865g i915g", "-S--A", false),
    ("i915gm i945g i945gm g33 pnv g45 gm45 ilk", "-SC-A", false),
    ("i965g i965gm", "--C-A", false),
    ("snb ivb", "L-C-A", false),
    ("vlv chv", "-S--A", false),
    ("hsw bdw skl kbl cfl cml", "L-C-A", true),
    ("bxt glk", "-S--A", true),
    ("icl ehl jsl tgl rkl adls adlp", "L---A", true),
    ("dg1 dg2 atsm", "-S-D-", true),
    ("mtl", "-S---", true),
];

#[test]
fn capabilities_are_i915s() {
    let mut seen = 0;
    for (names, columns, edram_probed) in CAPABILITIES {
        for name in names.split(' ') {
            let machine = machine(name, V6_12);
            let letter = |cap, letter| if machine.caps.contains(cap) { letter } else { '-' };
            let have: String = [
                letter(Caps::LLC, 'L'),
                letter(Caps::SNOOP, 'S'),
                letter(Caps::COHERENT_GGTT, 'C'),
                letter(Caps::DISCRETE, 'D'),
                letter(Caps::APERTURE, 'A'),
            ]
            .iter()
            .collect();
            assert_eq!(have, *columns, "{name}");
            assert_eq!(machine.platform.edram_probed, *edram_probed, "{name}");
            let sold = ["hsw", "bdw", "skl", "kbl", "cfl"].contains(&name);
            assert_eq!(machine.platform.has_edram_parts(), sold, "{name}");
            seen += 1;
        }
    }
    assert_eq!(seen, platform::all().len());
}

#[track_caller]
fn only(cap: Caps, kernel: KernelVersion, names: &str) {
    for platform in platform::all() {
        let want = names.split(' ').any(|name| name == platform.name);
        assert_eq!(platform.machine(kernel, false).caps.contains(cap), want, "{platform} {cap:?} {kernel}");
    }
}

#[test]
fn some_platforms_have_extra_capabilities() {
    only(Caps::LLC_BYPASS_MOCS, V6_1, "jsl ehl");
    only(Caps::LLC_BYPASS_MOCS, V6_12, "jsl ehl");
    only(Caps::DG1, V6_12, "dg1");
    only(Caps::GEN12, V6_12, "tgl rkl adls adlp dg1 dg2 atsm mtl");
    only(Caps::PAT_AT_CREATE, V6_4, "");
    only(Caps::PAT_AT_CREATE, V6_5, "mtl");
    only(Caps::WT, V6_12, "");
}

#[test]
fn meteor_lake_loses_llc_in_6_5_and_its_aperture_by_6_12() {
    for (kernel, llc, aperture) in
        [(V6_1, true, true), (V6_4, true, true), (V6_5, false, true), (V6_12, false, false)]
    {
        let caps = machine("mtl", kernel).caps;
        assert_eq!((caps.contains(Caps::LLC), caps.contains(Caps::APERTURE)), (llc, aperture), "{kernel}");
    }
    for platform in platform::all().iter().filter(|p| p.name != "mtl") {
        assert_eq!(platform.machine(V6_1, true).caps, platform.machine(V6_12, true).caps, "{platform}");
    }
}

#[test]
fn wt_needs_edram_where_i915_looks_for_it() {
    let with_edram = |name| platform::by_name(name).unwrap().machine(V6_12, true).caps.contains(Caps::WT);
    assert!(with_edram("hsw") && with_edram("skl"));
    assert!(!with_edram("ivb") && !with_edram("vlv") && !with_edram("chv"));
}

#[test]
fn page_tables_and_local_pages_are_i915s() {
    let ppgtt = |name| platform::by_name(name).unwrap().ppgtt;
    assert_eq!(ppgtt("ilk"), Ppgtt::None);
    assert_eq!(ppgtt("hsw"), Ppgtt::Aliasing { bits: 31 });
    assert_eq!(
        [ppgtt("chv"), ppgtt("jsl"), ppgtt("dg1"), ppgtt("skl")],
        [32, 36, 47, 48].map(|bits| Ppgtt::Full { bits })
    );
    let local = |name| platform::by_name(name).unwrap().local_page_bytes;
    assert_eq!(
        [local("dg1"), local("dg2"), local("atsm"), local("mtl")],
        [Some(4096), Some(65536), Some(65536), None]
    );
}

#[test]
fn the_conservative_platform_excuses_no_flush() {
    let caps = platform::CONSERVATIVE.machine(V6_12, true).caps;
    assert_eq!(caps, Caps::LLC_BYPASS_MOCS);
    assert!(!platform::all().contains(&&platform::CONSERVATIVE));
}

// Refusals

const DISCRETE: &str = "dg1 dg2 atsm";
const GEN12_BUT_TGL: &str = "rkl adls adlp dg1 dg2 atsm mtl";
const GEN6_TO_9: &str = "snb ivb vlv hsw bdw chv skl bxt glk kbl cfl cml";
const GEN11_ON: &str = "icl ehl jsl tgl rkl adls adlp dg1 dg2 atsm mtl";
const GEN2_TO_5: &str = "i830 i845g i85x i865g i915g i915gm i945g i945gm g33 pnv i965g i965gm g45 gm45 ilk";

/// Returns the platforms that refuse `call`, with the errno, by kernel; all others accept it.
fn refused(call: Call, kernel: KernelVersion) -> Vec<(Errno, &'static str)> {
    use MmapMode::{Fixed, Gtt, Uc, Wb, Wc};
    let new = kernel == V6_12;
    match call {
        Call::SetCaching if new => vec![(Errno::ENODEV, DISCRETE), (Errno::EOPNOTSUPP, "mtl")],
        Call::SetCachingCached if new => {
            vec![(Errno::ENODEV, DISCRETE), (Errno::EOPNOTSUPP, "mtl"), (Errno::ENODEV, "i965g i965gm")]
        }
        Call::SetCaching => vec![(Errno::ENODEV, DISCRETE)],
        Call::SetCachingCached => vec![(Errno::ENODEV, DISCRETE), (Errno::ENODEV, "i965g i965gm")],
        Call::GetCaching | Call::SetDomain | Call::MmapOffset(Wb | Wc | Uc) => {
            vec![(Errno::ENODEV, DISCRETE)]
        }
        Call::MmapLegacy => vec![(Errno::EOPNOTSUPP, DISCRETE), (Errno::EOPNOTSUPP, "mtl")],
        Call::PreadPwrite => vec![(Errno::EOPNOTSUPP, GEN12_BUT_TGL)],
        Call::Relocations => vec![(Errno::EINVAL, GEN12_BUT_TGL)],
        Call::MmapOffset(Gtt) if new => vec![(Errno::ENODEV, DISCRETE), (Errno::ENODEV, "mtl")],
        Call::MmapOffset(Gtt) => vec![(Errno::ENODEV, DISCRETE)],
        Call::MmapOffset(Fixed) => vec![
            (Errno::ENODEV, GEN2_TO_5),
            (Errno::ENODEV, GEN6_TO_9),
            (Errno::ENODEV, "icl ehl jsl tgl rkl adls adlp mtl"),
        ],
        Call::Userptr => vec![(Errno::ENODEV, "i965g i965gm")],
        Call::UserptrReadOnly => {
            vec![(Errno::ENODEV, GEN2_TO_5), (Errno::ENODEV, "snb ivb hsw"), (Errno::ENODEV, GEN11_ON)]
        }
        Call::CreateWithPat if new => vec![
            (Errno::ENODEV, GEN2_TO_5),
            (Errno::ENODEV, GEN6_TO_9),
            (Errno::ENODEV, "icl ehl jsl tgl rkl adls adlp dg1 dg2 atsm"),
        ],
        Call::CreateWithPat => {
            vec![(Errno::EINVAL, GEN2_TO_5), (Errno::EINVAL, GEN6_TO_9), (Errno::EINVAL, GEN11_ON)]
        }
        Call::ExecSecure => vec![(Errno::EPERM, GEN6_TO_9), (Errno::ENODEV, GEN11_ON)],
        Call::Tiling if new => vec![(Errno::EOPNOTSUPP, DISCRETE), (Errno::EOPNOTSUPP, "mtl")],
        Call::Tiling => vec![(Errno::EOPNOTSUPP, DISCRETE)],
    }
}

#[test]
fn platforms_refuse_exactly_i915s_refusals() {
    let mut compared = 0;
    for (kernel, &call) in [V6_1, V6_12].into_iter().flat_map(|k| Call::ALL.iter().map(move |call| (k, call)))
    {
        let table = refused(call, kernel);
        for platform in platform::all() {
            let names = |list: &str| list.split(' ').any(|name| name == platform.name);
            let want = table.iter().find(|(_, list)| names(list)).map(|(errno, _)| *errno);
            let have = platform.machine(kernel, false).refusal(call);
            assert_eq!(have.map(|refusal| refusal.errno), want, "{platform} {kernel} {call:?}");
            assert!(have.is_none_or(|refusal| !refusal.why.is_empty() && !refusal.source.is_empty()));
            compared += 1;
        }
    }
    assert_eq!(compared, 2 * Call::ALL.len() * platform::all().len());
    let every_name = [GEN2_TO_5, GEN6_TO_9, GEN11_ON].iter().flat_map(|list| list.split(' ')).count();
    assert_eq!(every_name, platform::all().len(), "the lists above name every platform");
}

#[test]
fn set_pat_and_set_caching_change_places_in_6_5() {
    let errno = |name, kernel, call| machine(name, kernel).refusal(call).map(|refusal| refusal.errno);
    assert_eq!(errno("mtl", V6_4, Call::SetCaching), None);
    assert_eq!(errno("mtl", V6_5, Call::SetCaching), Some(Errno::EOPNOTSUPP));
    assert_eq!(errno("mtl", V6_4, Call::CreateWithPat), Some(Errno::EINVAL));
    assert_eq!(errno("mtl", V6_5, Call::CreateWithPat), None);
}

// Facts that a device reports

fn facts(chipset_id: u16) -> Facts {
    Facts { chipset_id, has_llc: None, has_wt: None, coherent_ggtt: None }
}

#[test]
fn a_device_that_agrees_gives_no_disagreement() {
    let told =
        Facts { has_llc: Some(true), has_wt: Some(false), coherent_ggtt: Some(false), ..facts(0x4e61) };
    let machine = Machine::from_facts(&told, V6_12).unwrap();
    assert_eq!(machine.disagreements().collect::<Vec<_>>(), []);
    assert_eq!(machine.caps, platform::JSL.machine(V6_12, false).caps);
    assert_eq!(machine.reported, Caps::LLC | Caps::WT | Caps::COHERENT_GGTT);
}

#[test]
fn a_devices_report_overrides_the_table_and_is_recorded() {
    let told =
        Facts { has_llc: Some(false), has_wt: Some(false), coherent_ggtt: Some(true), ..facts(0x4e61) };
    let machine = Machine::from_facts(&told, V6_12).unwrap();
    assert!(!machine.caps.contains(Caps::LLC) && machine.caps.contains(Caps::COHERENT_GGTT));
    let told: Vec<String> = machine.disagreements().map(|it| it.to_string()).collect();
    assert_eq!(
        told,
        ["HAS_LLC: the table says 1, the device 0", "MMAP_GTT_COHERENT: the table says 0, the device 1"]
    );
}

#[test]
fn wt_is_a_disagreement_only_where_i915_does_not_look_for_edram() {
    let wt = |id| Machine::from_facts(&Facts { has_wt: Some(true), ..facts(id) }, V6_12).unwrap();
    let haswell = wt(0x0d26);
    assert!(haswell.caps.contains(Caps::WT) && haswell.disagreements().count() == 0);
    let ivy_bridge = wt(0x0166);
    assert!(ivy_bridge.caps.contains(Caps::WT));
    assert_eq!(ivy_bridge.disagreements().map(|it| it.fact).collect::<Vec<_>>(), [Fact::HasWt]);
}

#[test]
fn a_device_with_an_unknown_id_is_an_error() {
    assert_eq!(Machine::from_facts(&facts(0x4e60), V6_12), Err(Unknown::DeviceId { id: 0x4e60 }));
}

#[test]
fn every_capability_says_where_it_is_known_from() {
    assert_eq!(
        Caps::DOCS.iter().fold(Caps::empty(), |all, (cap, ..)| all | *cap),
        Caps::all(),
        "every capability has its line"
    );
    let source = |machine: &Machine, name: &str| {
        machine
            .caps_with_sources()
            .find(|fact| fact.name == name)
            .map(|fact| (fact.set, fact.source))
            .unwrap()
    };
    let jsl = machine("jsl", V6_12);
    assert_eq!(source(&jsl, "LLC"), (true, CapSource::Table("i915_pci.c: jsl_info")));
    let (bypass, place) = source(&jsl, "LLC_BYPASS_MOCS");
    assert!(bypass && place.to_string().contains("i915_gem_object_can_bypass_llc"));
    assert!(matches!(source(&jsl, "WT"), (false, CapSource::Fuse(_))));
    assert!(matches!(source(&machine("ivb", V6_12), "WT"), (false, CapSource::Table(_))));
    assert!(matches!(source(&machine("mtl", V6_1), "LLC"), (true, CapSource::Kernel(_))));
    assert!(matches!(source(&machine("mtl", V6_12), "LLC"), (false, CapSource::Table(_))));
    let told = Machine::from_facts(&Facts { has_llc: Some(true), ..facts(0x4e61) }, V6_12).unwrap();
    assert_eq!(source(&told, "LLC"), (true, CapSource::Device(Fact::HasLlc)));
    assert_eq!(source(&told, "LLC").1.to_string(), "GETPARAM HAS_LLC");
}

#[test]
fn the_cursor_of_the_945gm_is_that_of_another_display_after_6_12() {
    let cursor = |name: &str, kernel| platform::by_name(name).unwrap().machine(kernel, false).cursor();
    let (v6_12, v7_2) = (KernelVersion::new(6, 12), KernelVersion::new(7, 2));
    assert_eq!((cursor("i945gm", v6_12), cursor("i945gm", v7_2)), ((256, 256), (64, 64)));
    assert_eq!((cursor("i945g", v6_12), cursor("i945g", v7_2)), ((256, 256), (256, 256)));
}

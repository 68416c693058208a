//! A device of xe in the terms of the driver rules: the library tracks objects by [`Device::machine`], and must require what
//! [`Device::needs_flush`] requires.

use gem_coherency_policy::platform::{Call, Driver};
use gem_coherency_policy::policy::{self, Path, driver};
use gem_coherency_policy::vocabulary::{Access, Agent, CacheLevel, KernelVersion, MmapMode, MocsClass};
use gem_coherency_policy::xe::{
    self, Bind, CpuCaching, Create, Device, LOCAL, Memory, Rule, SYSTEM, Verdict, When,
};

/// What is done to the GPU's caches is a batch's work; the library's table has no such verdict.
const BY_BATCH: [Rule; 2] = [Rule::TransientOnly, Rule::GpuLinesShown];

/// Every device, under every kernel that lists it.
fn devices() -> Vec<Device> {
    let kernels = [KernelVersion::new(6, 12), KernelVersion::new(7, 2), KernelVersion::new(7, 3)];
    let of = |kernel| xe::all().iter().filter_map(move |platform| platform.device(kernel).ok());
    kernels.into_iter().flat_map(of).collect()
}

/// The path of an agent to an object whose CPU's side is `caching`.
fn path(device: &Device, agent: Agent, caching: CpuCaching) -> Path {
    match agent {
        Agent::Cpu if device.platform.discrete => Path::Cpu(MmapMode::Fixed),
        Agent::Cpu => Path::Cpu(if caching == CpuCaching::Wb { MmapMode::Wb } else { MmapMode::Wc }),
        Agent::Gpu => Path::Gpu(MocsClass::PageTable),
        Agent::Display => Path::Display,
    }
}

fn table(device: &Device, level: CacheLevel, caching: CpuCaching, from: Agent, to: Agent) -> policy::Verdict {
    let caps = device.machine().caps;
    let (from, to) = (path(device, from, caching), path(device, to, caching));
    let flush = driver::needs_flush(caps, level, from, to, Access::Read);
    let invalidate = driver::needs_invalidate(caps, level, from, to, Access::Read);
    flush.stronger(invalidate).verdict
}

/// The paths of an access after a write by another agent.
const PAIRS: [(Agent, Agent); 4] = [
    (Agent::Cpu, Agent::Gpu),
    (Agent::Gpu, Agent::Cpu),
    (Agent::Cpu, Agent::Display),
    (Agent::Gpu, Agent::Display),
];

/// Returns an object of each caching, in each memory.
fn objects(device: &Device) -> Vec<xe::Object> {
    let mut kinds = vec![Create::new(65536, CpuCaching::Wb), Create::new(65536, CpuCaching::Wc)];
    if device.platform.discrete {
        let wc = Create::new(65536, CpuCaching::Wc);
        kinds.extend([LOCAL, LOCAL | SYSTEM].map(|placement| Create { placement, ..wc }));
    }
    kinds.iter().map(|create| device.create(create).unwrap()).collect()
}

/// Returns what the library does for a decision of xe; `None` for what it does not decide.
fn done_by_library(decision: xe::Decision) -> Option<policy::Verdict> {
    let of_others = [Rule::CannotBeBound, Rule::NoDisplay];
    (!of_others.contains(&decision.rule) && !BY_BATCH.contains(&decision.rule)).then(|| {
        match decision.verdict {
            Verdict::NotNeeded => policy::Verdict::NotNeeded,
            Verdict::Drain => policy::Verdict::Drain,
            Verdict::Flush => policy::Verdict::Flush,
            Verdict::Refused => policy::Verdict::Refused,
            Verdict::FlushGpu => panic!("{decision:?}"),
        }
    })
}

/// Returns how many decisions were compared, and those that differ.
fn compare(level_of: impl Fn(&Device, &xe::Object, u16) -> CacheLevel) -> (usize, Vec<String>) {
    let (mut compared, mut differ) = (0, Vec::new());
    for device in devices() {
        let name = device.platform.name();
        for object in objects(&device) {
            let caching = object.caching.unwrap();
            for (pat, _) in device.pat.indices() {
                let level = level_of(&device, &object, pat);
                for (from, to) in PAIRS {
                    let xe = device.needs_flush(Memory::Object(&object), pat, from, to, When::AfterFence);
                    let Some(expected) = done_by_library(xe) else { continue };
                    compared += 1;
                    let said = table(&device, level, caching, from, to);
                    // The rules of i915 do not know where a snooped write of the GPU's ends. SCANOUT refuses such an object.
                    let more =
                        caching == CpuCaching::Wb && to == Agent::Display && said == policy::Verdict::Flush;
                    if said != expected && !more {
                        differ.push(format!(
                            "{name} {} {caching} {pat} {from} to {to}: {said}, not {expected} ({})",
                            device.kernel, xe.rule
                        ));
                    }
                }
            }
        }
    }
    (compared, differ)
}

#[test]
fn the_table_of_the_library_requires_what_the_rules_of_xe_require() {
    let (compared, differ) = compare(|device, object, pat| device.level(object, pat).unwrap());
    assert!(differ.is_empty(), "{differ:#?}");
    assert!(compared > 1000, "{compared}");
}

#[test]
fn a_wrong_level_is_noticed() {
    let wrong = |device: &Device, object: &xe::Object, pat| match device.level(object, pat).unwrap() {
        CacheLevel::None => CacheLevel::Llc,
        CacheLevel::Llc | CacheLevel::L3Llc | CacheLevel::Wt => CacheLevel::None,
    };
    assert!(!compare(wrong).1.is_empty());
}

/// What a comparison of objects with two mappings found.
#[derive(Debug, Default)]
struct Joined {
    compared: usize,
    /// Pairs of which one mapping requires more than is done at the joined level.
    missed: Vec<String>,
    /// Decisions of one mapping for which the joined level requires more, by platform, with an LLC or without: by writer and next agent.
    more: Vec<(bool, Agent, Agent)>,
}

/// Compares what each of two mappings requires with what is required at the level that `join` gives to the object.
fn compare_joined(join: impl Fn(CacheLevel, CacheLevel) -> CacheLevel) -> Joined {
    let mut joined = Joined::default();
    for device in devices() {
        for object in objects(&device) {
            let caching = object.caching.unwrap();
            let bound = |&(pat, _): &(u16, _)| device.bind(&[Bind::map(&object, 0, pat)], false).is_ok();
            let indices: Vec<u16> = device.pat.indices().filter(bound).map(|(pat, _)| pat).collect();
            let level = |pat| device.level(&object, pat).unwrap();
            for (&one, &other) in indices.iter().flat_map(|one| indices.iter().map(move |other| (one, other)))
            {
                let level_of_both = join(level(one), level(other));
                for (from, to) in PAIRS {
                    let said = table(&device, level_of_both, caching, from, to);
                    for pat in [one, other] {
                        let xe = device.needs_flush(Memory::Object(&object), pat, from, to, When::AfterFence);
                        let Some(required) = done_by_library(xe) else { continue };
                        joined.compared += 1;
                        if stronger(said, required) != said {
                            let name = device.platform.name();
                            joined.missed.push(format!(
                                "{name} {} {caching} {one} and {other}, {from} to {to} by {pat}: {said}, not {required}",
                                device.kernel
                            ));
                        }
                        if said != table(&device, level(pat), caching, from, to) {
                            joined.more.push((device.platform.has_llc(), from, to));
                        }
                    }
                }
            }
        }
    }
    joined
}

fn stronger(one: policy::Verdict, other: policy::Verdict) -> policy::Verdict {
    let decision = |verdict| policy::Decision { verdict, rule: policy::Rule::SameCache };
    decision(one).stronger(decision(other)).verdict
}

#[test]
fn an_object_with_two_mappings_gets_what_either_requires() {
    let joined = compare_joined(xe::most_cached);
    assert!(joined.missed.is_empty(), "{:#?}", joined.missed);
    assert!(joined.compared > 10_000, "{}", joined.compared);
    // The one decision that would be sharper for a submission that named its mapping.
    let sharper = (true, Agent::Gpu, Agent::Display);
    assert!(!joined.more.is_empty() && joined.more.iter().all(|&more| more == sharper), "{:?}", joined.more);
}

#[test]
fn the_level_of_the_least_cached_mapping_misses_flushes() {
    let least = |one, other| match (one, other) {
        (CacheLevel::Llc, CacheLevel::Llc) => CacheLevel::Llc,
        _ => CacheLevel::None,
    };
    let missed = compare_joined(least).missed;
    assert!(
        missed
            .iter()
            .any(|line| line.starts_with("tgl 7.2 wc 0 and 1, gpu to display by 0: none, not flush")),
        "{missed:#?}"
    );
}

#[test]
fn a_machine_names_the_driver_and_refuses_what_xe_lacks() {
    let machine = xe::by_name("lnl").unwrap().device(KernelVersion::new(7, 2)).unwrap().machine();
    assert_eq!((machine.driver, machine.platform.name), (Driver::Xe, "lnl"));
    for &call in Call::ALL {
        let has = matches!(call, Call::GetCaching | Call::MmapOffset(MmapMode::Wb | MmapMode::Wc));
        assert_eq!(machine.refusal(call).is_none(), has, "{call:?}");
    }
}

#[test]
fn the_cpu_maps_an_object_as_it_was_created_and_any_on_a_discrete_device_in_one_way() {
    for device in devices() {
        for object in objects(&device) {
            let expected = match object.caching.unwrap() {
                _ if device.platform.discrete => MmapMode::Fixed,
                CpuCaching::Wb => MmapMode::Wb,
                CpuCaching::Wc => MmapMode::Wc,
            };
            assert_eq!(device.map_mode(&object), Some(expected), "{} {object:?}", device.platform);
        }
        assert_eq!(device.map_mode(&xe::Object::imported(65536)), None, "{}", device.platform);
    }
}

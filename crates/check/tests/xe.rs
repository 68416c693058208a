//! The explorer of xe: no property breaks, and each rule, flush and drain that can be taken out breaks one, or says why not.

use gem_coherency::platform::Basis;
use gem_coherency::vocabulary::KernelVersion;
use gem_coherency::xe::{self, Device, Rule};
use gem_coherency_check::xe::{
    Change, Condition, KERNELS, Kind, Search, Step, Trace, User, Work, not_needed, searches,
};
use gem_coherency_check::{Property, Value};

const V7_2: KernelVersion = KernelVersion::new(7, 2);

/// Platforms of which each other one has the memory and the rules of one.
const CLASSES: [&str; 6] = ["tgl", "dg2", "mtl", "lnl", "bmg-g31", "nvlp"];

fn device(platform: &str) -> Device {
    xe::device(platform, V7_2).unwrap()
}

/// Returns the shortest violation of a property on a platform; the search is that of the kind and the user, if they are named.
fn broken(platform: &str, change: Change, property: Property, of: Option<(Kind, User)>) -> Option<Trace> {
    let selected = |search: &Search| of.is_none_or(|it| it == (search.kind, search.user));
    let searches = searches(device(platform), Some(change)).into_iter().filter(selected);
    let traces = searches.flat_map(|search| search.run().unwrap().violations);
    traces.filter(|trace| trace.property == property).min_by_key(|trace| trace.steps.len())
}

/// Asserts that the shortest trace has these steps, and what the last one reads.
#[track_caller]
fn traced(platform: &str, change: Change, of: (Kind, User), property: Property, steps: &[&str], read: Value) {
    let trace = broken(platform, change, property, Some(of)).expect("the change breaks the property");
    let found: Vec<_> = trace.steps.iter().map(|step| step.step.to_string()).collect();
    assert_eq!(found, steps);
    assert_eq!(trace.steps.last().unwrap().done.read, Some(read));
}

#[test]
fn no_property_breaks_on_any_platform_under_any_kernel() {
    let devices = KERNELS.iter().flat_map(|&kernel| xe::all().iter().map(move |one| one.device(kernel)));
    let mut count = 0;
    for device in devices.flatten() {
        for search in searches(device, None) {
            let outcome = search.run().unwrap();
            let found = &outcome.violations;
            assert!(found.is_empty(), "{} {}: {found:?}", device.platform, device.kernel);
            assert!(outcome.states > 1, "{} {}", device.platform, search.kind);
        }
        count += 1;
    }
    assert_eq!(count, 26, "10 platforms under 6.12, and 16 under 7.2");
}

#[test]
fn without_the_check_of_vm_bind_a_non_snooping_gpu_reads_below_the_zeroes() {
    let change = Change::Rule(Rule::CachedNotSnooped);
    for platform in ["mtl", "lnl", "ptl", "nvlp"] {
        for (user, property) in [
            (User::Driver, Property::NewestRead),
            (User::Driver, Property::NoLeak),
            (User::Hostile, Property::NoLeak),
        ] {
            let steps = ["VM_BIND by PAT index 0", "a batch reads"];
            traced(platform, change, (Kind::Wb, user), property, &steps, Value::Secret);
        }
    }
    // The twins: with an LLC, and on a discrete device, the check is not needed.
    for platform in ["tgl", "dg2", "bmg", "cri"] {
        assert!(broken(platform, change, Property::NewestRead, None).is_none(), "{platform}");
        assert!(broken(platform, change, Property::NoLeak, None).is_none(), "{platform}");
    }
}

#[test]
fn without_the_check_of_madvise_the_same_bytes_are_read_and_that_is_known_by_reading_only() {
    let change = Change::Work(Work::MadviseCheck);
    let steps = ["VM_BIND by PAT index 1", "MADVISE with PAT index 0", "a batch reads"];
    for (user, property) in [(User::Driver, Property::NewestRead), (User::Hostile, Property::NoLeak)] {
        for kind in [Kind::Wb, Kind::Import, Kind::Userptr, Kind::Mirror] {
            traced("lnl", change, (kind, user), property, &steps, Value::Secret);
        }
    }
    assert_eq!(change.basis(), Basis::Read);
    // Linux 6.12 has no MADVISE.
    let old = xe::device("lnl", KERNELS[0]).unwrap();
    assert!(searches(old, Some(change)).iter().all(|search| search.run().unwrap().violations.is_empty()));
}

#[test]
fn without_cpa_flush_new_write_combining_pages_show_old_bytes() {
    let change = Change::Work(Work::CpaFlush);
    let read = ["the CPU reads"];
    traced("lnl", change, (Kind::Wc, User::Hostile), Property::NoLeak, &read, Value::Secret);
    let bound = ["VM_BIND by PAT index 0", "a batch reads"];
    // By an LLC the GPU finds the zeroes, and the display does not.
    assert!(broken("tgl", change, Property::NoLeak, Some((Kind::Wc, User::Hostile))).is_none());
    let shown = ["the object becomes a framebuffer", "the display shows the object"];
    traced("tgl", change, (Kind::Scanout, User::Hostile), Property::NoLeak, &shown, Value::Secret);
    traced(
        "lnl",
        Change::Work(Work::Clear),
        (Kind::Wc, User::Hostile),
        Property::NoLeak,
        &read,
        Value::Secret,
    );
    assert!(broken("dg2", change, Property::NoLeak, None).is_none());
    let userptr = Change::Rule(Rule::UserptrNotSnooped);
    traced("lnl", userptr, (Kind::Userptr, User::Hostile), Property::NoLeak, &bound, Value::Secret);
}

#[test]
fn without_the_drivers_drain_or_flush_the_next_agent_reads_old_bytes() {
    let newest = |platform, rule, kind, steps: &[&str]| {
        let of = (kind, User::Driver);
        traced(platform, Change::Rule(rule), of, Property::NewestRead, steps, Value::Old);
    };
    let upload = ["VM_BIND by PAT index 0", "the CPU writes", "a batch reads"];
    newest("lnl", Rule::WcDrain, Kind::Wc, &upload);
    newest("tgl", Rule::WcDrain, Kind::Wc, &upload);
    newest("bmg", Rule::BarDrain, Kind::Local, &upload);
    let read_back = ["VM_BIND by PAT index 1", "a batch writes", "the CPU reads"];
    newest("nvlp", Rule::TransientOnly, Kind::Wb, &read_back);
    let drawn = [
        "VM_BIND by PAT index 0",
        "a batch writes",
        "the object becomes a framebuffer",
        "the display shows the object",
    ];
    newest("bmg-g31", Rule::GpuLinesShown, Kind::LocalScanout, &drawn);
    newest("tgl", Rule::LlcLinesShown, Kind::Scanout, &drawn);
    // The twins: where the rule does not apply.
    assert!(broken("lnl", Change::Rule(Rule::TransientOnly), Property::NewestRead, None).is_none());
    assert!(broken("bmg", Change::Rule(Rule::WcDrain), Property::NewestRead, None).is_none());
}

/// A change with a reason is searched on one platform, and with EVERY_CASE in the environment (`ci/unit --all`) on one of each class.
#[test]
fn each_change_breaks_a_property_somewhere_or_says_why_not() {
    let is_all = std::env::var_os("EVERY_CASE").is_some();
    for (number, change) in Change::all().enumerate() {
        let why_not = match change {
            Change::Rule(rule) => not_needed(rule),
            Change::Work(_) | Change::Condition(_) => None,
        };
        let one = [CLASSES[number % CLASSES.len()]];
        let platforms = if why_not.is_none() || is_all { &CLASSES[..] } else { &one };
        let breaks = platforms.iter().find(|platform| {
            let mut searches = searches(device(platform), Some(change)).into_iter();
            searches.any(|search| !search.run().unwrap().violations.is_empty())
        });
        assert_eq!(breaks.is_some(), why_not.is_none(), "{}: {breaks:?}, {why_not:?}", change.name());
        assert_eq!(Change::by_name(change.name()), Ok(change));
    }
    assert!(Change::by_name("nonsense").unwrap_err().to_string().contains("unknown rule of xe 'nonsense'"));
}

#[test]
fn what_a_write_back_framebuffer_shows_depends_on_its_user() {
    // The driver flushes (display-reads-memory); nobody makes a hostile process do so.
    let change = Change::Condition(Condition::ShowScanout);
    let shown = ["the object becomes a framebuffer", "the display shows the object"];
    traced("lnl", change, (Kind::Wb, User::Hostile), Property::NoLeak, &shown, Value::Secret);
    assert!(broken("lnl", change, Property::NoLeak, Some((Kind::Wb, User::Driver))).is_none());
    // A bound object is refused.
    let trace = broken("lnl", change, Property::NoLeak, None).unwrap();
    assert!(trace.steps.iter().all(|step| !matches!(step.step, Step::Bind(_))));
}

//! Small searches of the explorer.

use std::collections::{HashSet, VecDeque};

use gem_coherency::platform;
use gem_coherency::policy::Rule;
use gem_coherency::policy::driver::Path;
use gem_coherency::policy::kernel::Creation;
use gem_coherency::vocabulary::{Access, KernelVersion, MocsClass};
use gem_coherency_check::{
    Action, Baseline, Caller, Condition, Conditions, LoggedAction, Mutant, Mutation, Need, Outcome, Property,
    Scope, Search, Value, Window, all_cores, all_machines, machines,
};
use gem_coherency_memory_model::Assumption;

fn scope(platform: &str, kernel: (u16, u16), caller: Caller) -> Scope {
    let kernel = KernelVersion::new(kernel.0, kernel.1);
    Scope::new(machines(platform::by_name(platform).unwrap(), kernel), vec![caller])
}

/// The search of that kind of object, on the machine without eDRAM.
fn search(scope: &Scope, creation: Creation) -> Search {
    let searches = scope.searches().unwrap();
    searches.into_iter().find(|search| search.setting.creation == creation).unwrap()
}

fn run(scope: &Scope, creation: Creation) -> Outcome {
    search(scope, creation).run(|_| ()).unwrap()
}

/// The scope of a hostile caller on a Jasper Lake under `kernel`, with the MOCS table of `mocs_table`, or the kernel's own.
fn hostile_on_jsl(kernel: &str, mocs_table: Option<&str>) -> Scope {
    let jsl = platform::by_name("jsl").unwrap();
    Scope {
        machines: machines(jsl, kernel.parse().unwrap()),
        mocs_table: mocs_table.map(|version| version.parse().unwrap()),
        ..scope("jsl", (6, 12), Caller::Hostile)
    }
}

/// Asserts that the GPU leaks an object's memory in two steps: a submission, and a read around the LLC.
#[track_caller]
fn leaks_in_two_steps(scope: &Scope, creation: Creation) {
    let trace = run(scope, creation).violation.expect("the acquire does not flush");
    assert_eq!(trace.property, Property::NoLeak);
    let steps: Vec<_> = trace.steps.iter().map(|step| step.step).collect();
    let submit = Action::Open(Window::Gpu { mocs: MocsClass::PageTable, access: Access::Read });
    let bypass = Action::Touch(Path::Gpu(MocsClass::BypassLlc), Access::Read, 0);
    assert_eq!(steps, [submit, bypass]);
}

/// Asserts that nothing leaks.
#[track_caller]
fn holds(scope: &Scope, creation: Creation) {
    let outcome = run(scope, creation);
    assert!(outcome.violation.is_none() && outcome.size.states > 1000, "{}", outcome.size.states);
}

#[test]
fn a_kernel_leaks_that_has_the_bypassing_entries_and_does_not_flush() {
    for kernel in ["5.3", "6.1.0"] {
        leaks_in_two_steps(&hostile_on_jsl(kernel, None), Creation::User);
        holds(&hostile_on_jsl(kernel, Some("5.14")), Creation::User);
    }
    for fixed in ["5.15", "6.1", "6.2"] {
        holds(&hostile_on_jsl(fixed, None), Creation::User);
    }
}

#[test]
fn a_kernel_without_the_bypassing_entries_leaks_only_with_the_table_of_another() {
    // Imports and userptr objects are flushed from 5.16 on, and ordinary ones from 6.2 on.
    for (kernel, small) in [("5.10", true), ("5.14", true), ("5.16", false), ("6.0", false)] {
        leaks_in_two_steps(&hostile_on_jsl(kernel, Some("6.1")), Creation::User);
        if small {
            leaks_in_two_steps(&hostile_on_jsl(kernel, Some("6.1")), Creation::Import);
            holds(&hostile_on_jsl(kernel, None), Creation::Import);
        } else {
            holds(&hostile_on_jsl(kernel, None), Creation::User);
        }
    }
}

#[test]
fn the_library_flushes_for_the_entries_whether_they_are_there_or_not() {
    let own = scope("jsl", (5, 14), Caller::Library);
    let other = Scope { mocs_table: Some(KernelVersion::new(6, 1)), ..own.clone() };
    for scope in [&own, &other] {
        let used = run(scope, Creation::Import).used;
        assert!(used.required.has(Rule::BypassMocsRead), "{:?}", scope.mocs_table);
    }
    // Without the flush only the table that has the entries shows old bytes: those of before the zeroes.
    let unflushed = |scope: &Scope| {
        let scope = Scope { mutation: Mutation::Without(Rule::BypassMocsRead), ..scope.clone() };
        run(&scope, Creation::Import).violation.map(|trace| trace.property)
    };
    assert_eq!((unflushed(&own), unflushed(&other)), (None, Some(Property::NoLeak)));
}

#[test]
fn userptr_leaks_until_5_16_and_no_longer() {
    let outcome = |kernel, table| run(&hostile_on_jsl(kernel, table), Creation::Userptr);
    // The table of 5.15's stable releases was not read, and counts as having the entries.
    assert_eq!(outcome("5.15", None).violation.unwrap().property, Property::NoLeak);
    assert!(outcome("5.15.0", None).violation.is_none());
    assert_eq!(outcome("5.15.0", Some("6.1")).violation.unwrap().property, Property::NoLeak);
    let fixed = outcome("5.16", Some("6.1"));
    assert!(fixed.violation.is_none() && fixed.size.states > 50, "{:?}", fixed.size);
}

#[test]
fn without_an_llc_what_was_swapped_leaks_until_5_16() {
    let leak = run(&scope("glk", (5, 15), Caller::Hostile), Creation::User).violation.unwrap();
    assert_eq!((leak.property, leak.steps.len()), (Property::NoLeak, 4));
}

#[test]
fn the_protocol_holds_where_its_conditions_are_kept_and_only_there() {
    let kept = scope("glk", (6, 12), Caller::Protocol);
    let outcome = run(&kept, Creation::User);
    assert!(outcome.violation.is_none() && outcome.size.states > 1000);
    let of_protocol = [
        Condition::DomainBeforeLevel,
        Condition::SubmitAfterLevel,
        Condition::NoUncachedOfSnooped,
        Condition::NoSwapWhileAccessed,
    ];
    for condition in of_protocol {
        let dropped = Scope { kept: kept.kept.without(condition), ..kept.clone() };
        assert!(run(&dropped, Creation::User).violation.is_some(), "{condition}");
    }
}

#[test]
fn a_write_through_object_that_becomes_a_framebuffer_late_is_shown_unflushed_by_every_caller() {
    for &caller in Caller::ALL {
        let kept = scope("hsw", (6, 12), caller);
        let dropped = kept.kept.without(Condition::WtShownClean);
        let dropped = Scope { kept: dropped, kept_by_hostile: dropped, ..kept };
        let has_wt = |search: &Search| search.setting.machine.caps.contains(platform::Caps::WT);
        let searches = dropped.searches().unwrap();
        let found =
            searches.iter().find(|search| has_wt(search) && search.setting.creation == Creation::User);
        let trace = found.unwrap().run(|_| ()).unwrap().violation.expect("nobody flushes");
        let leaks = trace.property == Property::NoLeak;
        assert!(leaks || caller != Caller::Hostile, "{}", trace.property);
    }
}

#[test]
fn a_hostile_caller_that_keeps_no_condition_leaks_where_the_level_wt_exists_and_only_there() {
    let keeps = |conditions| Scope { kept_by_hostile: conditions, ..scope("hsw", (6, 12), Caller::Hostile) };
    let searches = keeps(Conditions::NONE).searches().unwrap();
    let of_users: Vec<_> =
        searches.iter().filter(|search| search.setting.creation == Creation::User).collect();
    assert_eq!(of_users.len(), 2, "without eDRAM and with it");
    for search in of_users {
        let has_wt = search.setting.machine.caps.contains(platform::Caps::WT);
        let violation = search.run(|_| ()).unwrap().violation;
        let broken = violation.map(|trace| trace.property);
        assert_eq!(broken, has_wt.then_some(Property::NoLeak), "{:?}", search.setting.machine.caps);
    }
    // No condition but U6 matters to it.
    let only_u6_dropped = keeps(Conditions::ALL.without(Condition::WtShownClean)).searches().unwrap();
    let leaks = |search: &Search| search.run(|_| ()).unwrap().violation.is_some();
    let with_edram = |search: &&Search| search.setting.machine.caps.contains(platform::Caps::WT);
    assert!(only_u6_dropped.iter().filter(with_edram).any(leaks));
}

#[test]
fn the_kernel_relies_on_snooping_wc_loads_on_meteor_lake() {
    let held = scope("mtl", (6, 12), Caller::Hostile);
    let dropped = Scope { held: held.held.without(Assumption::OwnUncachedSnoops), ..held };
    let trace = run(&dropped, Creation::User).violation.unwrap();
    assert_eq!((trace.property, trace.steps.len()), (Property::NoLeak, 1));
}

#[test]
fn a_device_that_is_taken_at_its_worst_is_right_as_long_as_gpu_writes_are_noted() {
    for platform in ["jsl", "glk", "tgl", "dg2"] {
        let scope = scope(platform, (6, 12), Caller::Unknown);
        let outcome = run(&scope, Creation::Import);
        assert!(outcome.violation.is_none() && outcome.size.states > 100, "{platform}");
    }
    let forgets = Scope {
        mutation: Mutation::Planted(Mutant::GpuWriteNotNoted),
        ..scope("jsl", (6, 12), Caller::Unknown)
    };
    let trace = run(&forgets, Creation::Import).violation.expect("what the GPU wrote stays in the LLC");
    assert_eq!(trace.property, Property::NewestRead);
}

#[test]
fn a_reader_between_the_announcement_and_the_ioctl_takes_the_first_note() {
    let scope = scope("glk", (6, 12), Caller::Library);
    assert!(run(&scope, Creation::User).violation.is_none());
    let once = Scope { mutation: Mutation::Planted(Mutant::GpuWriteNotedOnce), ..scope };
    let trace = run(&once, Creation::User).violation.expect("the reader after the ioctl finds no mark");
    assert_eq!(trace.property, Property::NewestRead);
    let announced = |step: &Action| matches!(step, Action::Open(Window::Announced { .. }));
    assert!(trace.steps.iter().any(|step| announced(&step.step)), "{:?}", trace.steps);
}

#[test]
fn a_trace_ends_where_the_property_breaks_and_says_why() {
    let mut scope = scope("glk", (6, 12), Caller::Protocol);
    scope.mutation = Mutation::Without(Rule::ExecFlush);
    let trace = run(&scope, Creation::User).violation.unwrap();
    assert_eq!(trace.property, Property::NewestRead);
    let last = trace.steps.last().unwrap();
    assert!(matches!(last.step, Action::Load(_)), "{:?}", last.step);
    assert!(last.after.memory.contains(&Value::Old), "the GPU read {:?}", last.after.memory);
    assert!(trace.first.memory.iter().all(|&copy| copy == Value::Newest));
    let actions = || trace.steps.iter().flat_map(|step| &step.actions);
    assert!(
        actions().any(
            |action| matches!(action, LoggedAction::Kernel(effect) if effect.rule == Rule::SubmitBarrier)
        )
    );
    assert!(
        !actions()
            .any(|action| matches!(action, LoggedAction::Kernel(effect) if effect.rule == Rule::ExecFlush))
    );
}

#[test]
fn every_rule_that_a_small_search_meets_is_there_for_something() {
    let mut scope = scope("i965gm", (6, 12), Caller::Protocol);
    scope.callers = vec![Caller::Protocol];
    let baseline = Baseline::new(&scope, all_cores(), |_| ()).unwrap();
    assert!(baseline.violation().is_none());
    for (rule, need) in [
        (Rule::AcquireDirty, Need::Needed),
        (Rule::ExecFlush, Need::Needed),
        (Rule::PreadInvalidate, Need::Needed),
        (Rule::PartialLineWrite, Need::Needed),
        (Rule::EnterDomainBarrier, Need::Conservative),
        (Rule::ScanoutClean, Need::Exemption),
        (Rule::DisplayNeverWrites, Need::NotMet),
    ] {
        let finding = baseline.without(rule).unwrap();
        assert_eq!(finding.need, need, "{rule}");
        assert_eq!(finding.trace.is_some(), need == Need::Needed, "{rule}");
        assert_eq!(finding.why.is_some(), matches!(need, Need::Conservative | Need::NotMet), "{rule}");
    }
}

#[test]
fn planted_faults_are_noticed() {
    let scope = scope("i965gm", (6, 12), Caller::Protocol);
    let baseline = Baseline::new(&scope, all_cores(), |_| ()).unwrap();
    for mutant in
        [Mutant::OneLineShort, Mutant::InvalidateWithClwb, Mutant::FlushBeforeStore, Mutant::FlushDropsDirty]
    {
        assert!(baseline.with(mutant).unwrap().is_some(), "{mutant}");
    }
    // The protocol keeps no line maps: this one is the library's.
    assert!(baseline.with(Mutant::PartialStoreKeepsStale).unwrap().is_none());
}

#[test]
fn the_space_is_what_the_search_explores() {
    let search = search(&scope("glk", (6, 12), Caller::Protocol), Creation::Userptr);
    let space = search.space().unwrap();
    let mut seen = HashSet::from([space.first()]);
    let mut waiting = VecDeque::from([space.first()]);
    while let Some(state) = waiting.pop_front() {
        let visit = |next| {
            if seen.insert(next) {
                waiting.push_back(next);
            }
        };
        space.check(state).unwrap();
        space.successors(state, visit).unwrap();
    }
    assert_eq!(seen.len() as u64, search.run(|_| ()).unwrap().size.states);
}

#[test]
fn searches_stand_for_every_machine_once_for_each_caller_and_kind() {
    let machines = all_machines(&[KernelVersion::new(6, 12)]);
    let count = machines.len();
    assert!(count > platform::all().len(), "eDRAM is a second machine");
    let scope = Scope { machines, callers: Caller::ALL.to_vec(), ..scope("jsl", (6, 12), Caller::Hostile) };
    let searches = scope.searches().unwrap();
    for &caller in Caller::ALL {
        let of_users = searches
            .iter()
            .filter(|search| search.setting.caller == caller && search.setting.creation == Creation::User);
        let covered: usize = of_users.map(|search| search.machines.len()).sum();
        assert_eq!(covered, count, "{caller}");
    }
    assert!(searches.len() < 4 * count, "likenesses are used");
}

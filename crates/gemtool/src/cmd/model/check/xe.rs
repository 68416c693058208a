//! `gemtool check --driver xe`: searches the model of xe.

use gem_coherency::platform::Basis;
use gem_coherency::vocabulary::KernelVersion;
use gem_coherency::xe::{self, Device, Platform, Verdict};
use gem_coherency_check::xe::{
    Change, Copies, Done, KERNELS, Kind, Outcome, Search, Step, Trace, TraceStep, User, searches,
};
use gem_coherency_check::{Property, Value, all_cores, in_parallel};
use serde::Serialize;

use super::scope::unique;
use crate::args::Check;
use crate::cmd::model::xe::device;
use crate::failure::Failure;

/// The report of a check of xe.
#[derive(Clone, Debug, Serialize)]
pub struct XeCheck {
    /// The driver: `xe`.
    pub driver: &'static str,
    /// The kernels.
    pub kernels: Vec<KernelVersion>,
    /// What is taken out.
    pub change: Option<ChangeLine>,
    /// Every property holds.
    pub holds: bool,
    /// The platforms under each kernel.
    pub devices: Vec<DeviceLine>,
    /// Index in `devices` of the one with the shortest violation.
    pub shortest: Option<usize>,
}

/// What is taken out.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct ChangeLine {
    /// Its name.
    pub name: &'static str,
    /// How it is known.
    pub basis: Basis,
}

/// A platform under a kernel.
#[derive(Clone, Debug, Serialize)]
pub struct DeviceLine {
    /// The platform.
    pub platform: &'static str,
    /// The kernel.
    pub kernel: KernelVersion,
    /// How its facts are known.
    pub basis: Basis,
    /// Number of searches: kinds of memory and users.
    pub searches: usize,
    /// Number of distinct states.
    pub states: usize,
    /// Number of steps between them.
    pub transitions: usize,
    /// The properties that are broken.
    pub broken: Vec<Property>,
    /// The shortest trace to a violation.
    pub violation: Option<XeTrace>,
}

/// A trace to a violation.
#[derive(Clone, Debug, Serialize)]
pub struct XeTrace {
    /// The property.
    pub property: Property,
    /// The property in words.
    pub statement: &'static str,
    /// The kind of memory.
    pub memory: Kind,
    /// Its user.
    pub user: User,
    /// The copies of the line at first.
    pub first: Copies,
    /// The steps; the last one reads.
    pub steps: Vec<XeStep>,
}

/// A step of a trace.
#[derive(Clone, Debug, Serialize)]
pub struct XeStep {
    /// Who makes it: `driver`, `hostile`, `kernel`, `caches`.
    pub actor: &'static str,
    /// The step.
    pub step: String,
    /// What the rules require before the access.
    pub required: Option<Required>,
    /// What it read.
    pub read: Option<Value>,
    /// The copies afterwards.
    pub after: Copies,
}

/// What the rules require before an access.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Required {
    /// The operation.
    pub verdict: Verdict,
    /// The rule.
    pub rule: xe::Rule,
    /// It is left out: the rule is taken out.
    pub left_out: bool,
}

impl From<&Trace> for XeTrace {
    fn from(trace: &Trace) -> Self {
        let Search { kind, user, change, .. } = trace.search;
        let step = |&TraceStep { step, done: Done { after, read, required } }: &TraceStep| XeStep {
            actor: match step {
                Step::Cache(_) => "caches",
                Step::Move => "kernel",
                Step::Bind(_)
                | Step::Madvise(_)
                | Step::Framebuffer
                | Step::Cpu(..)
                | Step::Gpu(..)
                | Step::Show => user.name(),
            },
            step: step.to_string(),
            required: required.map(|decision| Required {
                verdict: decision.verdict,
                rule: decision.rule,
                left_out: change == Some(Change::Rule(decision.rule)),
            }),
            read,
            after: after.copies,
        };
        Self {
            property: trace.property,
            statement: trace.property.statement(),
            memory: kind,
            user,
            first: trace.first.copies,
            steps: trace.steps.iter().map(step).collect(),
        }
    }
}

/// Searches each platform under each kernel.
///
/// # Errors
/// A flag of i915's; an unknown platform, kernel or rule.
pub fn run(args: &Check) -> Result<XeCheck, Failure> {
    of_i915(args)?;
    let change =
        args.without.as_ref().map(|name| Change::by_name(&name.0)).transpose().map_err(|unknown| {
            Failure::flag("--without", format!("{unknown} (`gemtool rules --driver xe` lists the rules)"))
        })?;
    let kernels = unique(&args.kernels, &KERNELS);
    let devices = devices(args, &kernels)?;
    let jobs = args.jobs.unwrap_or_else(all_cores);
    let devices = in_parallel(&devices, jobs, |device| line(device, change));
    let length = |device: &DeviceLine| device.violation.as_ref().map(|trace| trace.steps.len());
    let broken = devices.iter().enumerate().filter_map(|(place, device)| Some((length(device)?, place)));
    let shortest = broken.min().map(|(_, place)| place);
    let change = change.map(|change| ChangeLine { name: change.name(), basis: change.basis() });
    Ok(XeCheck { driver: "xe", kernels, change, holds: shortest.is_none(), devices, shortest })
}

/// Returns the requested platforms under the kernels; under those that claim it, if no kernel is named.
fn devices(args: &Check, kernels: &[KernelVersion]) -> Result<Vec<Device>, Failure> {
    let mut names: Vec<&str> = xe::all().iter().map(Platform::name).collect();
    // Each kernel that has xe claims the first one.
    if let Some(first) = names.first() {
        kernels.iter().try_for_each(|&kernel| device("--platform", first, kernel).map(drop))?;
    }
    if !args.platforms.is_empty() {
        names = args.platforms.iter().map(String::as_str).collect();
    }
    let mut devices: Vec<Device> = Vec::new();
    for name in names {
        let under = kernels.iter().map(|&kernel| device("--platform", name, kernel));
        let (found, mut refused): (Vec<_>, Vec<_>) = under.partition(Result::is_ok);
        let is_strict = !args.platforms.is_empty() && (!args.kernels.is_empty() || found.is_empty());
        if is_strict && let Some(refusal) = refused.pop() {
            refusal?;
        }
        for device in found.into_iter().flatten() {
            let is = |other: &Device| (other.platform.name(), other.kernel);
            if devices.iter().all(|other| is(other) != is(&device)) {
                devices.push(device);
            }
        }
    }
    Ok(devices)
}

/// Searches one device.
fn line(device: &Device, change: Option<Change>) -> DeviceLine {
    let outcomes: Vec<Outcome> = searches(*device, change).iter().filter_map(Search::run).collect();
    let traces = || outcomes.iter().flat_map(|outcome| &outcome.violations);
    let broken = Property::ALL.iter().copied();
    // Of equally short ones, what a process may never read says most.
    let shortest = traces().min_by_key(|trace| (trace.steps.len(), trace.property != Property::NoLeak));
    DeviceLine {
        platform: device.platform.name(),
        kernel: device.kernel,
        basis: device.basis(),
        searches: outcomes.len(),
        states: outcomes.iter().map(|outcome| outcome.states).sum(),
        transitions: outcomes.iter().map(|outcome| outcome.transitions).sum(),
        broken: broken.filter(|&property| traces().any(|trace| trace.property == property)).collect(),
        violation: shortest.map(XeTrace::from),
    }
}

/// Refuses the flags that are about i915, instead of ignoring them.
fn of_i915(args: &Check) -> Result<(), Failure> {
    let flags = [
        ("--mocs-table", args.mocs_table.is_some()),
        ("--caller", !args.callers.is_empty()),
        ("--drop-assumption", !args.dropped.is_empty()),
        ("--mutant", args.mutant.is_some()),
        ("--ignore", args.ignored.is_some()),
        ("--shard", args.shard.is_some()),
        ("--rules", args.rules),
        ("--mutants", args.mutants),
        ("--assumptions", args.assumptions),
        ("--svg", args.svg.is_some()),
    ];
    match flags.iter().find(|(_, given)| *given) {
        Some(&(flag, _)) => {
            Err(Failure::flag(flag, "is about i915: xe has --platform, --kernel, --without and --jobs"))
        }
        None => Ok(()),
    }
}

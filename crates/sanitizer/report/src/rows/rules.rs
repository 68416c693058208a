//! The rules behind findings, of both drivers.

use std::fmt;

use gem_coherency::platform::{self, Driver, Machine};
use gem_coherency::policy::driver::{Path, needs_flush, needs_invalidate};
use gem_coherency::policy::kernel::{Creation, KernelRules, Snapshot};
use gem_coherency::policy::{Rule, Verdict};
use gem_coherency::units::PAGE_BYTES;
use gem_coherency::vocabulary::{Access, Agent, CacheLevel, MmapMode, MocsClass};
use gem_coherency::xe::{self, CpuCaching, CreateFlags};
use gem_coherency_memory_model::{Mistake, Route};
use gem_coherency_sanitizer::Finding;
use gem_coherency_sim::SimDevice;
use serde::Serialize;

/// A rule of one of the drivers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum DriverRule {
    /// Of i915, and of what programs must do under it.
    I915(Rule),
    /// Of xe.
    Xe(xe::Rule),
}

impl DriverRule {
    /// Returns the reason, in one sentence.
    #[must_use]
    pub fn reason(self) -> &'static str {
        match self {
            Self::I915(rule) => rule.reason(),
            Self::Xe(rule) => rule.reason(),
        }
    }
}

impl fmt::Display for DriverRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::I915(rule) => rule.fmt(f),
            Self::Xe(rule) => rule.fmt(f),
        }
    }
}

/// Returns the machine of a software device; `None` for another name.
#[must_use]
pub fn machine_of(device: &str) -> Option<Machine> {
    SimDevice::open_for_programs(device).ok().map(|soft| soft.machine())
}

/// Returns the rule that wants a flush or an invalidate for the accesses of a finding on `machine`, or that refused its request.
pub(crate) fn rule_of(machine: Machine, finding: &Finding) -> Option<DriverRule> {
    match machine.driver {
        Driver::I915 => wanted(machine, finding.level, finding).map(DriverRule::I915),
        Driver::Xe => {
            let refused = finding.refused.map(|refused| refused.rule);
            let device = || xe::device(machine.platform.name, machine.kernel).ok();
            refused.or_else(|| wanted_of_xe(device()?, finding)).map(DriverRule::Xe)
        }
    }
}

/// Returns the other platforms of the machine's driver that want the same: under i915 for objects as GEM_CREATE makes them there, under xe for
/// write-back objects that the display shows.
pub(crate) fn others(machine: Machine, finding: &Finding) -> Vec<&'static str> {
    if machine.driver == Driver::Xe {
        let on_display = finding.route == Some(Route::Display);
        let wants = |platform: &&'static xe::Platform| {
            let device = platform.device(machine.kernel).ok();
            on_display && device.is_some_and(|device| wanted_of_xe(device, finding).is_some())
        };
        let others = xe::all().iter().filter(|platform| platform.name() != machine.platform.name);
        return others.filter(wants).map(xe::Platform::name).collect();
    }
    let Ok(rules) = KernelRules::of(machine.kernel) else { return Vec::new() };
    let wants = |platform: &&&'static platform::Platform| {
        let other = platform.machine(machine.kernel, false);
        Snapshot::created(other.caps, &rules, Creation::User)
            .is_ok_and(|created| wanted(other, created.level, finding).is_some())
    };
    let others = platform::all().iter().filter(|platform| platform.name != machine.platform.name);
    others.filter(wants).map(|platform| platform.name).collect()
}

/// Returns the rule of i915 that wants a flush or an invalidate for the accesses of a finding, for objects of a level.
fn wanted(machine: Machine, level: CacheLevel, finding: &Finding) -> Option<Rule> {
    let agent = match finding.route {
        Some(Route::Display) => Path::Display,
        Some(Route::Gpu(mocs)) => Path::Gpu(mocs),
        _ => Path::Gpu(MocsClass::PageTable),
    };
    let (caps, cpu) = (machine.caps, Path::Cpu(MmapMode::Wb));
    let decision = match finding.kind {
        Mistake::StaleRead | Mistake::DirtyOnScreen | Mistake::DirtySurface | Mistake::DirtyAtSubmission => {
            needs_flush(caps, level, cpu, agent, Access::Read)
        }
        Mistake::LostWrite => needs_flush(caps, level, cpu, agent, Access::Write),
        Mistake::StaleCpuRead | Mistake::MissingInvalidate => {
            let writer = match finding.writer {
                Some(Route::Aperture) => Path::Cpu(MmapMode::Gtt),
                Some(Route::CpuUncached) => Path::Cpu(MmapMode::Wc),
                _ => agent,
            };
            needs_invalidate(caps, level, writer, cpu, Access::Read)
        }
        Mistake::UnflushedGpuWrite | Mistake::UndrainedStore | Mistake::RefusedRequest => return None,
    };
    [Verdict::Flush, Verdict::Invalidate].contains(&decision.verdict).then_some(decision.rule)
}

/// Returns the rule of xe behind a finding: that of the display's reads, or of the drain, or, of the GPU's other accesses, the one that a kernel
/// without it breaks.
fn wanted_of_xe(device: xe::Device, finding: &Finding) -> Option<xe::Rule> {
    let discrete = device.platform.discrete;
    let object = |caching, placement| xe::Object {
        caching: Some(caching),
        size: PAGE_BYTES,
        placement,
        flags: CreateFlags::empty(),
    };
    if finding.kind == Mistake::UnflushedGpuWrite {
        return None;
    }
    if finding.kind == Mistake::UndrainedStore {
        // System memory of discrete devices is mapped write-back.
        let stored = object(CpuCaching::Wc, if discrete { xe::LOCAL } else { xe::SYSTEM });
        let memory = xe::Memory::Object(&stored);
        let (index, when) = (device.pat.own.wb, xe::When::AfterFence);
        return Some(device.needs_flush(memory, index, Agent::Cpu, Agent::Gpu, when).rule);
    }
    if finding.route != Some(Route::Display) {
        let by_gpu = [finding.route, finding.writer].iter().any(|route| matches!(route, Some(Route::Gpu(_))));
        return (by_gpu || finding.route.is_none()).then_some(xe::Rule::CachedNotSnooped);
    }
    let shown = object(CpuCaching::Wb, xe::SYSTEM);
    // Without a store by the program, the lines are the GPU's.
    let writer = if finding.store.is_empty() && device.platform.has_llc() { Agent::Gpu } else { Agent::Cpu };
    let memory = xe::Memory::Object(&shown);
    let decision =
        device.needs_flush(memory, device.pat.own.wb, writer, Agent::Display, xe::When::AfterFence);
    (decision.verdict == xe::Verdict::Flush).then_some(decision.rule)
}

//! The findings, with the places in programs.

use gem_coherency::platform::{self, Machine};
use gem_coherency::policy::driver::{Path, needs_flush, needs_invalidate};
use gem_coherency::policy::kernel::{Creation, KernelRules, Snapshot};
use gem_coherency::policy::{Decision, Rule, Verdict};
use gem_coherency::units::{LINE_BYTES, LineRange};
use gem_coherency::vocabulary::{Access, CacheLevel, MmapMode, MocsClass};
use gem_coherency_memory_model::{Mistake, Route};
use gem_coherency_sanitizer::{Finding, RecentFlush};
use gem_coherency_sim::SimDevice;
use serde::Serialize;

use crate::rows::key::key;
use crate::rows::places::{PlaceRow, Places};

/// A finding.
#[derive(Clone, Debug, Serialize)]
pub struct FindingRow {
    /// Its kind.
    pub kind: Mistake,
    /// The device.
    pub device: String,
    /// The agent and its path: `gpu`.
    pub agent: Option<String>,
    /// The object's handle, at the first time.
    pub handle: Option<u32>,
    /// The object's size in bytes.
    pub size: u64,
    /// The object's level.
    pub level: CacheLevel,
    /// The lines at the first time: `0-15, 37`.
    pub lines: String,
    /// Number of these lines.
    pub line_count: u64,
    /// The first byte of these lines, and the one after the last.
    pub bytes: [u64; 2],
    /// How often it happened.
    pub times: u64,
    /// The rule that wants a flush or an invalidate; `None` if none does.
    pub rule: Option<Rule>,
    /// Platforms on which it is a mistake, with several judges; otherwise other platforms on which the same accesses
    /// want a flush or an invalidate, of objects as GEM_CREATE makes them.
    pub platforms: Vec<&'static str>,
    /// The call stack of the first store; empty if it is not known.
    pub store: Vec<PlaceRow>,
    /// The call stack of the load that missed an invalidate; empty otherwise.
    pub load: Vec<PlaceRow>,
    /// The call stack of the request that showed it; for a load, of the one that showed the agent's write.
    pub request: Vec<PlaceRow>,
    /// The last flushes of the object before that, by instruction.
    pub flushed: Vec<FlushedRow>,
    /// Why it is accepted; `None` if it is not suppressed.
    pub suppressed: Option<String>,
    /// What it is in a baseline: kind, agent, level and places.
    pub key: String,
    /// It is in the baseline; `None` without one.
    pub known: Option<bool>,
    /// The program was halted there: at the load, or in the request that showed it.
    pub halted: bool,
    /// The first tests that have it; empty without a suite.
    pub tests: Vec<String>,
    /// Number of these tests.
    pub test_count: u64,
}

impl FindingRow {
    /// Returns whether it is suppressed, or in the baseline.
    #[must_use]
    pub fn is_accepted(&self) -> bool {
        self.suppressed.is_some() || self.known == Some(true)
    }
}

/// Lines of an object that an instruction flushed.
#[derive(Clone, Debug, Serialize)]
pub struct FlushedRow {
    /// The function that the instruction was inlined from, and those around it.
    pub place: Vec<PlaceRow>,
    /// The last lines that it flushed: `0-15, 37`.
    pub lines: String,
    /// It flushed a line of the finding, which was stored to afterwards: it is dirty again.
    pub before_store: bool,
}

impl Places {
    pub(crate) fn finding(&mut self, finding: &Finding) -> FindingRow {
        let lines: u64 = finding.lines.iter().map(|lines| lines.end() - lines.first()).sum();
        let start = finding.lines.first().map_or(0, |lines| lines.first());
        let end = finding.lines.iter().map(|lines| lines.end()).max().unwrap_or(0);
        let own = machine_of(&finding.device);
        let first = finding.platforms.first().and_then(|name| platform::by_name(name).ok());
        let machine = own.map(|own| first.map_or(own, |first| first.machine(own.kernel, false)));
        let platforms = match (machine, first) {
            (Some(machine), None) => others(machine, finding),
            (_, Some(_)) | (None, None) => finding.platforms.clone(),
        };
        // Its name says it.
        let agent = finding.route.filter(|_| finding.kind != Mistake::DirtyOnScreen).map(route_name);
        let store = self.stack(&finding.store, false);
        let load = self.stack(&finding.load, false);
        let request = self.stack(&finding.request, true);
        FindingRow {
            kind: finding.kind,
            device: finding.device.clone(),
            agent: agent.map(str::to_owned),
            handle: finding.handle.map(|handle| handle.get()),
            size: finding.size,
            level: finding.level,
            lines: LineRange::list(&finding.lines),
            line_count: lines,
            bytes: [start * LINE_BYTES, end * LINE_BYTES],
            times: finding.times,
            rule: machine
                .and_then(|machine| wanted(machine, finding.level, finding))
                .map(|decision| decision.rule),
            platforms,
            key: key(finding.kind, agent, finding.level, [&load, &store, &request]),
            store,
            load,
            request,
            flushed: finding.flushes.iter().map(|flush| self.flushed(finding, flush)).collect(),
            suppressed: None,
            known: None,
            halted: finding.halted,
            tests: Vec::new(),
            test_count: 0,
        }
    }

    fn flushed(&mut self, finding: &Finding, flush: &RecentFlush) -> FlushedRow {
        let are_dirty = match finding.kind {
            Mistake::StaleRead
            | Mistake::LostWrite
            | Mistake::DirtyOnScreen
            | Mistake::DirtySurface
            | Mistake::DirtyAtSubmission => true,
            Mistake::StaleCpuRead | Mistake::MissingInvalidate => false,
        };
        let hits =
            |lines: &LineRange| finding.lines.iter().any(|dirty| !dirty.intersection(*lines).is_empty());
        FlushedRow {
            place: flush.stack.first().map(|frame| self.place(frame, false)).unwrap_or_default(),
            lines: LineRange::list(&flush.lines),
            before_store: are_dirty && flush.lines.iter().any(hits),
        }
    }
}

/// Returns the machine of a software device.
fn machine_of(device: &str) -> Option<Machine> {
    SimDevice::open_for_programs(device).ok().map(|soft| soft.machine())
}

fn route_name(route: Route) -> &'static str {
    match route {
        Route::CpuCached => "CPU through its caches",
        Route::CpuNonTemporal => "CPU by non-temporal stores",
        Route::CpuUncached => "CPU around its caches",
        Route::Aperture => "CPU through the aperture",
        Route::Gpu(MocsClass::PageTable) => "GPU",
        Route::Gpu(MocsClass::Uncached) => "GPU (uncached)",
        Route::Gpu(MocsClass::BypassLlc) => "GPU (bypassing the LLC)",
        Route::Display => "display engine",
    }
}

/// Returns the decision that wants a flush or an invalidate for the accesses of a finding, for objects of a level.
fn wanted(machine: Machine, level: CacheLevel, finding: &Finding) -> Option<Decision> {
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
    };
    [Verdict::Flush, Verdict::Invalidate].contains(&decision.verdict).then_some(decision)
}

/// Returns the other platforms that want the same, for objects as GEM_CREATE makes them there.
fn others(machine: Machine, finding: &Finding) -> Vec<&'static str> {
    let Ok(rules) = KernelRules::of(machine.kernel) else { return Vec::new() };
    let wants = |platform: &&&'static platform::Platform| {
        let other = platform.machine(machine.kernel, false);
        Snapshot::created(other.caps, &rules, Creation::User)
            .is_ok_and(|created| wanted(other, created.level, finding).is_some())
    };
    let others = platform::all().iter().filter(|platform| platform.name != machine.platform.name);
    others.filter(wants).map(|platform| platform.name).collect()
}

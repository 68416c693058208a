//! The findings, with the places in programs.

use gem_coherency::platform::Driver;
use gem_coherency::units::{LINE_BYTES, LineRange};
use gem_coherency::vocabulary::{CacheLevel, MocsClass};
use gem_coherency::xe::CpuCaching;
use gem_coherency_memory_model::{Mistake, Route};
use gem_coherency_sanitizer::{Finding, JudgingPlatform, RecentFlush};
use serde::Serialize;

use crate::rows::key::key;
use crate::rows::places::{PlaceRow, Places};
use crate::rows::rules::{DriverRule, machine_of, others, rule_of};

/// A finding.
#[derive(Clone, Debug, Serialize)]
pub struct FindingRow {
    /// Its kind.
    pub kind: Mistake,
    /// The device.
    pub device: String,
    /// The driver of the device.
    pub driver: Driver,
    /// The agent and its path: `gpu`.
    pub agent: Option<String>,
    /// The object's handle, at the first time.
    pub handle: Option<u32>,
    /// The object's size in bytes.
    pub size: u64,
    /// The object's level.
    pub level: CacheLevel,
    /// How the CPU maps the object, under xe; `None` if that is not known.
    pub cpu_caching: Option<CpuCaching>,
    /// The request that the kernel refused; `None` for another kind.
    pub refused: Option<RefusedRow>,
    /// The lines at the first time: `0-15, 37`.
    pub lines: String,
    /// Number of these lines.
    pub line_count: u64,
    /// The first byte of these lines, and the one after the last.
    pub bytes: [u64; 2],
    /// How often it happened.
    pub times: u64,
    /// The rule that wants a flush or an invalidate, or that refused the request; `None` if none does.
    pub rule: Option<DriverRule>,
    /// Platforms on which it is a mistake, with several judges; otherwise other platforms on which the same accesses
    /// want a flush or an invalidate, of objects as GEM_CREATE makes them (i915), or that are mapped write-back (xe).
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

/// A request that the kernel refused.
#[derive(Clone, Debug, Serialize)]
pub struct RefusedRow {
    /// Its name in the uAPI header.
    pub request: &'static str,
    /// The errno's name.
    pub errno: String,
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
        let first = finding.platforms.first().and_then(|name| JudgingPlatform::by_name(name).ok());
        let machine = own.map(|own| first.and_then(|first| first.machine(own.kernel).ok()).unwrap_or(own));
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
            driver: machine.map_or(Driver::I915, |machine| machine.driver),
            agent: agent.map(str::to_owned),
            handle: finding.handle.map(|handle| handle.get()),
            size: finding.size,
            level: finding.level,
            cpu_caching: finding.caching,
            refused: finding.refused.map(|refused| RefusedRow {
                request: refused.request,
                errno: refused.errno.name().map_or_else(|| refused.errno.to_string(), str::to_owned),
            }),
            lines: LineRange::list(&finding.lines),
            line_count: lines,
            bytes: [start * LINE_BYTES, end * LINE_BYTES],
            times: finding.times,
            rule: machine.and_then(|machine| rule_of(machine, finding)),
            platforms,
            key: key(
                finding.kind,
                agent.or(finding.refused.map(|refused| refused.rule.name())),
                finding.level,
                [&load, &store, &request],
            ),
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
            Mistake::StaleCpuRead
            | Mistake::MissingInvalidate
            | Mistake::UnflushedGpuWrite
            | Mistake::UndrainedStore
            | Mistake::RefusedRequest => false,
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

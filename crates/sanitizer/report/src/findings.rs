//! Runs a program, and reports its mistakes.

use std::num::NonZeroUsize;
use std::path::Path as FilePath;
use std::sync::Arc;

use gem_coherency::platform::{self, Machine};
use gem_coherency::policy::driver::{Path, needs_flush, needs_invalidate};
use gem_coherency::policy::kernel::{Creation, KernelRules, Snapshot};
use gem_coherency::policy::{Decision, Rule, Verdict};
use gem_coherency::units::LINE_BYTES;
use gem_coherency::vocabulary::{Access, CacheLevel, MmapMode, MocsClass};
use gem_coherency_memory_model::Route;
use gem_coherency_sanitizer::{Finding, FindingKind, Frame, RecentFlush, Sanitizer};
use gem_coherency_server::Settings;
use gem_coherency_trap::symbols::{Place, Symbols};
use serde::Serialize;

use super::across::{self, PlatformsRow};
use super::coverage::{self, CoverageRow, NOTHING_JUDGED};
use super::disagreements::DisagreementRow;
use super::domain_changes::{self, DomainRow};
use super::flushes::{self, FlushRow};
use super::history::{self, Picture};
use super::machine_of;
use super::run::on_server;
use super::suppressions::{self, Suppression};
use crate::args;
use crate::cmd::check::has_folder;
use crate::failure::Failure;
use gemtool::line_set::ranges;

/// The mistakes of a program.
#[derive(Clone, Debug, Serialize)]
pub struct Sanitized {
    /// The devices.
    pub devices: Vec<String>,
    /// The program and its arguments.
    pub program: Vec<String>,
    /// The program's exit status, as a shell has it.
    pub status: u8,
    /// The findings, in the order of their first times.
    pub findings: Vec<FindingRow>,
    /// The places that flushed lines of objects.
    pub flushes: Vec<FlushRow>,
    /// The requests that moved objects between domains.
    pub domain_changes: Vec<DomainRow>,
    /// The picture, if one was asked for.
    pub picture: Option<Picture>,
    /// The suppressions, and what each of them hid.
    pub suppressions: Vec<Suppression>,
    /// The verdicts of the platforms, if there are several judges.
    pub platforms: Vec<PlatformsRow>,
    /// Number of lines that the GPU wrote, and may have lost: the program may have stored the bytes that were there, and flushed
    /// nothing.
    pub possibly_lost: u64,
    /// Number of flushes and accesses that the judges did not see: more than the logs have room for between two requests.
    pub lost: u64,
    /// The requests that the kernel of a real device answered otherwise than the software device.
    pub disagreements: Vec<DisagreementRow>,
    /// The sentence that nothing was judged, with the reason; `None` if something was.
    pub nothing_judged: Option<String>,
    /// What the devices simulated of the program's work.
    pub coverage: Vec<CoverageRow>,
}

/// A finding.
#[derive(Clone, Debug, Serialize)]
pub struct FindingRow {
    /// Its kind: `stale read`.
    pub kind: &'static str,
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
    /// The first byte of these lines, and the one behind the last.
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
}

/// Lines of an object that an instruction flushed.
#[derive(Clone, Debug, Serialize)]
pub struct FlushedRow {
    /// The function that the instruction was inlined from, and those around it.
    pub place: Vec<PlaceRow>,
    /// The last lines that it flushed: `0-15, 37`.
    pub lines: String,
}

/// A place in a program.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PlaceRow {
    /// The function.
    pub function: Option<String>,
    /// The source file.
    pub file: Option<String>,
    /// The line in it.
    pub line: Option<u32>,
    /// The program or library.
    pub module: String,
    /// The address in it.
    pub address: u64,
}

impl Sanitized {
    /// Returns whether nothing was found, other than flushes that are merely useless, and what is suppressed.
    pub fn is_clean(&self) -> bool {
        self.findings.iter().all(|finding| finding.suppressed.is_some())
    }

    /// Returns the exit status: the program's, unless the arguments want another one.
    pub fn exit_status(&self, args: &args::Sanitize) -> u8 {
        match args.error_exitcode {
            Some(status) if !self.is_clean() => status,
            _ if self.nothing_judged.is_some() && self.status == 0 && !args.allow_nothing_judged => {
                NOTHING_JUDGED
            }
            Some(_) | None => self.status,
        }
    }
}

/// Runs the program and collects the findings.
///
/// # Errors
/// As [`on_server`], and [`suppressions::read`].
pub fn sanitize(args: &args::Sanitize) -> Result<Sanitized, Failure> {
    let mut suppressions = match &args.suppressions {
        Some(path) => suppressions::read(path)?,
        None => Vec::new(),
    };
    if let Some(path) = &args.svg {
        has_folder(path)?;
    }
    let devices = args.specs();
    let kernels: Vec<_> =
        devices.iter().filter_map(|device| machine_of(device)).map(|machine| machine.kernel).collect();
    let judges = args.platforms.as_ref().map_or(Ok(Vec::new()), |judges| judges.under(&kernels));
    let judges = judges.map_err(|error| Failure::flag("--platforms", error))?;
    let sanitizer = Arc::new(Sanitizer::new(&judges, args.svg.is_some()));
    let settings = Settings { folder: None, judge: Some(sanitizer.clone()) };
    let (status, server) = on_server(&devices, &args.program, &settings)?;
    let mut places = Places(Symbols::new());
    let found = sanitizer.findings(&server);
    let mut findings: Vec<_> = found.iter().map(|finding| places.finding(finding)).collect();
    let mut flushes = flushes::rows(&mut places, &sanitizer.flush_sites(&server), !judges.is_empty());
    let mut domain_changes = domain_changes::rows(&mut places, &sanitizer.domain_sites(), !judges.is_empty());
    suppressions::apply(&mut suppressions, &mut findings, &mut flushes, &mut domain_changes);
    let coverage = coverage::rows(&server);
    // What was found was judged.
    let nothing_judged = if findings.is_empty() { coverage::nothing_judged(&coverage) } else { None };
    let platforms = across::verdicts(&judges, &sanitizer.refusals(&server), &findings);
    let picture = args.svg.clone().map(|path| {
        let number = args.finding.map_or(1, NonZeroUsize::get);
        let shown = findings.iter().enumerate().filter(|(_, row)| row.suppressed.is_none()).nth(number - 1);
        let view = shown
            .and_then(|(at, row)| history::view(&mut places, found.get(at)?, row, sanitizer.history(at)?));
        Picture { path, finding: number, written: false, view }
    });
    Ok(Sanitized {
        devices,
        program: args.program.iter().map(|word| word.to_string_lossy().into_owned()).collect(),
        status,
        findings,
        flushes,
        domain_changes,
        picture,
        suppressions,
        platforms,
        possibly_lost: sanitizer.possibly_lost(),
        lost: sanitizer.lost(),
        disagreements: server.disagreements().iter().map(DisagreementRow::of).collect(),
        nothing_judged,
        coverage,
    })
}

/// Finds the functions and lines of addresses.
pub(super) struct Places(Symbols);

impl Places {
    /// Returns the function that a frame is in, after those that were inlined there.
    fn place(&mut self, frame: &Frame, is_call: bool) -> Vec<PlaceRow> {
        // A return address is behind its call.
        let address = if is_call { frame.address.saturating_sub(1) } else { frame.address };
        let row = |found: Place| PlaceRow {
            function: found.function,
            file: found.file,
            line: found.line,
            module: frame.module.clone(),
            address: frame.address,
        };
        self.0.resolve_inlined(FilePath::new(&frame.module), address).into_iter().map(row).collect()
    }

    /// Returns the places of a call stack; the first frame is that of a call, or of an instruction.
    pub(super) fn stack(&mut self, frames: &[Frame], first_is_call: bool) -> Vec<PlaceRow> {
        let frames = frames.iter().enumerate();
        frames.flat_map(|(n, frame)| self.place(frame, n > 0 || first_is_call)).collect()
    }

    fn finding(&mut self, finding: &Finding) -> FindingRow {
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
        let agent = finding.route.filter(|_| finding.kind != FindingKind::DirtyOnScreen);
        FindingRow {
            kind: kind_name(finding.kind),
            device: finding.device.clone(),
            agent: agent.map(|route| route_name(route).to_owned()),
            handle: finding.handle.map(|handle| handle.get()),
            size: finding.size,
            level: finding.level,
            lines: ranges(&finding.lines),
            line_count: lines,
            bytes: [start * LINE_BYTES, end * LINE_BYTES],
            times: finding.times,
            rule: machine
                .and_then(|machine| wanted(machine, finding.level, finding))
                .map(|decision| decision.rule),
            platforms,
            store: self.stack(&finding.store, false),
            load: self.stack(&finding.load, false),
            request: self.stack(&finding.request, true),
            flushed: finding.flushes.iter().map(|flush| self.flushed(flush)).collect(),
            suppressed: None,
        }
    }

    fn flushed(&mut self, flush: &RecentFlush) -> FlushedRow {
        FlushedRow {
            place: flush.stack.first().map(|frame| self.place(frame, false)).unwrap_or_default(),
            lines: ranges(&flush.lines),
        }
    }
}

fn kind_name(kind: FindingKind) -> &'static str {
    match kind {
        FindingKind::StaleRead => "stale read",
        FindingKind::LostWrite => "lost write",
        FindingKind::StaleCpuRead => "stale CPU read",
        FindingKind::MissingInvalidate => "missing invalidate",
        FindingKind::DirtyOnScreen => "dirty on screen",
        FindingKind::DirtySurface => "dirty surface",
        FindingKind::DirtyAtSubmission => "dirty at submission",
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

/// Returns the decision that wants a flush or an invalidate for the accesses of a finding, for objects of a level.
fn wanted(machine: Machine, level: CacheLevel, finding: &Finding) -> Option<Decision> {
    let agent = match finding.route {
        Some(Route::Display) => Path::Display,
        Some(Route::Gpu(mocs)) => Path::Gpu(mocs),
        _ => Path::Gpu(MocsClass::PageTable),
    };
    let (caps, cpu) = (machine.caps, Path::Cpu(MmapMode::Wb));
    let decision = match finding.kind {
        FindingKind::StaleRead
        | FindingKind::DirtyOnScreen
        | FindingKind::DirtySurface
        | FindingKind::DirtyAtSubmission => needs_flush(caps, level, cpu, agent, Access::Read),
        FindingKind::LostWrite => needs_flush(caps, level, cpu, agent, Access::Write),
        FindingKind::StaleCpuRead | FindingKind::MissingInvalidate => {
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

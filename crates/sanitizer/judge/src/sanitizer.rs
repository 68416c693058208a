//! The judge that a server calls, and its results.

use std::collections::BTreeMap;
use std::fs::File;
use std::sync::{Arc, OnceLock};

use gem_coherency::units::LineRange;
use gem_coherency_protocol::Frame;
use gem_coherency_server::{Done, Judge, Program, RecordWriters, Session};
use gem_coherency_sim::{MadeStale, Screens, SimDevice};

use crate::domain_calls::DomainSite;
use crate::findings::{Finding, Findings, Listener};
use crate::history::History;
use crate::judging::{JudgingPlatform, NotAlike};
use crate::run_judges::{FlushSite, RunJudges};
use crate::{collect, loads, screens};

/// Judges the programs of one session.
#[derive(Debug)]
pub struct Sanitizer {
    findings: Findings,
    listener: Option<Arc<dyn Listener>>,
    platforms: Vec<JudgingPlatform>,
    /// The judges of the devices' traces, once there are devices.
    judges: OnceLock<RunJudges>,
}

impl Sanitizer {
    /// Creates the judge of a session that has not begun, and that tells `listener` of findings when they happen.
    ///
    /// What programs do is judged by `platforms` in place of the devices' own, and the devices then tell every program the newest bytes;
    /// without any, by the devices' own. With `history`, the histories of objects are recorded, too, for findings by the devices' own.
    #[must_use]
    pub fn new(platforms: &[JudgingPlatform], history: bool, listener: Option<Arc<dyn Listener>>) -> Self {
        let findings = Findings::new(history && platforms.is_empty());
        Self { findings, listener, platforms: platforms.to_vec(), judges: OnceLock::new() }
    }

    /// Returns what programs did wrong so far.
    #[must_use]
    pub fn findings(&self, session: &Session) -> Vec<Finding> {
        session.reap();
        screens::settle(&self.findings, session.devices());
        self.findings.all()
    }

    /// Returns the flushes of programs so far by place, with the verdicts that they have if the run ends now.
    #[must_use]
    pub fn flush_sites(&self, session: &Session) -> Vec<FlushSite> {
        self.judges.get().map(|judges| judges.sites(session.devices())).unwrap_or_default()
    }

    /// Returns the number of lines that a GPU wrote without looking into the cache, where a program may have stored the bytes that were
    /// there, which is not seen: what the GPU wrote there may be lost.
    #[must_use]
    pub fn possibly_lost(&self) -> u64 {
        self.judges.get().map_or(0, RunJudges::possibly_lost)
    }

    /// Returns what programs did that is not the same on a platform, by name: requests that it refuses, and what is not judged there. Empty unless
    /// several platforms judge.
    #[must_use]
    pub fn not_alike(&self, session: &Session) -> BTreeMap<&'static str, NotAlike> {
        let judges = self.judges.get().filter(|judges| judges.by_many);
        judges.map(|judges| judges.not_alike(session.devices())).unwrap_or_default()
    }

    /// Returns the number of flushes and accesses that were lost, so that judgements by several platforms may be wrong: programs made
    /// too many between two requests.
    #[must_use]
    pub fn lost(&self) -> u64 {
        self.judges.get().map_or(0, RunJudges::lost)
    }

    /// Returns the domain changes of programs so far by place.
    #[must_use]
    pub fn domain_sites(&self) -> Vec<DomainSite> {
        self.findings.domains.all()
    }

    /// Returns what happened to a finding's object before its first time, if that is recorded; `finding` is the place in
    /// [`Self::findings`]. The first 64 findings have histories, of objects of up to 16 MiB.
    #[must_use]
    pub fn history(&self, finding: usize) -> Option<History> {
        self.findings.history(finding)
    }

    /// Adds what was found on a device since the last time, and notes stale lines: those that were `made` before the request, and by it.
    fn collect(&self, program: &dyn Program, device: &SimDevice, mut made: Vec<MadeStale>) {
        let number = program.devices().iter().position(|other| other.is_same_device(device));
        let judges = self.judges.get().zip(number);
        let judged = judges.map(|(judges, number)| judges.judge(number, device)).unwrap_or_default();
        made.extend(match judges {
            Some((judges, number)) if judges.by_many => judges.made_stale(number),
            Some(_) | None => device.made_stale(),
        });
        if let Some((judges, number)) = judges {
            judges.hide(number, |object, lines| program.see_loads(device, object, lines));
        }
        collect::collect(&self.findings, device, judged, || program.stack());
        loads::note(&self.findings, device, made, program);
    }
}

impl Judge for Sanitizer {
    fn begin(&self, devices: &[SimDevice]) {
        let by_many = self.judges.get_or_init(|| RunJudges::new(devices, &self.platforms)).by_many;
        for device in devices {
            device.watch(!by_many);
            device.record(self.findings.histories.is_some());
        }
    }

    /// Of a run that many platforms judge, a line's bytes do not tell whether it is stale.
    fn wants_loads(&self) -> bool {
        !self.platforms.is_empty()
    }

    fn add_stores(&self, devices: &[SimDevice], file: File, writers: &Arc<RecordWriters>) {
        self.findings.stores.add(file, writers, |object| has_object(devices, object));
    }

    fn add_flushes(&self, devices: &[SimDevice], file: File, writers: &Arc<RecordWriters>) {
        let file = Arc::new(file);
        if let Some(judges) = self.judges.get() {
            judges.add_log(Arc::clone(&file), writers);
        }
        self.findings.add_records(file, writers, |object| has_object(devices, object));
    }

    fn before(&self, devices: &[SimDevice], device: Option<&SimDevice>, code: u32) -> Option<Screens> {
        if let Some(judges) = self.judges.get() {
            judges.hear_flushes(devices);
        }
        collect::hear_flushes(&self.findings);
        device.and_then(|device| {
            screens::go_on(&self.findings);
            screens::before(device, code)
        })
    }

    fn after(&self, program: &dyn Program, done: Done<'_>) {
        if let Some(device) = done.device {
            if let Some(before) = done.screens {
                device.screens_changed(before);
            }
            if done.succeeded {
                collect::show(device, done.code);
            }
        }
        let mut made = done.made_stale;
        for device in done.on {
            self.collect(program, device, std::mem::take(&mut made));
        }
    }

    fn loaded(&self, devices: &[SimDevice], object: u64, lines: LineRange, stack: Vec<Frame>) {
        let judged = self.judges.get().map(|judges| (judges.by_many, judges.load(devices, object, lines)));
        let judged = judged.and_then(|(by_many, verdicts)| by_many.then_some(verdicts));
        loads::add(&self.findings, devices, object, lines, judged, stack);
    }

    fn before_exit_or_close(&self, program: &dyn Program, closes: bool) {
        screens::before_exit_or_close(&self.findings, self.judges.get(), program, closes);
    }

    fn settle(&self, devices: &[SimDevice]) {
        screens::settle(&self.findings, devices);
    }

    fn halts(&self) -> bool {
        self.listener.as_deref().is_some_and(|listener| self.findings.tell(listener))
    }

    fn sees_loads(&self, object: u64) -> bool {
        self.judges.get().is_some_and(|judges| judges.is_hidden(object))
    }

    fn stale_lines(&self, object: u64) -> Vec<LineRange> {
        self.findings.stale.lines_of(object)
    }
}

/// Returns whether one of the devices has an object with a number.
fn has_object(devices: &[SimDevice], object: u64) -> bool {
    devices.iter().any(|device| device.has_object(object))
}

//! Tells programs which lines agents made stale, and adds the loads of such lines that programs report.
//!
//! A program learns of stale lines at its next request, or when it maps the object. It looks at the bytes itself: a line that is not
//! stale any more is no mistake. In a run that many platforms judge it reports the first load of each line, and the judge decides.

use gem_coherency::units::LineRange;
use gem_coherency::vocabulary::CacheLevel;
use gem_coherency_memory_model::{Mistake, Route};
use gem_coherency_protocol::Frame;
use gem_coherency_server::Program;
use gem_coherency_sim::{MadeStale, SimDevice};

use crate::findings::{Finding, Findings};
use crate::history::Histories;
use crate::platforms::Verdict;
use crate::stale::{FoundLoad, Written};

/// Notes which lines of `device` were `made` stale, of which programs are told.
pub(crate) fn note(findings: &Findings, device: &SimDevice, made: Vec<MadeStale>, program: &dyn Program) {
    if !made.is_empty() {
        let request = program.stack();
        for stale in made {
            program.note_stale(stale.object, &stale.lines);
            findings.stale.wrote(device, stale, request.clone());
        }
    }
}

/// Adds the findings of a load, with its call stack, of lines of an object. The load got old bytes, or is `judged` by many
/// platforms. Loads by one place since the last write are one.
pub(crate) fn add(
    findings: &Findings,
    devices: &[SimDevice],
    object: u64,
    lines: LineRange,
    judged: Option<Vec<Verdict>>,
    load: Vec<Frame>,
) {
    findings.stale.with_write(object, |written| match judged {
        None => {
            let level = written.stale.level;
            let loaded = Loaded { lines: vec![lines], level, platforms: Vec::new() };
            add_load(findings, devices, written, loaded, load);
        }
        Some(verdicts) => {
            for Verdict { lines, level, platforms, .. } in verdicts {
                let platforms = platforms.into_iter().map(|platform| platform.name()).collect();
                add_load(findings, devices, written, Loaded { lines, level, platforms }, load.clone());
            }
        }
    });
}

/// Old copies that a load got.
struct Loaded {
    lines: Vec<LineRange>,
    level: CacheLevel,
    /// As [`Finding::platforms`].
    platforms: Vec<&'static str>,
}

fn add_load(
    findings: &Findings,
    devices: &[SimDevice],
    written: &mut Written,
    loaded: Loaded,
    load: Vec<Frame>,
) {
    let Loaded { lines, level, platforms } = loaded;
    let known = written.found.iter().find(|known| known.load == load && known.platforms == platforms);
    match known.map(|known| known.finding) {
        Some(Some(index)) => lines.into_iter().for_each(|lines| findings.extend(index, lines)),
        Some(None) => {}
        None => {
            let Written { device, stale, request, .. } = &*written;
            let history = |histories: &Histories| {
                // One of the devices has the object.
                let states = devices.iter().find_map(|device| device.line_states(stale.object))?;
                histories.up_to_load(stale.object, &states, &lines, &load)
            };
            let object = (stale.object, stale.handle, stale.size);
            let finding = Finding {
                caching: devices.iter().find_map(|device| device.cpu_caching(stale.object)),
                route: Some(Route::CpuCached),
                writer: Some(stale.route),
                load: load.clone(),
                request: request.clone(),
                platforms: platforms.clone(),
                ..Finding::new(Mistake::MissingInvalidate, device, object, level, lines.clone())
            };
            let exported_as = devices.iter().find_map(|device| device.exported_as(stale.object));
            let finding = findings.add(finding, exported_as, history);
            written.found.push(FoundLoad { load, platforms, finding });
        }
    }
}

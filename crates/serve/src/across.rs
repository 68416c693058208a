//! A run that is judged by many platforms: the devices' traces, the programs' logs of flushes, and a judge per device.

use std::collections::BTreeMap;
use std::fs::File;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use gem_coherency::platform::Platform;
use gem_coherency::units::{LINE_BYTES, LineRange};
use gem_coherency_sim::{MadeStale, Soft, Upkeep};
use gem_coherency_wire::{Frame, LineEffect};

use crate::domain_calls::DomainChange;
use crate::flush_logs::FlushLogs;
use crate::platforms::{Judge, Verdict};

/// A run that is judged by many platforms.
#[derive(Debug)]
pub(crate) struct Across {
    judges: Vec<Mutex<Judge>>,
    logs: FlushLogs,
}

/// Judgements by many platforms.
#[derive(Debug, Default)]
pub(crate) struct Judged {
    /// The mistakes.
    pub(crate) verdicts: Vec<Verdict>,
    /// The calls that move objects between domains.
    pub(crate) domain_changes: Vec<DomainChange>,
}

impl Across {
    /// Begins to trace `devices`, which have no objects yet, and to judge what happens by `platforms`.
    pub(crate) fn new(devices: &[Soft], platforms: &[&'static Platform]) -> Self {
        devices.iter().for_each(Soft::trace);
        let judge = |device: &Soft| Judge::new(device.machine(), device.rules(), platforms);
        Self { judges: devices.iter().map(judge).map(Mutex::new).collect(), logs: FlushLogs::default() }
    }

    /// Adds a program's log, which is behind its records in `file`.
    pub(crate) fn add_log(&self, file: Arc<File>) {
        self.logs.add(file);
    }

    /// Adds what programs flushed since the last time to the traces of `devices`.
    pub(crate) fn hear_flushes(&self, devices: &[Soft]) {
        self.logs.read(|site, flushed| {
            let upkeep = match flushed.effect {
                LineEffect::Flush => Upkeep::Flush,
                LineEffect::WriteBack => Upkeep::WriteBack,
                LineEffect::NonTemporal => Upkeep::NonTemporal,
            };
            let mut bytes = [0; LINE_BYTES as usize];
            bytes.as_chunks_mut().0.iter_mut().zip(flushed.bytes).for_each(|(to, word)| {
                *to = word.to_ne_bytes();
            });
            // One of the devices has the object.
            for device in devices {
                device.maintained(flushed.object, flushed.line, upkeep, site, &bytes);
            }
        });
    }

    /// Judges what happened on a device since the last time.
    pub(crate) fn judge(&self, number: usize, device: &Soft) -> Judged {
        let Some(judge) = self.judges.get(number) else { return Judged::default() };
        // Held first, so that parts of a trace are judged in their order.
        let mut judge = lock(judge);
        judge.hear(device.take_trace());
        Judged { verdicts: judge.take_verdicts(), domain_changes: judge.take_domain_changes() }
    }

    /// Returns and clears the lines of a device of which a write made old copies on some platform, as far as it is judged.
    pub(crate) fn made_stale(&self, number: usize) -> Vec<MadeStale> {
        self.judges.get(number).map(|judge| lock(judge).take_made_stale()).unwrap_or_default()
    }

    /// Judges a program's load of an object's lines, behind what it stored and flushed so far.
    pub(crate) fn load(&self, devices: &[Soft], object: u64, lines: LineRange) -> Vec<Verdict> {
        self.hear_flushes(devices);
        let of_device = |(judge, device): (&Mutex<Judge>, &Soft)| {
            let mut judge = lock(judge);
            device.trace_stores(object, lines);
            judge.hear(device.take_trace());
            judge.load(object, lines)
        };
        self.judges.iter().zip(devices).flat_map(of_device).collect()
    }

    /// Returns the platforms on which a line needed the flush by an instruction.
    pub(crate) fn needed_on(&self, frame: &Frame) -> Vec<&'static Platform> {
        let Some(site) = self.logs.number(frame) else { return Vec::new() };
        let mut platforms: Vec<&'static Platform> = Vec::new();
        for judge in &self.judges {
            let of_device = lock(judge).needed_on(site);
            let more = of_device.into_iter().filter(|one| !platforms.contains(one)).collect::<Vec<_>>();
            platforms.extend(more);
        }
        platforms
    }

    /// Returns the platforms that refuse requests which `devices` accepted, with the reasons.
    pub(crate) fn refusals(&self, devices: &[Soft]) -> BTreeMap<&'static str, Vec<&'static str>> {
        let mut all: BTreeMap<&'static str, Vec<&'static str>> = BTreeMap::new();
        let of_device =
            |(judge, device): (&Mutex<Judge>, &Soft)| lock(judge).refusals(&device.accepted_calls());
        for (platform, reasons) in self.judges.iter().zip(devices).flat_map(of_device) {
            let known = all.entry(platform.name).or_default();
            for why in reasons {
                if !known.contains(&why) {
                    known.push(why);
                }
            }
        }
        all
    }

    /// Returns the number of flushes and other facts that were lost.
    pub(crate) fn lost(&self) -> u64 {
        self.judges.iter().fold(self.logs.lost(), |sum, judge| sum.saturating_add(lock(judge).dropped()))
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

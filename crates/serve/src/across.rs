//! A run that is judged by many platforms: the devices' traces, the programs' logs of flushes, and a judge per device.

use std::collections::BTreeMap;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use gem_coherency::platform::Platform;
use gem_coherency::units::LINE_BYTES;
use gem_coherency_sim::{Soft, Upkeep};
use gem_coherency_wire::{
    ENTRY_BYTES, Entry, Flushed, Frame, LOG_ENTRIES, LineEffect, MOST_SITES, SITE_BYTES, SiteCounts, entry_at,
};

use crate::platforms::{Judge, Verdict};

/// The offset of the log in the file of a program's records.
const LOG_AT: u64 = (MOST_SITES * SITE_BYTES) as u64;

/// A run that is judged by many platforms.
#[derive(Debug)]
pub(crate) struct Across {
    judges: Vec<Mutex<Judge>>,
    logs: Mutex<Logs>,
}

/// The logs of programs, and the instructions in them.
#[derive(Debug, Default)]
struct Logs {
    open: Vec<Log>,
    /// The numbers of instructions, which all programs share.
    sites: BTreeMap<Frame, u64>,
    lost: u64,
}

/// A program's log of flushes.
#[derive(Debug)]
struct Log {
    file: Arc<File>,
    /// The number of the next entry.
    next: u64,
    /// Earlier ones that were being written.
    unfinished: Vec<u64>,
    /// The number of the instruction that each record describes.
    sites: BTreeMap<u32, u64>,
}

impl Across {
    /// Begins to trace `devices`, which have no objects yet, and to judge what happens by `platforms`.
    pub(crate) fn new(devices: &[Soft], platforms: &[&'static Platform]) -> Self {
        devices.iter().for_each(Soft::trace);
        let judge = |device: &Soft| Judge::new(device.machine(), device.rules(), platforms);
        Self { judges: devices.iter().map(judge).map(Mutex::new).collect(), logs: Mutex::default() }
    }

    /// Adds a program's log, which is behind its records in `file`.
    pub(crate) fn add_log(&self, file: Arc<File>) {
        let log = Log { file, next: 0, unfinished: Vec::new(), sites: BTreeMap::new() };
        lock(&self.logs).open.push(log);
    }

    /// Adds what programs flushed since the last time to the traces of `devices`.
    pub(crate) fn hear_flushes(&self, devices: &[Soft]) {
        let mut logs = lock(&self.logs);
        let Logs { open, sites, lost } = &mut *logs;
        for log in open {
            log.read(lost, |log, flushed| {
                let site = log.site(sites, flushed.site);
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
    }

    /// Returns the mistakes on a device since the last time.
    pub(crate) fn verdicts(&self, number: usize, device: &Soft) -> Vec<Verdict> {
        let Some(judge) = self.judges.get(number) else { return Vec::new() };
        // Held first, so that parts of a trace are judged in their order.
        let mut judge = lock(judge);
        judge.hear(device.take_trace())
    }

    /// Returns the platforms on which a line needed the flush by an instruction.
    pub(crate) fn needed_on(&self, frame: &Frame) -> Vec<&'static Platform> {
        let Some(site) = lock(&self.logs).sites.get(frame).copied() else { return Vec::new() };
        let mut platforms: Vec<&'static Platform> = Vec::new();
        for judge in &self.judges {
            let of_device = lock(judge).needed_on(site);
            let more = of_device.into_iter().filter(|one| !platforms.contains(one)).collect::<Vec<_>>();
            platforms.extend(more);
        }
        platforms
    }

    /// Returns the platforms that refuse requests of the run, with the reasons.
    pub(crate) fn refusals(&self) -> BTreeMap<&'static str, Vec<&'static str>> {
        let mut all: BTreeMap<&'static str, Vec<&'static str>> = BTreeMap::new();
        for (platform, reasons) in self.judges.iter().flat_map(|judge| lock(judge).refusals()) {
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
        self.judges.iter().fold(lock(&self.logs).lost, |sum, judge| sum.saturating_add(lock(judge).dropped()))
    }
}

impl Log {
    /// Passes the entries that are complete to `take`; counts those that are lost.
    fn read(&mut self, lost: &mut u64, mut take: impl FnMut(&mut Self, Flushed)) {
        let Some(begun) = self.begun().filter(|&begun| begun != self.next || !self.unfinished.is_empty())
        else {
            return;
        };
        let oldest = begun.saturating_sub(LOG_ENTRIES);
        *lost = lost.saturating_add(oldest.saturating_sub(self.next));
        let mut earlier = std::mem::take(&mut self.unfinished);
        earlier.retain(|&number| number >= oldest);
        let numbers = earlier.into_iter().chain(oldest.max(self.next)..begun);
        self.next = begun;
        for number in numbers {
            match self.entry(number) {
                Entry::Complete(flushed) => take(self, flushed),
                Entry::Unfinished => self.unfinished.push(number),
                Entry::Lost => *lost = lost.saturating_add(1),
            }
        }
    }

    /// Returns the number of entries that were begun; `None` if the program made the file shorter.
    fn begun(&self) -> Option<u64> {
        let mut word = [0; 8];
        self.file.read_exact_at(&mut word, LOG_AT).ok()?;
        Some(u64::from_ne_bytes(word))
    }

    fn entry(&self, number: u64) -> Entry {
        let mut bytes = [0; ENTRY_BYTES];
        match self.file.read_exact_at(&mut bytes, LOG_AT + entry_at(number)) {
            Ok(()) => Entry::from_bytes(number, &bytes),
            Err(_) => Entry::Lost,
        }
    }

    /// Returns the number of the instruction that a record describes; a new one gets the next number.
    fn site(&mut self, sites: &mut BTreeMap<Frame, u64>, record: u32) -> u64 {
        if let Some(&known) = self.sites.get(&record) {
            return known;
        }
        let mut bytes = [0; SITE_BYTES];
        let read = self.file.read_exact_at(&mut bytes, u64::from(record) * SITE_BYTES as u64);
        let counts = read
            .ok()
            .filter(|()| (record as usize) < MOST_SITES)
            .and_then(|()| SiteCounts::from_bytes(&bytes));
        let Some(counts) = counts else { return u64::MAX };
        let next = sites.len() as u64;
        let number = *sites.entry(counts.frame).or_insert(next);
        self.sites.insert(record, number);
        number
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

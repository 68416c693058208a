//! The judges of a run: the devices' traces, the programs' logs of flushes, and a judge per device, for its own platform or for
//! many.

use std::collections::BTreeMap;
use std::fs::File;
use std::sync::Arc;

use gem_coherency::sync::Mutex;
use gem_coherency::units::{LINE_BYTES, LineRange};
use gem_coherency_protocol::{Flushed, Found, Frame, LogEntryKind, USER_MEMORY};
use gem_coherency_server::RecordWriters;
use gem_coherency_sim::{FlushKind, FoundLine, Instruction, MadeStale, SimDevice};

use crate::domain_calls::DomainChange;
use crate::judging::need::{Counts, Need};
use crate::judging::{JudgingPlatform, NotAlike};
use crate::platforms::{Judge, Verdict};
use crate::records::flush_logs::FlushLogs;

/// The judges of a run.
#[derive(Debug)]
pub(crate) struct RunJudges {
    judges: Vec<Mutex<Judge>>,
    logs: FlushLogs,
    /// Several platforms judge; otherwise each device's own, and the device tells the mistakes.
    pub(crate) by_many: bool,
}

/// Judgements.
#[derive(Debug, Default)]
pub(crate) struct Judged {
    /// The mistakes, if several platforms judge.
    pub(crate) verdicts: Vec<Verdict>,
    /// The calls that move objects between domains.
    pub(crate) domain_changes: Vec<DomainChange>,
    /// Several platforms judge: the device's own mistakes are none.
    pub(crate) by_many: bool,
}

/// The flushes of one place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FlushSite {
    /// The call stack: the instruction, then return addresses; empty if it is not known.
    pub stack: Vec<Frame>,
    /// Numbers of lines by verdict, on the first platform.
    pub lines: Counts,
    /// The platforms on which a line was needed: of those that judge the run.
    pub needed_on: Vec<&'static str>,
    /// The other platforms on which one was precautionary.
    pub precautionary_on: Vec<&'static str>,
}

impl RunJudges {
    /// Begins to trace `devices`, which have no objects yet, and to judge what happens by `platforms`; if there are none, by
    /// the devices' own.
    pub(crate) fn new(devices: &[SimDevice], platforms: &[JudgingPlatform]) -> Self {
        let by_many = !platforms.is_empty();
        let judge = |device: &SimDevice| {
            if by_many {
                device.trace();
                Judge::new(device.machine(), (device.rules(), device.lacks_of_xe()), platforms)
            } else {
                device.trace_own();
                Judge::own(device.machine(), device.rules())
            }
        };
        let judges = devices.iter().map(judge).map(Mutex::new).collect();
        Self { judges, logs: FlushLogs::default(), by_many }
    }

    /// Adds the log of a program's processes, which is after its records in `file`.
    pub(crate) fn add_log(&self, file: Arc<File>, writers: &Arc<RecordWriters>) {
        self.logs.add(file, writers);
    }

    /// Adds what programs flushed since the last time to the traces of `devices`.
    pub(crate) fn hear_flushes(&self, devices: &[SimDevice]) {
        // One of the devices has the object.
        self.logs.read(|site, flushed| {
            let &Flushed { object, line, .. } = flushed;
            if object == USER_MEMORY {
                // One of the judges has it; they differ in nothing that matters here.
                return self.judges.first().into_iter().for_each(|judge| judge.lock().user_flush(site));
            }
            let kind = match flushed.effect {
                LogEntryKind::Flush => FlushKind::Flush,
                LogEntryKind::WriteBack => FlushKind::WriteBack,
                LogEntryKind::NonTemporal => FlushKind::NonTemporal,
                LogEntryKind::Opened => {
                    let [stored, ..] = flushed.bytes;
                    return devices.iter().for_each(|device| device.opened(object, line, stored));
                }
                LogEntryKind::Closed => return devices.iter().for_each(|device| device.closed(object, line)),
                LogEntryKind::Shown => return devices.iter().for_each(|device| device.shown(object, line)),
            };
            let found = match flushed.found {
                Found::Clean => FoundLine::Clean,
                Found::Dirty => FoundLine::Dirty,
                Found::Stale => FoundLine::Stale,
            };
            let mut bytes = [0; LINE_BYTES as usize];
            bytes.as_chunks_mut().0.iter_mut().zip(flushed.bytes).for_each(|(to, word)| {
                *to = word.to_ne_bytes();
            });
            let done = Instruction { object, line, kind, site, found, bytes };
            devices.iter().for_each(|device| device.maintained(&done));
        });
    }

    /// Judges what happened on a device since the last time.
    pub(crate) fn judge(&self, number: usize, device: &SimDevice) -> Judged {
        let Some(judge) = self.judges.get(number) else { return Judged::default() };
        // Held first, so that parts of a trace are judged in their order.
        let mut judge = judge.lock();
        hear(&mut judge, device);
        let verdicts = judge.take_verdicts();
        let verdicts = if self.by_many {
            verdicts
        } else {
            // The device tells them.
            drop(judge.take_made_stale());
            Vec::new()
        };
        Judged { verdicts, domain_changes: judge.take_domain_changes(), by_many: self.by_many }
    }

    /// Returns and clears the lines of a device of which a write made old copies on some platform, as far as it is judged.
    pub(crate) fn made_stale(&self, number: usize) -> Vec<MadeStale> {
        self.judges.get(number).map(|judge| judge.lock().take_made_stale()).unwrap_or_default()
    }

    /// Calls `hide` with the lines of each object of a device that can be hidden before a program loads old copies which flushes have
    /// dropped; it returns whether they are.
    pub(crate) fn hide(&self, number: usize, mut hide: impl FnMut(u64, &[LineRange]) -> bool) {
        let Some(judge) = self.judges.get(number) else { return };
        // The program calls the judge while it answers.
        let fresh = judge.lock().take_fresh(true);
        for (object, lines) in fresh {
            if !hide(object, &lines) {
                judge.lock().show(object, &lines);
            }
        }
    }

    /// Returns whether lines of an object are hidden from programs.
    pub(crate) fn is_hidden(&self, object: u64) -> bool {
        self.judges.iter().any(|judge| judge.lock().is_hidden(object))
    }

    /// Judges a program's load of an object's lines, after what it stored and flushed so far.
    pub(crate) fn load(&self, devices: &[SimDevice], object: u64, lines: LineRange) -> Vec<Verdict> {
        self.hear_flushes(devices);
        let of_device = |(judge, device): (&Mutex<Judge>, &SimDevice)| {
            let mut judge = judge.lock();
            device.trace_stores(object, lines);
            hear(&mut judge, device);
            judge.load(object, lines)
        };
        self.judges.iter().zip(devices).flat_map(of_device).collect()
    }

    /// Judges the dirty lines of a device's screens, and the flushes of lines that they show, as a program ends.
    pub(crate) fn dirty_screens(&self, number: usize, device: &SimDevice) -> Vec<Verdict> {
        let Some(judge) = self.judges.get(number) else { return Vec::new() };
        let mut judge = judge.lock();
        drop(device.look_at_screens());
        hear(&mut judge, device);
        judge.dirty_screens()
    }

    /// Returns the flushes of all places, as if the run ended now.
    pub(crate) fn sites(&self, devices: &[SimDevice]) -> Vec<FlushSite> {
        self.hear_flushes(devices);
        let mut sites: Vec<FlushSite> = Vec::new();
        let stacks = self.logs.stacks();
        // What is not known may have needed each of them.
        let least = if self.lost() > 0 { Need::Useless } else { Need::Precautionary };
        for (judge, device) in self.judges.iter().zip(devices) {
            let mut judge = judge.lock();
            // Flushes alone are no mistakes.
            hear(&mut judge, device);
            let flushed = judge.flushed();
            let unknown = (u64::MAX, Vec::new());
            for (number, stack) in (0..).zip(stacks.iter().cloned()).chain([unknown]) {
                let mut lines = flushed.counts(number);
                if least == Need::Useless {
                    lines.precautionary += std::mem::take(&mut lines.useless);
                }
                let names = |least| flushed.on(number, least).into_iter().map(|platform| platform.name());
                let needed_on: Vec<_> = names(Need::Needed).collect();
                let precautionary_on: Vec<_> = names(least).collect();
                if lines.all() == 0 && flushed.on(number, Need::Useless).is_empty() {
                    continue;
                }
                let mut found =
                    FlushSite { stack, lines, needed_on: Vec::new(), precautionary_on: Vec::new() };
                found.merge(&FlushSite {
                    lines: Counts::default(),
                    needed_on,
                    precautionary_on,
                    ..found.clone()
                });
                match sites.iter_mut().find(|site| site.stack == found.stack) {
                    Some(site) => site.merge(&found),
                    None => sites.push(found),
                }
            }
        }
        sites
    }

    /// Returns the number of lines that a GPU wrote on the first platform without looking into the cache, where the program may have stored the
    /// bytes that were there.
    pub(crate) fn possibly_lost(&self) -> u64 {
        self.judges.iter().map(|judge| judge.lock().possibly_lost()).sum()
    }

    /// Returns what programs did on `devices` that is not the same on a platform.
    pub(crate) fn not_alike(&self, devices: &[SimDevice]) -> BTreeMap<&'static str, NotAlike> {
        let mut all: BTreeMap<&'static str, NotAlike> = BTreeMap::new();
        let of_device =
            |(judge, device): (&Mutex<Judge>, &SimDevice)| judge.lock().not_alike(&device.accepted_calls());
        for (platform, why) in self.judges.iter().zip(devices).flat_map(of_device) {
            all.entry(platform.name()).or_default().merge(why);
        }
        all
    }

    /// Returns the number of flushes and other events that were lost.
    pub(crate) fn lost(&self) -> u64 {
        self.judges.iter().fold(self.logs.lost(), |sum, judge| sum.saturating_add(judge.lock().dropped()))
    }
}

/// Lets a judge hear what happened on its device since the last time.
fn hear(judge: &mut Judge, device: &SimDevice) {
    let traced = device.take_trace();
    judge.hear_asked(device.take_asked());
    judge.feed(traced);
}

impl FlushSite {
    /// Adds the flushes of another place, or on another device.
    pub fn merge(&mut self, other: &Self) {
        self.lines.extend(other.lines);
        let lists =
            [(&mut self.needed_on, &other.needed_on), (&mut self.precautionary_on, &other.precautionary_on)];
        for (names, more) in lists {
            let new: Vec<_> = more.iter().filter(|name| !names.contains(name)).copied().collect();
            names.extend(new);
        }
        self.precautionary_on.retain(|name| !self.needed_on.contains(name));
    }
}

//! The two kinds of witnesses: of the driver's trace beside the device's log, and of two devices' logs.

use std::collections::{HashMap, HashSet};

use gem_coherency_sim::{Minor, SimDevice};
use gemtool::kernel_trace::{Attribution, EventKind, Kind, SeenFlush, TraceEvent, TracedCall, Tracer};

use super::call::Call;
use super::flushes::{Flush, FlushKind, Log, Witness, merged};
use crate::processes::target::Simulated;

/// Two software devices, for the comparison of one with another.
#[derive(Debug)]
pub struct TwoLogs {
    devices: [SimDevice; 2],
    logs: [Log; 2],
}

impl TwoLogs {
    pub fn new(one: &Simulated, other: &Simulated) -> Self {
        let file = |side: &Simulated| side.device().open_again(Minor::Render);
        Self { devices: [file(one), file(other)], logs: Default::default() }
    }
}

impl Witness for TwoLogs {
    fn begin(&mut self) {}

    fn started(&mut self) {
        for device in &self.devices {
            device.take_kernel_flushes();
        }
    }

    fn before(&mut self, _call: &Call) {}

    fn after(&mut self) -> bool {
        for (device, log) in self.devices.iter().zip(&mut self.logs) {
            log.take(device);
        }
        false
    }

    fn finish(&mut self) -> Vec<(Vec<Flush>, Vec<Flush>)> {
        let [one, other] = &mut self.logs;
        one.finish().into_iter().zip(other.finish()).collect()
    }
}

/// The driver's trace, if there is one, and a software device.
#[derive(Debug)]
pub struct Traced<'a> {
    tracer: Option<&'a mut Tracer>,
    device: SimDevice,
    log: Log,
    show: bool,
}

/// The mark in the trace before each call.
const CALL: &str = "call";
/// The mark in the trace before the frame's own calls.
const FRAME: &str = "frame";

impl<'a> Traced<'a> {
    pub fn new(tracer: Option<&'a mut Tracer>, soft: &Simulated, show: bool) -> Self {
        Self { tracer, device: soft.device().open_again(Minor::Render), log: Log::default(), show }
    }

    fn mark(&mut self, text: &str) {
        if let Some(tracer) = &self.tracer {
            tracer.mark(text).unwrap_or_else(|error| panic!("{error}"));
        }
    }
}

impl Witness for Traced<'_> {
    fn begin(&mut self) {
        if let Some(tracer) = &mut self.tracer {
            tracer.take().unwrap_or_else(|error| panic!("{error}"));
        }
        self.mark(FRAME);
    }

    fn started(&mut self) {
        self.device.take_kernel_flushes();
    }

    fn before(&mut self, call: &Call) {
        if self.show {
            println!("    {call:?}");
        }
        // Flushes by the frame between sequences are not compared.
        self.device.take_kernel_flushes();
        self.mark(CALL);
    }

    fn after(&mut self) -> bool {
        self.log.take(&self.device)
    }

    fn between(&mut self) {
        self.mark(FRAME);
    }

    fn finish(&mut self) -> Vec<(Vec<Flush>, Vec<Flush>)> {
        let soft = self.log.finish();
        let Some(tracer) = &mut self.tracer else { return Vec::new() };
        tracer.mark(FRAME).unwrap_or_else(|error| panic!("{error}"));
        let seen = tracer.take().unwrap_or_else(|error| panic!("{error}"));
        let real = calls(&seen);
        assert_eq!(real.len(), soft.len(), "calls in the trace");
        real.into_iter().zip(soft).collect()
    }
}

/// The flushes of each call in a trace that begins before any object was created.
fn calls(seen: &[TraceEvent]) -> Vec<Vec<Flush>> {
    let mut attribution = Attribution::new();
    let mut numbers = Numbers::default();
    let mut calls = Vec::new();
    for (at, one) in seen.iter().enumerate() {
        // At a resume the driver's own objects, which always have a writer, decide; they are not simulated.
        if matches!(&one.what, EventKind::Wbinvd { caller } if caller.starts_with("i915_ggtt_resume")) {
            continue;
        }
        if is_of_a_free(one, &seen[at + 1..]) {
            continue;
        }
        attribution.feed(one);
        if matches!(one.what, EventKind::Mark(_)) {
            calls.extend(attribution.calls().iter().filter_map(|call| numbers.flushes(call)));
        }
        numbers.note(&one.what);
    }
    calls
}

/// Returns whether a flush is of an object that is being freed. A worker frees it some time later, in no call,
/// and reports that the object is gone after it flushed its pages, maybe during the next call.
fn is_of_a_free(flush: &TraceEvent, later: &[TraceEvent]) -> bool {
    let released =
        matches!(&flush.what, EventKind::FlushPages { caller, .. } if caller.ends_with("release_shmem"));
    let next = || later.iter().find(|next| next.tid == flush.tid && !matches!(next.what, EventKind::Mark(_)));
    released && next().is_some_and(|next| matches!(next.what, EventKind::Destroyed { .. }))
}

/// The numbers of objects, in the order in which they got their first name.
#[derive(Debug, Default)]
struct Numbers {
    /// The i915 device.
    device: Option<u64>,
    /// i915's objects without a name so far, by address.
    fresh: HashSet<u64>,
    named: HashMap<u64, u64>,
    count: u64,
}

impl Numbers {
    fn note(&mut self, what: &EventKind) {
        match what {
            EventKind::Created { object, device, .. } => {
                // The first is of a context or the batch; the foreign device's objects are not numbered.
                if *self.device.get_or_insert(*device) == *device {
                    self.fresh.insert(*object);
                }
                self.named.remove(object);
            }
            EventKind::HandleCreated { object, .. } if self.fresh.remove(object) => {
                self.count += 1;
                self.named.insert(*object, self.count);
            }
            EventKind::Destroyed { object } => {
                self.named.remove(object);
            }
            EventKind::Mark(_)
            | EventKind::Made { .. }
            | EventKind::HandleCreated { .. }
            | EventKind::Pages { .. }
            | EventKind::FlushPages { .. }
            | EventKind::FlushRange { .. }
            | EventKind::Wbinvd { .. }
            | EventKind::Clflush { .. }
            | EventKind::Level { .. }
            | EventKind::Transfer { .. }
            | EventKind::Call(_)
            | EventKind::Xe(_)
            | EventKind::Lost(_) => {}
        }
    }

    fn flushes(&self, call: &TracedCall) -> Option<Vec<Flush>> {
        if call.mark.as_deref() != Some(CALL) {
            return None;
        }
        assert_eq!(call.lost, 0, "events of the trace are lost");
        Some(merged(call.flushes.iter().filter_map(|flush| self.flush(flush)).collect()))
    }

    fn flush(&self, flush: &SeenFlush) -> Option<Flush> {
        let object = match flush.object {
            Some(object) => *self.named.get(&object)?,
            None => 0,
        };
        Some(match flush.kind {
            Kind::Whole { bytes } => {
                let kind = if flush.asynchronous { FlushKind::WholeByWorker } else { FlushKind::Whole };
                Flush { object, kind, bytes: bytes.unwrap_or(0) }
            }
            Kind::Range { bytes, .. } => Flush { object, kind: FlushKind::Range, bytes },
            Kind::Wbinvd => Flush { object: 0, kind: FlushKind::Wbinvd, bytes: 0 },
        })
    }
}

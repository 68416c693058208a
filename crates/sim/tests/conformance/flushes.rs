//! The kernel's flushes during each call: seen in the trace, or reported by the software device.

use std::collections::HashMap;

use gem_coherency::policy::Rule;
use gem_coherency::policy::kernel::Action;
use gem_coherency_sim::{KernelFlush, SimDevice};

use super::call::Call;

/// A flush, as both sides can say it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Flush {
    /// Which object, counted from 1 in order of creation; 0 where it cannot be said.
    pub object: u64,
    /// How.
    pub kind: FlushKind,
    /// The number of bytes; 0 for a wbinvd.
    pub bytes: u64,
}

/// The kind of a flush.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum FlushKind {
    /// All pages, within the call.
    Whole,
    /// All pages, by a worker.
    WholeByWorker,
    /// Some bytes, for a copy; all such of a call and an object are one.
    Range,
    /// Everything.
    Wbinvd,
}

/// An observer of both sides during a sequence of calls.
pub trait Witness {
    /// A sequence begins.
    fn begin(&mut self);
    /// Its calls begin.
    fn started(&mut self);
    /// A call begins.
    fn before(&mut self, call: &Call);
    /// A call is over; returns whether a worker was given something to flush.
    fn after(&mut self) -> bool;
    /// A sequence is over, and another begins.
    fn between(&mut self) {}
    /// The flushes of each call, of the driver and of the software device.
    fn finish(&mut self) -> Vec<(Vec<Flush>, Vec<Flush>)>;
}

/// The flushes of each call on a software device.
#[derive(Debug, Default)]
pub struct Log(Vec<Vec<Flush>>);

impl Log {
    /// Takes what the device flushed during the call that is over; returns whether a worker had a part.
    pub fn take(&mut self, device: &SimDevice) -> bool {
        let flushes: Vec<Flush> = device
            .take_kernel_flushes()
            .iter()
            .filter(|flush| flush.rule != Rule::ResumeWbinvd)
            .map(of_soft)
            .collect();
        let by_worker = flushes.iter().any(|flush| flush.kind == FlushKind::WholeByWorker);
        self.0.push(merged(flushes));
        by_worker
    }

    /// All calls.
    pub fn finish(&mut self) -> Vec<Vec<Flush>> {
        std::mem::take(&mut self.0)
    }
}

fn of_soft(flush: &KernelFlush) -> Flush {
    let (kind, bytes) = match flush.action {
        Action::FlushSync => (FlushKind::Whole, flush.bytes),
        Action::FlushAsync => (FlushKind::WholeByWorker, flush.bytes),
        Action::FlushBefore | Action::FlushAfter => (FlushKind::Range, flush.bytes),
        Action::Wbinvd => (FlushKind::Wbinvd, 0),
        Action::Barrier | Action::WriteBarrier | Action::FlushGgtt | Action::FlushChipset => {
            unreachable!("{} flushes nothing", flush.action)
        }
    };
    let object = if kind == FlushKind::Wbinvd { 0 } else { flush.object };
    Flush { object, kind, bytes }
}

/// The flushes of one call, in an order that does not depend on workers; ranges added up.
pub fn merged(flushes: Vec<Flush>) -> Vec<Flush> {
    let mut ranges: HashMap<u64, u64> = HashMap::new();
    let mut rest = Vec::new();
    for flush in flushes {
        match flush.kind {
            FlushKind::Range => *ranges.entry(flush.object).or_default() += flush.bytes,
            FlushKind::Whole | FlushKind::WholeByWorker | FlushKind::Wbinvd => rest.push(flush),
        }
    }
    rest.extend(ranges.into_iter().map(|(object, bytes)| Flush { object, kind: FlushKind::Range, bytes }));
    rest.sort();
    rest
}

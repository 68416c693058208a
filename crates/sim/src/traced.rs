//! The trace of a device: what programs and agents do, and the instructions for lines that a program reports.

use gem_coherency::platform::Call;
use gem_coherency::units::{LINE_BYTES, LineRange};

use super::Soft;
use crate::machine::deeds::{Fact, Upkeep};

impl Soft {
    /// Begins to trace the device, before it has objects. From now on every agent sees every byte at once, as with
    /// `memory=coherent`; the trace is to be read at times ([`Self::take_trace`]).
    pub fn trace(&self) {
        self.system.trace.start();
    }

    /// Returns and clears the trace, oldest facts first, and the number of facts for which there was no room: it has room
    /// for 1,048,576.
    pub fn take_trace(&self) -> (Vec<Fact>, u64) {
        self.system.trace.take()
    }

    /// Returns the calls since the trace began that the device accepted and some platforms refuse
    /// ([`Machine::refusal`](gem_coherency::platform::Machine::refusal)), each once. The mode of MMAP_OFFSET counts only for GTT:
    /// discrete devices choose the others.
    pub fn accepted_calls(&self) -> Vec<Call> {
        self.system.trace.calls()
    }

    /// Traces an instruction of a program for a line of its [`Views`](crate::Views): a flush that found the line with
    /// `bytes`, or a non-temporal store that left these. `site` is the caller's number of the instruction. An object that
    /// is gone, and a line behind its end, are ignored.
    pub fn maintained(
        &self,
        object: u64,
        line: u64,
        upkeep: Upkeep,
        site: u64,
        bytes: &[u8; LINE_BYTES as usize],
    ) {
        if let Some(object) = self.system.object(object)
            && let Err(error) = object.trace_maintained(line, (upkeep, site), bytes)
        {
            tracing::debug!(%error, line, "an instruction is not traced");
        }
    }

    /// Traces the stores of programs to lines of an object that were not traced yet. An object that is gone, and lines behind
    /// its end, are ignored.
    pub fn trace_stores(&self, object: u64, lines: LineRange) {
        if let Some(object) = self.system.object(object)
            && let Err(error) = object.trace_stores(lines)
        {
            tracing::debug!(%error, "stores are not traced");
        }
    }
}

//! The trace of a device: what programs and agents do, and the instructions for lines that a program reports.

use gem_coherency::platform::Call;
use gem_coherency::units::LineRange;
use gem_coherency::xe;

use crate::observe::asked::AskedOfXe;
use crate::observe::coverage::Coverage;
use crate::observe::trace_event::{Instruction, TraceEvent, Traced};
use crate::{Process, SimDevice};

impl SimDevice {
    /// Begins to trace the device for several platforms, before it has objects. From now on every agent sees every byte at once, as
    /// with `memory=coherent`; the trace is to be read at times ([`Self::take_trace`]).
    pub fn trace(&self) {
        self.system.trace.start(true);
    }

    /// Begins to trace the device for its own platform, before it has objects. What agents see stays as it is.
    pub fn trace_own(&self) {
        self.system.trace.start(false);
    }

    /// Returns and clears the trace, oldest first, and the number of events for which there was no room: it has room
    /// for 1,048,576.
    pub fn take_trace(&self) -> (Vec<Traced>, u64) {
        self.system.trace.take()
    }

    /// Returns and clears the requests of xe that say how memory is cached, of a device that is traced for several platforms; a
    /// [`TraceEvent::Asked`] of the trace that was taken before is for each. It has room for 4,096.
    pub fn take_asked(&self) -> Vec<AskedOfXe> {
        self.system.trace.take_asked()
    }

    /// Returns the device of xe; `None` for one of i915.
    pub fn xe_device(&self) -> Option<xe::Device> {
        self.system.xe.map(|kernel| kernel.device)
    }

    /// Returns the rule that the device's xe lacks (`without=`).
    pub fn lacks_of_xe(&self) -> Option<xe::Rule> {
        self.system.xe?.without
    }

    /// Returns what the device simulated of the batches of programs so far, and what it skipped.
    pub fn coverage(&self) -> Coverage {
        self.system.coverage.so_far()
    }

    /// Returns the calls since the trace began that the device accepted and some platforms refuse
    /// ([`Machine::refusal`](gem_coherency::platform::Machine::refusal)), each once. The mode of MMAP_OFFSET counts only for GTT:
    /// discrete devices choose the others.
    pub fn accepted_calls(&self) -> Vec<Call> {
        self.system.trace.calls()
    }

    /// Traces an instruction of a program. An object that is gone, and a line after its end, are ignored.
    pub fn maintained(&self, done: &Instruction) {
        if let Some(object) = self.system.object(done.object)
            && let Err(error) = object.trace_maintained(done)
        {
            tracing::debug!(%error, line = done.line, "an instruction is not traced");
        }
    }

    /// Traces that stores of a program to the page of `line` of an object are no longer seen, other than by their bytes; of the store that
    /// comes now, `stored` has a bit for each line of the page. An object that is gone is ignored.
    pub fn opened(&self, object: u64, line: u64, stored: u64) {
        if let Some(object) = self.system.object(object) {
            object.trace_page(line, Some(stored));
        }
    }

    /// Traces that a store of the program to the page of `line` is seen again.
    pub fn closed(&self, object: u64, line: u64) {
        if let Some(object) = self.system.object(object) {
            object.trace_page(line, None);
        }
    }

    /// Traces that loads of the page of `line` by a program are no longer seen. An object that is gone is ignored.
    pub fn shown(&self, object: u64, line: u64) {
        if self.has_object(object) {
            self.system.trace.add(object, TraceEvent::Shown { line });
        }
    }

    /// Returns whether another process than `process` maps an object.
    pub fn is_mapped_by_others(&self, object: u64, process: &Process) -> bool {
        self.system.object(object).is_some_and(|object| object.backing().is_mapped_by_others(process.space()))
    }

    /// Traces the stores of programs to lines of an object that were not traced yet. An object that is gone, and lines after
    /// its end, are ignored.
    pub fn trace_stores(&self, object: u64, lines: LineRange) {
        if let Some(object) = self.system.object(object)
            && let Err(error) = object.trace_stores(lines)
        {
            tracing::debug!(%error, "stores are not traced");
        }
    }
}

//! The GPU: its queue of submissions, their completion, and the execution of batches.
//!
//! Batches run one after another in the order of their submission, on whatever engine: at once, or when a
//! stalled GPU resumes. They are executed command by command ([`batch`], [`commands`], [`blits`]) on the
//! bindings at that time; the objects of a submission are kept alive at their addresses until it is done
//! ([`memory`]). A batch that does not complete is reset or cancelled as in the kernel ([`fault_log`],
//! [`bans`]); it never blocks the process.
//!
//! The GPU executes the command streamer's MI_NOOP, MI_BATCH_BUFFER_START and _END; from graphics 3 on,
//! MI_STORE_DATA_IMM; from graphics 6 on, MI_FLUSH_DW and, on copy engines, the blitter's fills and copies of
//! linear surfaces. Any other command hangs a copy engine, unless it has no visible effect. The other engines
//! also execute the writes of PIPE_CONTROL ([`post_sync`]), and copy, compare and move dwords
//! ([`memory_commands`], [`registers`]); they skip any other command by its length ([`lengths`]).

mod bans;
mod batch;
mod blits;
mod commands;
mod encoding;
mod fault_log;
mod lengths;
mod memory;
mod memory_commands;
mod post_sync;
mod registers;

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::system::System;
pub(crate) use bans::{Client, Lane, Owner, Standing};
pub(crate) use batch::{Batch, Code};
pub(crate) use commands::Privilege;
use fault_log::FaultLog;
pub use fault_log::{GpuFault, GpuHang, HangCause, Remedy};
use gem_coherency::platform::EngineClass;
use gem_coherency::vocabulary::Access;
pub(crate) use memory::Bindings;

/// The GPU's use of an object.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Use {
    /// The last submission that includes it.
    submission: u64,
    /// The engines that use it and their accesses, as GEM_BUSY reports them.
    busy: u32,
}

/// Returns the GEM_BUSY flags of one use (`__busy_read_flag`, `__busy_write_id`); those of several are ORed.
fn flags(class: EngineClass, access: Access) -> u32 {
    let class = u32::from(class.number());
    let reads = 0x1_0000 << class;
    match access {
        Access::Read => reads,
        Access::Write => reads | (class + 1),
    }
}

#[derive(Debug, Default)]
struct State {
    stalled: bool,
    /// The number of submissions, and how many of them, in order, are done.
    submitted: u64,
    done: u64,
    /// The submissions that are not done, oldest first; one without a batch runs nothing.
    queue: VecDeque<Option<Batch>>,
}

/// The GPU.
#[derive(Debug, Default)]
pub(crate) struct Gpu {
    state: Mutex<State>,
    progress: Condvar,
    /// Serializes submissions; objects are locked under it.
    submitting: Mutex<()>,
    /// Serializes the execution of the queue; objects are locked under it.
    running: Mutex<()>,
    /// The log of errors.
    pub(crate) fault_log: FaultLog,
}

/// A submission in preparation, which excludes others.
#[derive(Debug)]
pub(crate) struct Turn<'a> {
    gpu: &'a Gpu,
    number: u64,
    _alone: MutexGuard<'a, ()>,
}

impl Turn<'_> {
    /// Returns the use of an object that is part of the submission, on an engine of `class`.
    ///
    /// Earlier uses that are not done are included.
    pub(crate) fn uses(&self, before: Option<Use>, class: EngineClass, access: Access) -> Use {
        let busy = self.gpu.busy(before) | flags(class, access);
        Use { submission: self.number, busy }
    }

    /// Queues the batch, if there is one, and runs the queue.
    pub(crate) fn submit(self, batch: Option<Batch>, system: &System) {
        let Self { gpu, .. } = self;
        {
            let mut state = gpu.state();
            state.submitted += 1;
            state.queue.push_back(batch);
        }
        drop(self);
        gpu.go_on(system);
    }
}

impl Gpu {
    /// Stalls the GPU, or lets it finish its queue.
    pub(crate) fn stall(&self, stalled: bool, system: &System) {
        self.state().stalled = stalled;
        self.go_on(system);
    }

    /// Begins a submission.
    pub(crate) fn begin(&self) -> Turn<'_> {
        let alone = self.submitting.lock().unwrap_or_else(PoisonError::into_inner);
        let number = self.state().submitted + 1;
        Turn { gpu: self, number, _alone: alone }
    }

    /// Runs the queue until it is empty or the GPU is stalled.
    fn go_on(&self, system: &System) {
        let _alone = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        while let Some(batch) = self.next() {
            if let Some(batch) = batch {
                batch.run(system);
            }
            self.state().done += 1;
            self.progress.notify_all();
        }
    }

    fn next(&self) -> Option<Option<Batch>> {
        let mut state = self.state();
        if state.stalled { None } else { state.queue.pop_front() }
    }

    /// Cancels the queue, because the last file is closed.
    pub(crate) fn abandon(&self) {
        let queue = {
            let mut state = self.state();
            state.done = state.submitted;
            std::mem::take(&mut state.queue)
        };
        self.progress.notify_all();
        // May free objects, which does not call back into the GPU.
        drop(queue);
    }

    /// Returns the GEM_BUSY flags of an object: 0 if the GPU is done with it.
    pub(crate) fn busy(&self, used: Option<Use>) -> u32 {
        let state = self.state();
        used.filter(|used| is_running(&state, *used)).map_or(0, |used| used.busy)
    }

    /// Waits until the GPU is done; without a timeout, indefinitely.
    ///
    /// Returns whether it is done.
    pub(crate) fn wait(&self, used: Option<Use>, timeout: Option<Duration>) -> bool {
        let Some(used) = used else { return true };
        let state = self.state();
        let running = |state: &mut State| is_running(state, used);
        let state = match timeout {
            None => self.progress.wait_while(state, running).unwrap_or_else(PoisonError::into_inner),
            Some(timeout) => {
                let waited = self.progress.wait_timeout_while(state, timeout, running);
                waited.unwrap_or_else(PoisonError::into_inner).0
            }
        };
        !is_running(&state, used)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn is_running(state: &State, used: Use) -> bool {
    used.submission > state.done
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::spec::Spec;

    #[test]
    fn busy_names_the_writer_and_every_reader_until_the_gpu_goes_on() {
        let system = System::new(&Spec::parse("sim:tgl").unwrap());
        let gpu = &system.gpu;
        gpu.stall(true, &system);
        let submit = |before, class, access| {
            let turn = gpu.begin();
            let used = Some(turn.uses(before, class, access));
            turn.submit(None, &system);
            used
        };
        let used = submit(None, EngineClass::Render, Access::Read);
        assert_eq!(gpu.busy(used), 0x1_0000);
        let used = submit(used, EngineClass::Copy, Access::Write);
        assert_eq!(gpu.busy(used), 0x3_0002);
        gpu.stall(false, &system);
        assert_eq!(gpu.busy(used), 0);
        gpu.stall(true, &system);
        let again = submit(used, EngineClass::Video, Access::Read);
        assert_eq!(gpu.busy(again), 0x4_0000, "the first stall is over");
        gpu.abandon();
        assert_eq!(gpu.busy(again), 0);
    }
}

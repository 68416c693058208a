//! The GPU: what it was given, whether it is done with it, and what batches do.
//!
//! Batches run one after the other in the order of their submission, on whatever engine: at once, or when
//! a stalled GPU goes on. They are executed command by command ([`batch`], [`commands`], [`blits`]) on what
//! is bound then; the objects of their submissions live, and keep their places, until they are done
//! ([`memory`]). A batch that does not come to its end is reset or cancelled as the kernel does it ([`fault_log`], [`bans`]); it
//! never keeps the process busy.
//!
//! Executed are the command streamer's MI_NOOP, MI_BATCH_BUFFER_START and _END, from graphics 3 on
//! MI_STORE_DATA_IMM, and from graphics 6 on MI_FLUSH_DW and, on copy engines, the blitter's fills and copies
//! of linear surfaces. What is not executed hangs.

mod bans;
mod batch;
mod blits;
mod commands;
mod encoding;
mod fault_log;
mod memory;

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::system::System;
pub(super) use bans::{Client, Lane, Owner, Standing};
pub(super) use batch::{Batch, Code};
pub(super) use commands::Privilege;
use fault_log::FaultLog;
pub use fault_log::{GpuFault, GpuHang, HangCause, Remedy};
use gem_coherency::platform::EngineClass;
use gem_coherency::vocabulary::Access;
pub(super) use memory::Bindings;

/// What the GPU does with an object since it was submitted.
#[derive(Clone, Copy, Debug)]
pub(super) struct Use {
    /// The last submission that it was part of.
    submission: u64,
    /// Which engines use it how, as GEM_BUSY says it.
    busy: u32,
}

/// What GEM_BUSY says of one use (`__busy_read_flag`, `__busy_write_id`); several are ORed.
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
    /// Submissions so far, and how many of them are done: the first ones.
    submitted: u64,
    done: u64,
    /// Those that are not, oldest first; without a batch there is nothing to run.
    queue: VecDeque<Option<Batch>>,
}

/// The GPU.
#[derive(Debug, Default)]
pub(super) struct Gpu {
    state: Mutex<State>,
    progress: Condvar,
    /// Whose turn it is to submit; objects are locked under it.
    submitting: Mutex<()>,
    /// Who runs what is queued; objects are locked under it.
    running: Mutex<()>,
    /// What went wrong.
    pub(super) fault_log: FaultLog,
}

/// A submission in the making, which no other comes between.
#[derive(Debug)]
pub(super) struct Turn<'a> {
    gpu: &'a Gpu,
    number: u64,
    _alone: MutexGuard<'a, ()>,
}

impl Turn<'_> {
    /// What an object is used for that is part of the submission, on an engine of `class`.
    ///
    /// What was submitted before goes on.
    pub(super) fn uses(&self, before: Option<Use>, class: EngineClass, access: Access) -> Use {
        let busy = self.gpu.busy(before) | flags(class, access);
        Use { submission: self.number, busy }
    }

    /// Gives the GPU its batch, if there is one, and lets it run.
    pub(super) fn submit(self, batch: Option<Batch>, system: &System) {
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
    /// Stops the GPU, or lets it finish everything that it was given.
    pub(super) fn stall(&self, stalled: bool, system: &System) {
        self.state().stalled = stalled;
        self.go_on(system);
    }

    /// Begins a submission.
    pub(super) fn begin(&self) -> Turn<'_> {
        let alone = self.submitting.lock().unwrap_or_else(PoisonError::into_inner);
        let number = self.state().submitted + 1;
        Turn { gpu: self, number, _alone: alone }
    }

    /// Runs what is queued, until nothing is or the GPU is stalled.
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

    /// Cancels what is queued: nobody is left who could want it.
    pub(super) fn abandon(&self) {
        let queue = {
            let mut state = self.state();
            state.done = state.submitted;
            std::mem::take(&mut state.queue)
        };
        self.progress.notify_all();
        // Objects go with it, which ask the GPU nothing.
        drop(queue);
    }

    /// What GEM_BUSY says of the object: 0 if the GPU is done with it.
    pub(super) fn busy(&self, used: Option<Use>) -> u32 {
        let state = self.state();
        used.filter(|used| is_running(&state, *used)).map_or(0, |used| used.busy)
    }

    /// Waits until the GPU is done; for ever without a timeout.
    ///
    /// Returns whether it is.
    pub(super) fn wait(&self, used: Option<Use>, timeout: Option<Duration>) -> bool {
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
    use crate::spec::Spec;

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

//! The GPU: its queue of submissions, their completion, and the execution of batches.
//!
//! By default ([`Pace::Instant`]) batches run one after another in the order of their submission, on whatever engine:
//! at once, or when a stalled GPU resumes. With `gpu=timed` ([`Pace::Timed`]) each engine runs the submissions of each
//! context in their order, after those that they wait for: by their use of objects and by fences ([`queue`]). An
//! engine that can be preempted runs the batches of several contexts beside each other; any other one runs a batch at
//! a time. Priorities have no effect. A batch that polls memory keeps its place and goes on whenever the GPU is looked
//! at ([`Gpu::look`]): at every request, about once in a millisecond while a request waits, and in a server also
//! between requests. The kernel ends it after a while ([`times`]).
//!
//! Batches are executed command by command ([`batch`], [`execution`], [`commands`], [`blits`](commands::blits)) on the bindings at that
//! time; the objects of a submission are kept alive at their addresses until it is done ([`memory`]). A batch that does
//! not complete is reset or cancelled as in the kernel ([`fault_log`], [`bans`]); it never blocks the process. A batch
//! that stops at a command that it may not use, or that costs too much at once, does not have to wait for the kernel's
//! watch over time. Shaders take as long as they need ([`shader_clock`]).
//!
//! These commands are executed:
//!
//! - on all engines: MI_NOOP, MI_BATCH_BUFFER_START and _END, MI_ARB_ON_OFF; from graphics 3 on MI_STORE_DATA_IMM (graphics 4 and 5: secure
//!   batches only); from graphics 6 on MI_FLUSH_DW with its post-sync write (immediate; except on copy engines also timestamp);
//! - on copy engines, before graphics 6 on render engines: fills and copies of linear surfaces, from graphics 20 on also MEM_SET and MEM_COPY;
//! - on render and compute engines, from graphics 4 on: PIPE_CONTROL with its post-sync write (immediate, timestamp, depth count of 0;
//!   [`post_sync`](commands::post_sync)), and compute walkers, whose shaders run ([`pipeline`]);
//! - on all engines, copy engines from graphics 8 on: MI_LOAD_REGISTER_IMM, _MEM and _REG, MI_STORE_REGISTER_MEM, before graphics 8 only in
//!   batches that the kernel's parser accepted ([`registers`](commands::registers)). Registers that a batch may not load read as 0, except
//!   for the timestamps. From graphics 11 on, offsets may be relative to the engine's first;
//! - on all engines, copy engines from graphics 8 on: MI_COPY_MEM_MEM, MI_SEMAPHORE_WAIT, MI_CONDITIONAL_BATCH_BUFFER_END
//!   ([`memory_commands`](commands::memory_commands));
//! - on all engines, from graphics 8 on: MI_ATOMIC ([`atomic`](commands::atomic));
//! - on all engines, copy engines from graphics 8 on, others from 7.5 on: MI_MATH, and on all but copy engines MI_SET_PREDICATE and predicated
//!   MI_BATCH_BUFFER_START, if registers and result are known.
//!
//! Any other command hangs a copy engine, unless it has no visible effect; the other engines skip it by its length
//! ([`lengths`](commands::lengths)). What the 3D pipeline reads is read on a device that is watched or traced.
//!
//! Registers that a context's batches loaded or computed are known, until a batch hangs or jumps by an unknown predicate. After an unknown
//! predicate, such as one of MI_PREDICATE, draws and dispatches are not executed, and what other commands load is not known.
//! COMPUTE_WALKER's write after its last thread is made, also if the shader is skipped. A skipped shader may have to write a batch: where
//! such a batch would hang, or run past its object's end, it is left (a second-level batch returns, a chained one ends), and the object
//! counts as unwritten until it is closed.

mod bans;
mod batch;
mod commands;
mod engines;
mod execution;
mod fault_log;
mod memory;
mod pipeline;
mod queue;
pub(crate) mod real_gpu;
mod shader_clock;
mod times;

use std::sync::{Arc, MutexGuard, OnceLock};
use std::time::{Duration, Instant};

use gem_coherency::Errno;
use gem_coherency::sync::Mutex;

use crate::kernel::objects::system::System;
use crate::kernel::spaces::space::{Space, address_space};
use crate::sync::fence::Fence;
use crate::sync::progress::{self, Running};
use crate::sync::request::{Request, Uses};
pub(crate) use bans::{Client, Owner, Standing};
pub(crate) use batch::{Batch, Code};
use batch::{Outcome, Suspended};
pub(crate) use commands::Privilege;
use engines::Engines;
pub(crate) use engines::{Lane, Pace};
pub use fault_log::{GpuFault, GpuHang, HangCause, Remedy};
use gem_coherency::platform::Engine;
use gem_coherency::vocabulary::Access;
pub(crate) use memory::{Bindings, Named};
use queue::{After, Job, Queue};
use real_gpu::RealGpu;
pub use shader_clock::{Overtime, ShaderClock, ShaderProgress, end_shaders_when, report_shaders};
pub use times::GpuTimes;

/// Number of submissions in a ring of 16 KiB: 43 to 109 were seen on the driver, by engine and generation.
const RING: usize = 64;

#[derive(Debug, Default)]
struct State {
    stalled: bool,
    queue: Queue,
}

/// The GPU.
#[derive(Debug)]
pub(crate) struct Gpu {
    pub(crate) engines: Engines,
    /// The real GPU that runs the batches.
    pub(crate) real_gpu: OnceLock<Arc<dyn RealGpu>>,
    /// The address space of contexts without their own.
    pub(crate) global_space: Arc<Mutex<Space>>,
    state: Mutex<State>,
    /// Serializes submissions; objects are locked under it.
    submitting: Mutex<()>,
    /// Serializes the execution of the queue; objects are locked under it.
    running: Mutex<()>,
}

/// Parts of a submission that are taken out to run it.
struct Taken {
    serial: u64,
    armed: Option<Instant>,
    batch: Option<Batch>,
    running: Option<(Suspended, Instant)>,
}

/// A submission in preparation, which excludes others.
#[derive(Debug)]
pub(crate) struct Turn<'a> {
    gpu: &'a Gpu,
    request: Arc<Request>,
    owner: Owner,
    after: Vec<After>,
    alone: MutexGuard<'a, ()>,
}

impl Turn<'_> {
    /// Adds the submission to the uses of an object, and makes it wait for earlier ones unless the caller promises
    /// that it need not (`EXEC_OBJECT_ASYNC`).
    pub(crate) fn uses(&mut self, uses: &mut Uses, access: Access, asynchronous: bool) {
        if !asynchronous {
            let before =
                uses.before(access).map(|request| After { request: Arc::clone(request), start: false });
            // The object may be part of the submission twice.
            self.after.extend(before.filter(|before| !Arc::ptr_eq(&before.request, &self.request)));
        }
        uses.add(&self.request, access);
    }

    /// Makes the submission wait for a fence, or only for the start of its batches.
    pub(crate) fn wait_for(&mut self, fence: &Fence, start: bool) {
        let parts = fence.parts().iter().filter(|part| !part.is_done());
        self.after.extend(parts.map(|part| After { request: Arc::clone(part), start }));
    }

    /// Returns the fence of the submission.
    pub(crate) fn fence(&self) -> Fence {
        Fence::of([Arc::clone(&self.request)])
    }

    /// Queues the batch, if there is one, and runs the queue.
    pub(crate) fn submit(self, batch: Option<Batch>) {
        let Self { gpu, request, owner, after, alone } = self;
        if batch.is_some() {
            gpu.engines.system.coverage.submitted();
        }
        gpu.state().queue.push(|serial| Job {
            serial,
            request,
            owner,
            after,
            armed: None,
            batch,
            running: None,
        });
        drop(alone);
        gpu.look();
        // A new fence can end a wait, too.
        progress::happened();
    }
}

impl Gpu {
    /// Creates the GPU of a device.
    pub(crate) fn new(system: &Arc<System>, pace: Pace, times: GpuTimes) -> Self {
        Self {
            engines: Engines::new(system, pace, times),
            real_gpu: OnceLock::new(),
            global_space: address_space(system.machine),
            state: Mutex::default(),
            submitting: Mutex::default(),
            running: Mutex::default(),
        }
    }

    /// Stalls the GPU, or lets it finish its queue.
    pub(crate) fn stall(&self, stalled: bool) {
        self.state().stalled = stalled;
        self.look();
    }

    /// Begins a submission to an engine.
    pub(crate) fn begin(&self, owner: Owner, engine: Engine) -> Turn<'_> {
        let alone = self.submitting.lock();
        let request = Arc::new(Request::new(owner.next_on_timeline(), engine));
        Turn { gpu: self, request, owner, after: Vec::new(), alone }
    }

    /// Runs what can run, and continues the batches that wait for memory; returns whether there are any.
    ///
    /// Objects are locked under it, and syncobjs are not.
    pub(crate) fn look(&self) -> bool {
        if self.state().queue.jobs.is_empty() {
            return false;
        }
        let _alone = self.running.lock();
        // Others, also earlier ones, may wait for a submission that is done.
        while self.pass() {
            progress::happened();
        }
        self.state().queue.jobs.iter().any(|job| job.running.is_some())
    }

    /// Returns whether a batch of a file is not done.
    pub(crate) fn works_for(&self, file: &Arc<Client>) -> bool {
        self.state().queue.jobs.iter().any(|job| job.batch.is_some() && Arc::ptr_eq(&job.owner.file, file))
    }

    /// Runs each submission that can run once; returns whether one is done.
    fn pass(&self) -> bool {
        let mut is_any_done = false;
        let mut last = 0;
        loop {
            let taken = {
                let mut state = self.state();
                if state.stalled {
                    return is_any_done;
                }
                state.queue.arm(Instant::now());
                let Some(job) = state.queue.next(last, self.engines.pace, self.engines.system.machine) else {
                    return is_any_done;
                };
                job.request.start();
                Taken {
                    serial: job.serial,
                    armed: job.armed,
                    batch: job.batch.take(),
                    running: job.running.take(),
                }
            };
            last = taken.serial;
            is_any_done |= self.run(taken);
        }
    }

    /// Runs a submission; returns whether it is done.
    fn run(&self, taken: Taken) -> bool {
        let engines = &self.engines;
        let machine = engines.system.machine;
        let Taken { serial, armed, batch, running } = taken;
        let now = Instant::now();
        let (before, start) = running.map_or((None, now), |(before, start)| (Some(before), start));
        let times = engines.times();
        let waited = armed.map_or(Duration::ZERO, |armed| now.saturating_duration_since(armed));
        let outcome = match &batch {
            None => Outcome::Over(None),
            Some(batch)
                if engines.pace == Pace::Timed && before.is_none() && times.is_over(machine, waited) =>
            {
                batch.never_runs(engines, batch::CANCELLED)
            }
            Some(batch) => match batch.go_on(engines, serial, before) {
                Outcome::Waits(suspended) if batch.is_long_running => Outcome::Waits(suspended),
                Outcome::Waits(suspended) => match times.limit(machine, suspended.arbitration()) {
                    Some((time, Remedy::Cancelled)) if waited >= time => {
                        batch.give_up(engines, &suspended, Remedy::Cancelled)
                    }
                    Some((time, Remedy::Reset)) if now.saturating_duration_since(start) >= time => {
                        batch.give_up(engines, &suspended, Remedy::Reset)
                    }
                    Some(_) | None => Outcome::Waits(suspended),
                },
                over @ Outcome::Over(_) => over,
            },
        };
        let mut state = self.state();
        let over = match outcome {
            Outcome::Waits(suspended) => {
                if let Some(job) = state.queue.find(serial) {
                    (job.batch, job.running) = (batch, Some((suspended, start)));
                    return false;
                }
                None
            }
            Outcome::Over(error) => state.queue.remove(serial).inspect(|job| job.request.finish(error)),
        };
        // May free objects, which does not call back into the GPU.
        drop(state);
        over.is_some()
    }

    /// Cancels the queue, because the last file is closed.
    pub(crate) fn abandon(&self) {
        let queue = std::mem::take(&mut self.state().queue.jobs);
        for job in &queue {
            job.request.finish(Some(Errno::EIO));
        }
        progress::happened();
        // May free objects, which does not call back into the GPU.
        drop(queue);
    }

    /// Returns whether the ring of an owner on an engine has room for a submission (`eb_throttle`).
    pub(crate) fn has_room(&self, owner: &Owner, engine: Engine) -> bool {
        match self.engines.pace {
            Pace::Instant => true,
            Pace::Timed => self.in_flight(owner, engine) < RING,
        }
    }

    /// Returns the number of an owner's submissions to an engine that are not done.
    pub(crate) fn in_flight(&self, owner: &Owner, engine: Engine) -> usize {
        self.state().queue.in_ring(owner.timeline(), engine, self.engines.system.machine)
    }

    /// Returns whether a submission of `file` that was made before `time` is not done.
    pub(crate) fn has_older(&self, file: &Arc<Client>, time: Instant) -> bool {
        let older = |job: &Job| job.request.emitted < time && Arc::ptr_eq(&job.owner.file, file);
        self.state().queue.jobs.iter().any(older)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }
}

impl Running for Gpu {
    fn look(&self) -> bool {
        Self::look(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::spec::Spec;
    use gem_coherency::platform::EngineClass;

    /// Returns the owner of submissions to the default queue of an engine.
    fn owner(engine: Engine) -> Owner {
        let (context, file, lane) = (Arc::default(), Arc::default(), Lane::Default(engine));
        Owner { context, file, lane, bannable: true, recoverable: true, single_timeline: false }
    }

    #[test]
    fn busy_names_the_writer_and_every_reader_until_the_gpu_goes_on() {
        let system = Arc::new(System::new(&Spec::parse("sim:tgl").unwrap()));
        let gpu = Gpu::new(&system, Pace::Instant, GpuTimes::default());
        gpu.stall(true);
        let submit = |uses: &mut Uses, class, access| {
            let engine = Engine { class, instance: 0 };
            let mut turn = gpu.begin(owner(engine), engine);
            turn.uses(uses, access, false);
            turn.submit(None);
        };
        let mut uses = Uses::default();
        submit(&mut uses, EngineClass::Render, Access::Read);
        assert_eq!(uses.busy(), 0x1_0000);
        assert!(
            uses.is_idle(Access::Read) && !uses.is_idle(Access::Write),
            "reads do not exclude each other"
        );
        submit(&mut uses, EngineClass::Copy, Access::Write);
        assert_eq!(uses.busy(), 0x3_0002);
        assert!(!uses.is_idle(Access::Read));
        gpu.stall(false);
        assert_eq!(uses.busy(), 0);
        gpu.stall(true);
        submit(&mut uses, EngineClass::Video, Access::Read);
        assert_eq!(uses.busy(), 0x4_0000, "the first stall is over");
        gpu.abandon();
        assert_eq!(uses.busy(), 0);
    }
}

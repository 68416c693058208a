//! Batches: their start, their continuation and their end.
//!
//! The command streamer reads as the blitter does: through the hierarchy, at the object's own level. A batch
//! whose stores are still in the CPU's caches therefore runs as the stale bytes in memory.

use std::sync::atomic::Ordering;
use std::time::Instant;

use gem_coherency::Errno;

use super::bans::Owner;
use super::commands::registers::Values;
use super::commands::{Privilege, Streamer};
use super::engines::{Engines, Pace};
use super::execution::{End, Position, Run};
use super::fault_log::{GpuHang, HangCause, Remedy};
use super::memory::{Bindings, View};
use super::pipeline::Pipeline;
use super::times::Arbitration;
use crate::gpu::real_gpu::{Ended, OnRealGpu, Work, WriteLog};
use crate::kernel::objects::system::System;
use gem_coherency::platform::Engine;
use gem_coherency::vocabulary::MocsClass;

/// The error of a submission whose batch was reset.
const RESET: Errno = Errno::EIO;
/// The error of a submission whose batch was cancelled after a timeout (`intel_gt_watchdog_work`).
pub(super) const CANCELLED: Errno = Errno::EINTR;

/// A submitted batch.
#[derive(Debug)]
pub(crate) struct Batch {
    pub(crate) engine: Engine,
    pub(crate) privilege: Privilege,
    /// The address of its first command.
    pub(crate) start: u64,
    pub(crate) code: Code,
    pub(crate) bindings: Bindings,
    pub(crate) owner: Owner,
    /// It may run as long as it likes (long-running VMs of xe).
    pub(crate) is_long_running: bool,
    /// Numbers that are stored when it is done, by address (user fences of xe).
    pub(crate) stored: Vec<(u64, u64)>,
    /// The real GPU that runs it, too.
    pub(crate) real_gpu: Option<OnRealGpu>,
}

/// The source of the commands.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum Code {
    /// The batch object.
    #[default]
    InPlace,
    /// The kernel's own coherent object, with what the CPU read from the caller's batch.
    Copied(Vec<u8>),
}

/// The place where a batch stopped, and the cause.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stuck {
    pub(super) cause: HangCause,
    pub(super) at: u64,
    pub(super) command: u32,
    pub(super) arbitration: Arbitration,
    /// The rule that an instruction of a shader breaks.
    pub(super) rule: Option<&'static str>,
}

/// A batch that has started and waits for memory to change, and the time since when it does.
#[derive(Debug)]
pub(super) struct Suspended(Box<Position>, Instant);

impl Suspended {
    pub(super) fn arbitration(&self) -> Arbitration {
        self.0.arbitration
    }
}

/// The state of a batch after it ran.
#[derive(Debug)]
pub(super) enum Outcome {
    /// It ended, or it was ended for this reason.
    Over(Option<Errno>),
    /// It goes on when memory has changed.
    Waits(Suspended),
}

impl Batch {
    /// Starts the batch, or continues it, until it ends or waits for memory. Cancels it if the GPU is dead or its
    /// owner is banned or closed.
    ///
    /// With [`Pace::Instant`], a batch that waits for memory is stuck, because nothing else runs meanwhile.
    pub(super) fn go_on(&self, engines: &Engines, submission: u64, before: Option<Suspended>) -> Outcome {
        let system = &*engines.system;
        if system.injected_faults.is_dead() || self.owner.is_cancelled() {
            tracing::debug!(start = self.start, "cancelled");
            return self.never_runs(engines, RESET);
        }
        if let Some(real_gpu) = &self.real_gpu {
            return self.run_on(real_gpu, engines, submission);
        }
        let streamer = self.streamer(system);
        let log = WriteLog::default();
        let view = View { engines, bindings: &self.bindings, engine: self.engine.class, log: &log };
        let position = match before {
            None => {
                self.bindings.watch(submission);
                let pipeline = self.pipeline(system, &streamer);
                self.begin(system, pipeline)
            }
            Some(Suspended(position, since)) => {
                // The engine polls meanwhile.
                self.owner.file.ran(self.engine.class, since.elapsed());
                // Write-combining buffers are evicted within the time that a batch waits.
                self.bindings.drain();
                *position
            }
        };
        let started = Instant::now();
        let stopped = Run::new(view, streamer, self, position, engines.pace).until_end();
        self.owner.file.ran(self.engine.class, started.elapsed());
        system.coverage.ran(&self.bindings.tally);
        match stopped {
            Ok(End::Ended(pipeline, registers)) => {
                self.keep(pipeline, registers);
                let view = View { engines, bindings: &self.bindings, engine: self.engine.class, log: &log };
                for (address, value) in &self.stored {
                    view.write(MocsClass::PageTable, *address, &value.to_le_bytes());
                }
                system.coverage.ended(&self.bindings.tally, None);
                Outcome::Over(None)
            }
            Ok(End::Waits(position)) => Outcome::Waits(Suspended(Box::new(position), Instant::now())),
            Ok(End::Cancelled) => self.never_runs(engines, RESET),
            Err(stuck) => self.hang(engines, stuck, remedy(system, stuck)),
        }
    }

    /// Returns the batch's begin.
    fn begin(&self, system: &System, pipeline: Pipeline) -> Position {
        let registers = self.owner.context.take_registers(self.owner.lane);
        Position::new(system.machine, self.engine.class, self.start, pipeline, registers)
    }

    /// Keeps what the batch left for the next one of its queue.
    fn keep(&self, pipeline: Pipeline, registers: Values) {
        pipeline.end(&self.owner.context.images, self.owner.lane);
        self.owner.context.keep_registers(self.owner.lane, registers);
    }

    /// Takes note that the batch left registers that are not known.
    fn lose_registers(&self) {
        self.owner.context.keep_registers(self.owner.lane, Values::lost());
    }

    /// Returns the pipelines at the batch's begin.
    fn pipeline(&self, system: &System, streamer: &Streamer) -> Pipeline {
        Pipeline::begin(system, streamer, &self.owner.context.images, self.owner.lane)
    }

    fn streamer(&self, system: &System) -> Streamer {
        Streamer { machine: system.machine, engine: self.engine.class, privilege: self.privilege }
    }

    /// Runs the batch on a real GPU, and then on the simulated one. Where the simulated one stops early, the rest of the
    /// batch's accesses is not judged.
    fn run_on(&self, on: &OnRealGpu, engines: &Engines, submission: u64) -> Outcome {
        let system = &*engines.system;
        self.bindings.watch(submission);
        let work = Work {
            operands: &on.operands,
            engine: self.engine,
            queue: self.owner.lane.number(),
            recoverable: self.owner.recoverable,
            flags: on.flags,
            start: on.start,
            len: on.len,
            context: &self.owner.context.counterpart,
            space: self.bindings.counterpart(),
        };
        let ended = match on.gpu.run(&work) {
            Ok(ended) => ended,
            Err(errno) => {
                // The first refusal is the only one.
                let _ = on.refused.set(errno);
                return self.never_runs(engines, errno);
            }
        };
        let log = WriteLog::on();
        let view = View { engines, bindings: &self.bindings, engine: self.engine.class, log: &log };
        let streamer = self.streamer(system);
        let pipeline = self.pipeline(system, &streamer);
        let position = self.begin(system, pipeline);
        let tally = &self.bindings.tally;
        let stopped = Run::new(view, streamer, self, position, Pace::Instant).until_end();
        system.coverage.ran(tally);
        let unfinished = match stopped {
            Ok(End::Ended(pipeline, registers)) => {
                self.keep(pipeline, registers);
                None
            }
            Ok(End::Waits(_)) => {
                tracing::debug!("the simulated GPU waits for memory, and stops here");
                Some("the simulated GPU waits for memory".to_owned())
            }
            Ok(End::Cancelled) => Some("they were cancelled".to_owned()),
            Err(stuck) => {
                tracing::debug!(?stuck, "the simulated GPU stops here");
                Some(hung(stuck.cause))
            }
        };
        if unfinished.is_some() {
            self.lose_registers();
            self.bindings.miss();
        }
        let written = on.gpu.write_results(&work, &log.take());
        if let Err(errno) = written {
            tracing::error!(%errno, "results of the GPU are lost");
        }
        if written.is_ok() {
            // Whatever command wrote them.
            tally.follow();
        }
        system.coverage.ended(tally, unfinished.as_deref());
        if ended == Ended::Done && written.is_ok() {
            return Outcome::Over(None);
        }
        self.owner.guilty(Instant::now());
        Outcome::Over(Some(RESET))
    }

    /// Ends a batch that does not start, or does not go on.
    pub(super) fn never_runs(&self, engines: &Engines, errno: Errno) -> Outcome {
        self.lose_registers();
        // Nothing is judged of what it does not access.
        self.bindings.tally.miss();
        engines.system.coverage.ended(&self.bindings.tally, Some("they were cancelled"));
        Outcome::Over(Some(errno))
    }

    /// Ends a batch that waits for too long.
    pub(super) fn give_up(&self, engines: &Engines, suspended: &Suspended, remedy: Remedy) -> Outcome {
        let &Position { at, command, arbitration, .. } = &*suspended.0;
        self.hang(engines, Stuck { cause: HangCause::Endless, at, command, arbitration, rule: None }, remedy)
    }

    /// Logs a hang, and applies the kernel's remedy.
    fn hang(&self, engines: &Engines, stuck: Stuck, remedy: Remedy) -> Outcome {
        let system = &*engines.system;
        engines.fault_log.hang(GpuHang {
            cause: stuck.cause,
            address: stuck.at,
            command: stuck.command,
            engine: self.engine.class,
            remedy,
            rule: stuck.rule,
        });
        self.lose_registers();
        self.bindings.miss();
        system.coverage.ended(&self.bindings.tally, Some(&hung(stuck.cause)));
        match remedy {
            Remedy::Cancelled => Outcome::Over(Some(CANCELLED)),
            Remedy::Reset => {
                if !system.machine.has_reset_engine() {
                    // Relaxed: a statistic.
                    system.accounting.resets.fetch_add(1, Ordering::Relaxed);
                }
                self.owner.guilty(Instant::now());
                Outcome::Over(Some(RESET))
            }
        }
    }
}

/// Returns the reason why a batch is not followed further.
fn hung(cause: HangCause) -> String {
    format!("the GPU hangs: {cause}")
}

/// Returns the kernel's remedy. A preemptible engine responds to heartbeats; batches are preemptible from
/// graphics 9 on (`gen8_emit_bb_start`, `gen8_emit_bb_start_noarb`).
fn remedy(system: &System, stuck: Stuck) -> Remedy {
    let preemptible = system.machine.can_preempt() && stuck.arbitration == Arbitration::On;
    match stuck.cause {
        HangCause::Endless if preemptible => Remedy::Cancelled,
        HangCause::Endless
        | HangCause::Unknown
        | HangCause::Unsupported
        | HangCause::Privileged
        | HangCause::InvalidShader => Remedy::Reset,
    }
}

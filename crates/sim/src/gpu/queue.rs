//! The order in which submissions run.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Instant;

use super::bans::Owner;
use super::batch::{Batch, Suspended};
use super::engines::Pace;
use super::times::Arbitration;
use crate::sync::request::Request;
use gem_coherency::platform::{Engine, Machine};

/// A submission that another one waits for.
#[derive(Debug)]
pub(super) struct After {
    pub(super) request: Arc<Request>,
    /// Its start suffices (`I915_EXEC_FENCE_SUBMIT`).
    pub(super) start: bool,
}

impl After {
    fn is_over(&self) -> bool {
        if self.start { self.request.has_started() } else { self.request.is_done() }
    }
}

/// A submission that is not done.
#[derive(Debug)]
pub(super) struct Job {
    pub(super) serial: u64,
    pub(super) request: Arc<Request>,
    pub(super) owner: Owner,
    pub(super) after: Vec<After>,
    /// The time when those were over, from which the kernel counts the time of the request (`__rq_arm_watchdog`).
    pub(super) armed: Option<Instant>,
    /// Nothing runs without a batch.
    pub(super) batch: Option<Batch>,
    /// The state of a batch that has started, and the time when it did.
    pub(super) running: Option<(Suspended, Instant)>,
}

impl Job {
    fn engine(&self) -> Engine {
        self.request.engine
    }

    /// Returns whether the engine cannot run another batch before this one ends.
    fn holds_engine(&self, machine: Machine) -> bool {
        let held = |running: &Suspended| !machine.can_preempt() || running.arbitration() == Arbitration::Off;
        self.running.as_ref().is_some_and(|(running, _)| held(running))
    }
}

/// The submissions that are not done, oldest first.
#[derive(Debug, Default)]
pub(super) struct Queue {
    pub(super) jobs: VecDeque<Job>,
    serial: u64,
}

impl Queue {
    /// Adds a submission.
    pub(super) fn push(&mut self, make: impl FnOnce(u64) -> Job) {
        self.serial += 1;
        self.jobs.push_back(make(self.serial));
    }

    /// Arms the submissions whose fences are done.
    pub(super) fn arm(&mut self, now: Instant) {
        let unarmed = self.jobs.iter_mut().filter(|job| job.armed.is_none());
        unarmed.filter(|job| job.after.iter().all(After::is_over)).for_each(|job| job.armed = Some(now));
    }

    /// Returns the next submission after `last` that can run.
    pub(super) fn next(&mut self, last: u64, pace: Pace, machine: Machine) -> Option<&mut Job> {
        let index = match pace {
            Pace::Instant => {
                let first = self.jobs.front()?;
                (first.serial > last && first.after.iter().all(After::is_over)).then_some(0)
            }
            Pace::Timed => {
                let is_next = |&index: &usize| self.can_run(index, machine);
                let behind = self.jobs.partition_point(|job| job.serial <= last);
                (behind..self.jobs.len()).find(is_next)
            }
        };
        self.jobs.get_mut(index?)
    }

    /// Returns whether a submission can run: those before it on its timeline are done, those that it waits for, too,
    /// and its engine is free.
    fn can_run(&self, index: usize, machine: Machine) -> bool {
        let Some(job) = self.jobs.get(index) else { return false };
        let blocked = |other: &Job| {
            let same_engine = other.engine() == job.engine();
            // Without execlists the contexts share an engine's ring.
            let same_queue =
                other.request.timeline == job.request.timeline || (same_engine && !machine.has_execlists());
            (other.serial < job.serial && same_queue)
                || (other.serial != job.serial && same_engine && other.holds_engine(machine))
        };
        job.after.iter().all(After::is_over) && (job.running.is_some() || !self.jobs.iter().any(blocked))
    }

    /// Returns the number of submissions in the ring of a timeline. Without execlists it is the engine's.
    pub(super) fn in_ring(&self, timeline: Option<u64>, engine: Engine, machine: Machine) -> usize {
        let in_it = |job: &&Job| match machine.has_execlists() {
            true => Some(job.request.timeline) == timeline && job.engine() == engine,
            false => job.engine() == engine,
        };
        self.jobs.iter().filter(in_it).count()
    }

    /// Returns the submission with this number; `None` if the queue was cancelled meanwhile.
    pub(super) fn find(&mut self, serial: u64) -> Option<&mut Job> {
        self.jobs.iter_mut().find(|job| job.serial == serial)
    }

    /// Removes a submission.
    pub(super) fn remove(&mut self, serial: u64) -> Option<Job> {
        let index = self.jobs.iter().position(|job| job.serial == serial)?;
        self.jobs.remove(index)
    }
}

//! Plan, perform, commit: completes the pending work of objects shared by threads before an access.
//!
//! The order is the protocol that `loom-tests` check: each flush is announced before anything of its object
//! is taken; none completes before the trailing fence; all complete together, so that threads that submit the
//! same objects in different orders cannot deadlock.

use super::batch::Batch;
use super::flush::{Flush, LevelChange, StaleLines, carry_out, leave_level, upload};
use super::object::Object;
use super::pending::Note;
use super::report::{FlushReport, Step};
use crate::cacheops::LineOp;
use crate::error::{Error, Result};
use crate::policy::driver::CpuMemory;
use crate::policy::pending::RequiredWork;
use crate::policy::{Decision, Path, Rule, Verdict};
use crate::tracking::{Completion, InFlightFlush, State, Taken, Tracked, complete};
use crate::units::{LineRange, Lines};
use crate::vocabulary::Access;

/// An upcoming access.
#[derive(Debug)]
pub struct Need<'a, O> {
    /// The object.
    pub object: &'a O,
    /// The lines.
    pub lines: LineRange,
    /// The accessing agent and its path.
    pub next: Path,
    /// Read or write; a GPU that writes is assumed to read, too.
    pub access: Access,
    /// The handling of stale lines.
    pub stale: StaleLines,
}

impl<O> Clone for Need<'_, O> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<O> Copy for Need<'_, O> {}

impl<O: Object> Need<'_, O> {
    /// Checks that the rules do not refuse the access.
    ///
    /// # Errors
    /// [`Object::refused`].
    pub fn check(&self) -> Result<()> {
        match self.object.decisions(self.next, self.access).refusal {
            Some(rule) => Err(self.object.refused(self.next, rule)),
            None => Ok(()),
        }
    }

    /// Returns the requirements for this access.
    fn required_work(&self) -> RequiredWork {
        self.stale.restrict(self.object.decisions(self.next, self.access).required)
    }

    /// Returns the decision to report if nothing is pending.
    fn idle(&self) -> Decision {
        let decisions = self.object.decisions(self.next, self.access);
        let (decision, rule) = match self.next {
            Path::Cpu(_) => (decisions.invalidate_after_gpu_write, Rule::NothingStale),
            Path::Gpu(_) | Path::Display => (decisions.after_store(self.object.mode()), Rule::NothingDirty),
        };
        match decision.verdict {
            Verdict::NotNeeded => decision,
            Verdict::Flush | Verdict::Invalidate | Verdict::Drain | Verdict::Refused => {
                Decision::new(Verdict::NotNeeded, rule)
            }
        }
    }

    /// Returns the operation whose fences the access needs: a later store starts a GPU's or a display's access,
    /// while the CPU's own next access may be a load, which needs a stronger fence.
    const fn fences(&self) -> LineOp {
        match self.next {
            Path::Cpu(_) => LineOp::Invalidate,
            Path::Gpu(_) | Path::Display => LineOp::Flush,
        }
    }
}

/// How far the work for an access is.
#[derive(Debug)]
enum Progress<'a> {
    /// No work is required.
    Nothing,
    /// Work may be pending.
    Planned {
        /// The lines.
        lines: LineRange,
        /// The requirements.
        required: RequiredWork,
        /// A GPU write was noted, and waited for.
        has_gpu_write: bool,
    },
    /// The flush has begun, and other threads wait for it.
    InFlight(InFlightFlush<'a>),
}

/// An access, and the work that it requires.
#[derive(Debug)]
pub struct Task<'a, O> {
    /// The access.
    pub need: Need<'a, O>,
    progress: Progress<'a>,
    /// The work that was done.
    pub report: FlushReport,
}

impl<'a, O: Object> Task<'a, O> {
    /// Creates the task of an access that is not refused ([`Need::check`]).
    pub fn new(need: Need<'a, O>, step: Step) -> Self {
        Self { need, progress: Progress::Nothing, report: FlushReport::new(step, need.idle(), 0) }
    }

    /// Determines the required work; waits for the GPU's writes if the access requires that.
    fn plan(&mut self) -> Result<()> {
        let Need { object, lines, next, .. } = self.need;
        let tracked = object.tracked();
        let required = self.need.required_work();
        let has_gpu_write = required.gpu_write.is_some() && tracked.word().state().has_gpu_write();
        if matches!(next, Path::Cpu(_)) || has_gpu_write || object.is_conservative() {
            object.wait_for_gpu()?;
        }
        if tracked.is_settled(|state| is_pending(&required, state, tracked, lines)) {
            self.progress = Progress::Nothing;
            return Ok(());
        }
        // GPU writes may be anywhere in the object.
        let lines = if has_gpu_write { tracked.dirty().all() } else { lines };
        self.progress = Progress::Planned { lines, required, has_gpu_write };
        Ok(())
    }

    /// Takes the in-flight flush, to complete it.
    fn take_in_flight(&mut self) -> Option<InFlightFlush<'a>> {
        match std::mem::replace(&mut self.progress, Progress::Nothing) {
            Progress::InFlight(in_flight) => Some(in_flight),
            Progress::Nothing | Progress::Planned { .. } => None,
        }
    }
}

/// Returns whether any of the work in `required` is pending.
fn is_pending(required: &RequiredWork, state: State, tracked: &Tracked, lines: LineRange) -> bool {
    (required.gpu_write.is_some() && state.has_gpu_write())
        || (required.wc_stores.is_some() && state.has_wc_stores())
        || (required.gtt_stores.is_some() && state.has_gtt_stores())
        || (required.dirty.is_some() && !tracked.dirty().is_quickly_clean(lines))
        || (required.stale.is_some() && !tracked.stale().is_quickly_clean(lines))
}

/// Makes memory and caches current for upcoming accesses, between one pair of fences, including work that
/// other threads had taken. If what another thread took is pending again, starts over.
///
/// # Errors
/// The first error of a task. Everything that was pending is then pending again once the tasks are dropped.
pub fn settle<O: Object>(tasks: &mut [Task<'_, O>]) -> Result<()> {
    loop {
        let mut fences = None;
        for task in tasks.iter_mut() {
            task.plan()?;
            let is_stronger = |&(_, op): &(_, LineOp)| op == LineOp::Invalidate;
            if matches!(task.progress, Progress::Planned { .. }) && !fences.as_ref().is_some_and(is_stronger)
            {
                fences = Some((task.need.object, task.need.fences()));
            }
        }
        let Some((object, op)) = fences else { return Ok(()) };
        let mut batch = Batch::new(object, op);
        let mut is_noted_late = false;
        for Task { need, progress, report } in tasks.iter_mut() {
            let Progress::Planned { lines, mut required, has_gpu_write } = *progress else { continue };
            let Need { object, next, access, .. } = *need;
            *progress = Progress::InFlight(object.tracked().begin_flush(lines)?);
            let Progress::InFlight(in_flight) = progress else { continue };
            if !has_gpu_write && required.gpu_write.take().is_some() {
                // At the plan another thread may have taken the note of a GPU write that was not over; it
                // noted the write again before its flush ended. If that was before this flush began, the note
                // is there now.
                is_noted_late |= object.tracked().word().state().has_gpu_write();
            }
            carry_out(&mut Taking { object, in_flight, batch: &mut batch, report }, &required, next, access)?;
        }
        batch.end()?;
        match complete(tasks.iter_mut().filter_map(Task::take_in_flight)) {
            Completion::InMemory if !is_noted_late => return Ok(()),
            Completion::InMemory | Completion::Again => tracing::debug!("work is pending again: start over"),
        }
    }
}

/// Writes bytes of `lines` to memory at once by `store`; another thread that finds the lines unmarked waits
/// for it.
///
/// Needs no leading fence: a line is written back after this thread's stores to it, and after those of other
/// threads whose marks it took.
///
/// # Errors
/// Those of `store`; [`Error::RangeOutOfBounds`]. Then the lines are dirty.
pub fn upload_to<O: Object>(object: &O, lines: LineRange, store: impl Fn() -> Result<()>) -> Result<()> {
    by_itself(object, lines, |flush| upload(flush, |_| store()))
}

/// Performs the pending work of the old level before a level change, after the GPU's writes
/// ([`leave_level`]).
///
/// No access may be open meanwhile.
///
/// # Errors
/// As [`settle`]; those of SET_DOMAIN.
pub fn leave_level_of<O: Object>(object: &O, changes: bool) -> Result<()> {
    object.wait_for_gpu()?;
    by_itself(object, object.tracked().dirty().all(), |flush| leave_level(flush, changes))
}

/// Runs the flush of a single object.
fn by_itself<'a, O: Object>(
    object: &'a O,
    lines: LineRange,
    carry_out: impl Fn(&mut Taking<'_, 'a, O>) -> Result<()>,
) -> Result<()> {
    loop {
        let mut in_flight = object.tracked().begin_flush(lines)?;
        let report = &mut FlushReport::nothing(Step::Write, Rule::NothingDirty);
        let mut batch = Batch::new(object, LineOp::Flush);
        carry_out(&mut Taking { object, in_flight: &mut in_flight, batch: &mut batch, report })?;
        batch.end()?;
        match complete([in_flight]) {
            Completion::InMemory => return Ok(()),
            Completion::Again => tracing::debug!("work is pending again: start over"),
        }
    }
}

/// An in-flight flush that takes its object's pending work.
struct Taking<'t, 'a, O: Object> {
    object: &'a O,
    in_flight: &'t mut InFlightFlush<'a>,
    batch: &'t mut Batch<'a, O>,
    report: &'t mut FlushReport,
}

impl<O: Object> Flush for Taking<'_, '_, O> {
    type Error = Error;

    fn take(&mut self, note: Note) -> bool {
        let taken = match note {
            Note::WcStores => self.in_flight.take_wc_stores(),
            Note::GttStores => self.in_flight.take_gtt_stores(),
            Note::GpuWrite => self.in_flight.take_gpu_write(),
        };
        taken == Taken::Pending
    }

    fn drain(&mut self, memory: CpuMemory) -> Result<()> {
        self.object.drain(memory)
    }

    fn invalidate_stale(&mut self) -> Result<u64> {
        let in_flight = &mut *self.in_flight;
        self.batch
            .add(self.object, LineOp::Invalidate, |add| in_flight.take_stale(|run| add(Lines::Run(run))))
    }

    fn flush_dirty(&mut self, op: LineOp) -> Result<u64> {
        let in_flight = &mut *self.in_flight;
        let take = |add: &mut dyn FnMut(Lines)| in_flight.take_dirty_pages(|page| add(Lines::Page(page)));
        let lines = self.batch.add(self.object, op, take)?;
        let tracked = self.object.tracked();
        if lines > 0 && self.object.is_conservative() && !tracked.gpu_writes().are_over() {
            // Some lines may have been marked for a GPU write that is still to come.
            self.in_flight.keep_all_dirty();
        }
        Ok(lines)
    }

    fn write_back_all(&mut self) -> Result<u64> {
        self.forget_dirty();
        let all = Lines::Run(self.in_flight.range());
        self.batch.add(self.object, LineOp::WriteBack, |add| {
            add(all);
            all.count()
        })
    }

    fn forget_dirty(&mut self) {
        self.in_flight.take_dirty_pages(|_| {});
    }

    fn mark_all_dirty(&mut self) {
        self.object.tracked().dirty().mark_all();
    }

    fn report(&mut self, decision: Decision, lines: u64) {
        self.report.add(FlushReport::new(self.report.step, decision, lines));
    }
}

impl<O: Object> LevelChange for Taking<'_, '_, O> {
    fn has_uncached_writes(&self) -> bool {
        self.object.has_uncached_writes()
    }

    fn enter_cpu_domain(&mut self) -> Result<()> {
        self.object.enter_cpu_domain()
    }
}

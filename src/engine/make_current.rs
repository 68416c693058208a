//! Plan, perform, commit: completes the pending work of objects shared by threads before an access.
//!
//! The order is the protocol that `loom-tests` check: each flush is announced before anything of its object
//! is taken; none completes before the trailing fence; all complete together, so that threads that submit the
//! same objects in different orders cannot deadlock.

use std::slice;

use super::batch::Batch;
use super::flush::{Flush, LevelChange, StaleLines, Take, drain_stores, leave_level, perform_work, upload};
use super::object::Object;
use super::pending::Note;
use super::report::{FlushReport, Step};
use crate::cacheops::LineOp;
use crate::error::{Error, Result};
use crate::policy::driver::CpuMemory;
use crate::policy::pending::RequiredWork;
use crate::policy::{Decision, Decisions, Path, Rule, Verdict};
use crate::tracking::{Completion, InFlightFlush, Marks, State, Tracked, WasPending, complete};
use crate::units::LineRange;
use crate::vocabulary::Access;

/// An upcoming access.
#[derive(Debug)]
pub struct UpcomingAccess<'a, O> {
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
    /// The place of the caller's marks.
    pub marks: Marks,
}

impl<O> Clone for UpcomingAccess<'_, O> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<O> Copy for UpcomingAccess<'_, O> {}

impl<O: Object> UpcomingAccess<'_, O> {
    /// Returns the decision to report if nothing is pending.
    #[inline(always)]
    fn idle(&self, decisions: &Decisions) -> Decision {
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
}

/// Returns the decision to report for an access that requires nothing, or none if it may require something, or the rules
/// refuse it.
///
/// It takes no locked instruction.
#[inline(always)]
pub fn nothing_to_do<O: Object>(upcoming: &UpcomingAccess<'_, O>) -> Option<Decision> {
    let UpcomingAccess { object, next, .. } = *upcoming;
    let decisions = object.decisions(next, upcoming.access);
    let tracked = object.tracked();
    let waits = matches!(next, Path::Cpu(_)) || object.is_conservative();
    if decisions.refusal.is_some() || (waits && !tracked.gpu_writes().are_over()) {
        return None;
    }
    let required = upcoming.stale.restrict(decisions.required);
    let returns = tracked.returned_flushes();
    let is_pending = is_pending(&required, tracked.word().state(), tracked, upcoming.lines);
    (!is_pending && tracked.is_idle_since(returns)).then(|| upcoming.idle(decisions))
}

/// [`make_current`] for one access; returns its report.
///
/// # Errors
/// As [`Task::new`] and [`make_current`].
#[inline(always)]
pub fn make_current_one<O: Object>(upcoming: UpcomingAccess<'_, O>, step: Step) -> Result<FlushReport> {
    let (decision, lines) = match nothing_to_do(&upcoming) {
        Some(decision) => (decision, 0),
        None => {
            let report = perform_one(upcoming, step)?;
            (report.decision, report.lines)
        }
    };
    Ok(FlushReport::new(step, decision, lines))
}

/// Carries out the task of one access.
#[cold]
fn perform_one<O: Object>(upcoming: UpcomingAccess<'_, O>, step: Step) -> Result<FlushReport> {
    let mut task = Task::new(upcoming, step)?;
    make_current(slice::from_mut(&mut task))?;
    Ok(task.report)
}

/// An access, and the work that it requires.
#[derive(Debug)]
pub struct Task<'a, O> {
    /// The access.
    pub upcoming: UpcomingAccess<'a, O>,
    /// The place of the report among those of a caller with several accesses, which sets it.
    pub place: usize,
    /// The requirements.
    required: RequiredWork,
    /// A GPU write was noted, and waited for.
    has_gpu_write: bool,
    /// The flush that has begun, and that other threads wait for.
    in_flight: Option<InFlightFlush<'a>>,
    /// The work that was done.
    pub report: FlushReport,
}

impl<'a, O: Object> Task<'a, O> {
    /// Creates the task of an access. The object's level must not change before the task is dropped.
    ///
    /// # Errors
    /// [`Object::refused`], if the rules refuse the access.
    #[inline]
    pub fn new(upcoming: UpcomingAccess<'a, O>, step: Step) -> Result<Self> {
        let decisions = upcoming.object.decisions(upcoming.next, upcoming.access);
        if let Some(rule) = decisions.refusal {
            return Err(upcoming.object.refused(upcoming.next, rule));
        }
        Ok(Self {
            upcoming,
            place: 0,
            required: upcoming.stale.restrict(decisions.required),
            has_gpu_write: false,
            in_flight: None,
            report: FlushReport::new(step, upcoming.idle(decisions), 0),
        })
    }

    /// Waits for the GPU's writes if the access requires that.
    #[inline]
    fn wait(&mut self) -> Result<()> {
        let UpcomingAccess { object, next, .. } = self.upcoming;
        self.has_gpu_write =
            self.required.gpu_write.is_some() && object.tracked().word().state().has_gpu_write();
        if matches!(next, Path::Cpu(_)) || self.has_gpu_write || object.is_conservative() {
            object.wait_for_gpu()?;
        }
        Ok(())
    }

    /// Begins the flush; returns whether a GPU write is noted that was not waited for.
    ///
    /// Before this thread looked ([`Task::wait`]), another one may have taken the note of a GPU write that was
    /// not over; it noted the write again before its flush ended. If that was before this flush began, the note
    /// is there now.
    #[inline]
    fn begin(&mut self) -> Result<bool> {
        let Self { upcoming: UpcomingAccess { object, lines, .. }, required, has_gpu_write, .. } = *self;
        let tracked = object.tracked();
        // GPU writes may be anywhere in the object.
        let lines = if has_gpu_write { tracked.dirty().all() } else { lines };
        self.in_flight = Some(tracked.begin_flush(lines)?);
        Ok(!has_gpu_write && required.gpu_write.is_some() && tracked.word().state().has_gpu_write())
    }

    /// Performs what is pending of the required work.
    #[inline]
    fn perform(&mut self, batch: &mut Batch<'a, O>) -> Result<()> {
        let Self { upcoming, required, has_gpu_write, in_flight: Some(in_flight), report, .. } = self else {
            return Ok(());
        };
        let UpcomingAccess { object, next, access, marks, .. } = *upcoming;
        let gpu_write = required.gpu_write.filter(|_| *has_gpu_write);
        let found = Found { batch, report };
        let required = RequiredWork { gpu_write, ..*required };
        perform_work(&mut PendingTaker { object, in_flight, marks, found }, &required, next, access)
    }
}

/// Returns whether any of the work in `required` is pending.
#[inline(always)]
fn is_pending(required: &RequiredWork, state: State, tracked: &Tracked, lines: LineRange) -> bool {
    let is_noted = || {
        (required.gpu_write.is_some() && state.has_gpu_write())
            || (required.wc_stores.is_some() && state.has_wc_stores())
            || (required.gtt_stores.is_some() && state.has_gtt_stores())
    };
    (state.has_notes() && is_noted())
        || (required.dirty.is_some() && !tracked.dirty().is_quickly_clean(lines))
        || (required.stale.is_some() && !tracked.stale().is_quickly_clean(lines))
}

/// Returns the operation whose fences an access needs: a later store starts a GPU's or a display's access,
/// while the CPU's own next access may be a load, which needs a stronger fence.
#[inline]
const fn fences_before(next: Path) -> LineOp {
    match next {
        Path::Cpu(_) => LineOp::Invalidate,
        Path::Gpu(_) | Path::Display => LineOp::Flush,
    }
}

/// Makes memory and caches current for upcoming accesses that require something ([`nothing_to_do`]), between one pair of fences,
/// including work that other threads had taken. If what another thread took is pending again, starts over.
///
/// The accesses are made by the CPU, or none of them is: the first one determines the fences.
///
/// # Errors
/// The first error of a task. Everything that was pending is then pending again once the tasks are dropped.
pub fn make_current<O: Object>(tasks: &mut [Task<'_, O>]) -> Result<()> {
    loop {
        // No thread may wait for the GPU while a flush of its own is open.
        tasks.iter_mut().try_for_each(Task::wait)?;
        let Some(&Task { upcoming, .. }) = tasks.first() else { return Ok(()) };
        let op = fences_before(upcoming.next);
        debug_assert!(tasks.iter().all(|task| fences_before(task.upcoming.next) == op), "one kind of fence");
        let mut batch = Batch::new(upcoming.object, op);
        let mut is_noted_late = false;
        // Lines are touched after all flushes have begun: a locked instruction waits for earlier line operations.
        for task in tasks.iter_mut() {
            is_noted_late |= task.begin()?;
        }
        tasks.iter_mut().try_for_each(|task| task.perform(&mut batch))?;
        batch.end()?;
        match complete(tasks.iter_mut().filter_map(|task| task.in_flight.as_mut())) {
            Completion::InMemory if !is_noted_late => return Ok(()),
            Completion::InMemory | Completion::Again => tracing::debug!("work is pending again: start over"),
        }
        tasks.iter_mut().for_each(|task| task.in_flight = None);
    }
}

/// Writes bytes of `lines` to memory at once by `store`; another thread that finds that their marks were taken waits for
/// it.
///
/// If the lines have no marks, none is taken, and nobody has to wait: before the call, memory was current.
///
/// `store` runs again if the flush of another thread failed meanwhile, so it must store the same bytes. It needs
/// no leading fence: a line is written back after this thread's stores to it, and after those of other threads
/// whose marks it took.
///
/// # Errors
/// Those of `store`; [`Error::RangeOutOfBounds`]. Then the lines are dirty.
#[inline]
pub fn upload_to<O: Object>(
    object: &O,
    lines: LineRange,
    marks: Marks,
    store: impl Fn() -> Result<()>,
) -> Result<()> {
    let dirty = object.tracked().dirty();
    if !dirty.is_quickly_clean(lines) {
        return by_itself(object, lines, marks, |flush| upload(flush, |_| store()));
    }
    let stored = store();
    if stored.is_err() {
        dirty.mark(lines)?;
    }
    stored
}

/// Performs the pending work of the old level before a level change, after the GPU's writes
/// ([`leave_level`]).
///
/// No access may be open meanwhile.
///
/// # Errors
/// As [`make_current`]; those of SET_DOMAIN.
pub fn leave_level_of<O: Object>(object: &O, changes: bool) -> Result<()> {
    object.wait_for_gpu()?;
    by_itself(object, object.tracked().dirty().all(), Marks::Own, |flush| leave_level(flush, changes))
}

/// Drains the stores that were made around the cache, while their mappings can still be used. Dirty lines stay dirty.
///
/// No access may be open meanwhile.
///
/// # Errors
/// Those of a read through such a mapping.
pub fn drain_stores_of<O: Object>(object: &O) -> Result<()> {
    by_itself(object, object.tracked().dirty().all(), Marks::Own, |flush| drain_stores(flush))
}

/// Runs a flush of a single object that queues no lines.
fn by_itself<'a, O: Object>(
    object: &'a O,
    lines: LineRange,
    marks: Marks,
    work: impl Fn(&mut PendingTaker<'_, 'a, O, ()>) -> Result<()>,
) -> Result<()> {
    loop {
        let mut in_flight = object.tracked().begin_flush(lines)?;
        work(&mut PendingTaker { object, in_flight: &mut in_flight, marks, found: () })?;
        match complete([&mut in_flight]) {
            Completion::InMemory => return Ok(()),
            Completion::Again => tracing::debug!("work is pending again: start over"),
        }
    }
}

/// An in-flight flush that takes its object's pending work.
struct PendingTaker<'t, 'a, O: Object, F> {
    object: &'a O,
    in_flight: &'t mut InFlightFlush<'a>,
    marks: Marks,
    /// The destination of the lines that it finds, if it looks for lines.
    found: F,
}

/// The destination of the lines that a flush finds.
struct Found<'t, 'a, O: Object> {
    batch: &'t mut Batch<'a, O>,
    report: &'t mut FlushReport,
}

impl<O: Object, F> Take for PendingTaker<'_, '_, O, F> {
    type Error = Error;

    #[inline]
    fn take(&mut self, note: Note) -> bool {
        let taken = match note {
            Note::WcStores => self.in_flight.take_wc_stores(),
            Note::GttStores => self.in_flight.take_gtt_stores(),
            Note::GpuWrite => self.in_flight.take_gpu_write(),
        };
        taken == WasPending::Yes
    }

    fn drain(&mut self, memory: CpuMemory) -> Result<()> {
        self.object.drain(memory)
    }

    fn forget_dirty(&mut self) {
        self.in_flight.take_dirty_pages(self.marks, |_| {});
    }
}

impl<'t, 'a, O: Object> Flush for PendingTaker<'t, 'a, O, Found<'t, 'a, O>> {
    fn invalidate_stale(&mut self) -> Result<u64> {
        let mut queue = self.found.batch.queue(self.object, LineOp::Invalidate);
        let lines = self.in_flight.take_stale(|run| queue.run(run));
        queue.end()?;
        Ok(lines)
    }

    fn flush_dirty(&mut self, op: LineOp) -> Result<u64> {
        let lines = match self.in_flight.take_own_pages(self.marks) {
            Some(pages) => self.found.batch.take(self.object, op, pages)?,
            None => {
                let mut queue = self.found.batch.queue(self.object, op);
                let lines = self.in_flight.take_dirty_pages(self.marks, |page| queue.page(page));
                queue.end()?;
                lines
            }
        };
        let tracked = self.object.tracked();
        if lines > 0 && self.object.is_conservative() && !tracked.gpu_writes().are_over() {
            // Some lines may have been marked for a GPU write that is still to come.
            self.in_flight.keep_all_dirty();
        }
        Ok(lines)
    }

    fn write_back_all(&mut self) -> Result<u64> {
        self.forget_dirty();
        let all = self.object.tracked().dirty().all();
        let mut queue = self.found.batch.queue(self.object, LineOp::WriteBack);
        queue.run(all);
        queue.end()?;
        Ok(all.count())
    }

    fn report(&mut self, decision: Decision, lines: u64) {
        let report = &mut *self.found.report;
        report.add(FlushReport::new(report.step, decision, lines));
    }
}

impl<O: Object> LevelChange for PendingTaker<'_, '_, O, ()> {
    fn mark_all_dirty(&mut self) {
        self.object.tracked().dirty().mark_all();
    }

    fn has_uncached_writes(&self) -> bool {
        self.object.has_uncached_writes()
    }

    fn enter_cpu_domain(&mut self) -> Result<()> {
        self.object.enter_cpu_domain()
    }
}

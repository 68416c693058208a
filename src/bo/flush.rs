//! Making memory and caches right before an access: the one place where lines are flushed.
//!
//! [`settle`] takes the accesses that are about to happen, one per BO of a submission, or one alone;
//! asks the policy about everything that is pending; and carries out what it demands in one queue
//! ([`run_queue`]), with one pair of fences for all. What is not demanded stays pending: another reader may need it.

use super::Shared;
use super::mapping::refusal_errno;
use crate::access::{FlushReport, Step};
use crate::cacheops::{self, LineOp};
use crate::drm::Mapping;
use crate::error::{Error, Result, room};
use crate::policy::driver::CpuMemory;
use crate::policy::pending::{Demands, flush_op};
use crate::policy::{Answer, Decision, Path, Rule, Verdict};
use crate::tracking::{Batch, Flight, State, Taken, Tracked, Work, run_queue};
use crate::units::{LineRange, PageLines};
use crate::vocabulary::Access;

/// An access that is about to happen.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Need<'a> {
    /// To which BO.
    pub(crate) bo: &'a Shared,
    /// To which of its lines.
    pub(crate) lines: LineRange,
    /// By whom.
    pub(crate) next: Path,
    /// What it does; a GPU that writes is taken to read, too.
    pub(crate) access: Access,
    /// Whether stale lines are invalidated; not if the access overwrites them whole.
    pub(crate) invalidate: bool,
}

impl Need<'_> {
    /// What the rules say about the access.
    fn answer(&self) -> &'static Answer {
        self.bo.answer(self.next, self.access)
    }

    /// What the policy demands for this access of what is pending.
    fn demands(&self) -> Demands {
        let demands = self.answer().demands;
        Demands { stale: demands.stale.filter(|_| self.invalidate), ..demands }
    }

    /// Why nothing has to be done if nothing is pending.
    fn idle(&self) -> Decision {
        let answer = self.answer();
        let (decision, rule) = match self.next {
            Path::Cpu(_) => (answer.invalidate_after_gpu_write, Rule::NothingStale),
            Path::Gpu(_) | Path::Display => (answer.after_store(self.bo.mode()), Rule::NothingDirty),
        };
        match decision.verdict {
            Verdict::NotNeeded => decision,
            Verdict::Flush | Verdict::Invalidate | Verdict::Drain | Verdict::Refused => {
                Decision::new(Verdict::NotNeeded, rule)
            }
        }
    }

    /// Refuses an access that the platform, or the level, does not have.
    fn check(&self) -> Result<()> {
        let Some(rule) = self.answer().refusal else { return Ok(()) };
        let what = match self.next {
            Path::Cpu(mode) => format!("map mode {mode}"),
            Path::Gpu(_) => "GPU access".to_owned(),
            Path::Display => "scanout".to_owned(),
        };
        tracing::debug!(handle = self.bo.handle.get(), what, %rule, errno = %refusal_errno(rule), "refused");
        Err(self.bo.not_available(what, rule))
    }
}

/// One access whose demands are being carried out.
struct Task<'a> {
    need: Need<'a>,
    demands: Demands,
    report: FlushReport,
}

impl<'a> Task<'a> {
    fn new(need: Need<'a>, step: Step) -> Self {
        Self { need, demands: Demands::default(), report: FlushReport::new(step, need.idle(), 0) }
    }

    /// Notes in the report what was done.
    fn note(&mut self, decision: Option<Decision>, lines: u64) {
        if let Some(decision) = decision
            && (lines > 0 || decision.verdict == Verdict::Drain)
        {
            self.report.add(FlushReport::new(self.report.step, decision, lines));
        }
    }
}

/// Lines that were taken.
enum Taking {
    /// A run of them.
    Run(LineRange),
    /// Some of a page.
    Page(PageLines),
}

/// An operation on lines of a mapping.
struct Operation<'a> {
    bo: &'a Shared,
    mapping: &'a Mapping,
    op: LineOp,
    lines: Taking,
}

impl<'a> Work<'a> for Task<'a> {
    type Lines = Operation<'a>;

    fn perform(operation: &Operation<'a>) -> Result<()> {
        let Operation { bo, mapping, op, ref lines } = *operation;
        let (count, done) = match *lines {
            Taking::Run(run) => (run.count(), mapping.lines(run, op)),
            Taking::Page(page) => (page.count(), mapping.page_lines(page, op)),
        };
        tracing::trace!(handle = bo.handle.get(), ?op, lines = count, "lines");
        done
    }

    fn object(&self) -> &'a Tracked {
        &self.need.bo.tracked
    }

    fn prepare(&mut self) -> Result<Option<LineRange>> {
        let bo = self.need.bo;
        self.demands = self.need.demands();
        let has_gpu_write = self.demands.gpu_write.is_some() && bo.tracked.word().state().has_gpu_write();
        if matches!(self.need.next, Path::Cpu(_)) || has_gpu_write || bo.device.is_conservative() {
            bo.wait_for_gpu()?;
        }
        let Demands { dirty, gpu_write, stale, wc_stores, gtt_stores } = self.demands;
        let is_pending = |state: State| {
            (gpu_write.is_some() && state.has_gpu_write())
                || (wc_stores.is_some() && state.has_wc_stores())
                || (gtt_stores.is_some() && state.has_gtt_stores())
                || (dirty.is_some() && !bo.tracked.dirty().is_quickly_clean(self.need.lines))
                || (stale.is_some() && !bo.tracked.stale().is_quickly_clean(self.need.lines))
        };
        if bo.tracked.is_settled(is_pending) {
            return Ok(None);
        }
        // What the GPU wrote may be anywhere in the object.
        let lines = if has_gpu_write { bo.tracked.dirty().all() } else { self.need.lines };
        self.demands.gpu_write = gpu_write.filter(|_| has_gpu_write);
        Ok(Some(lines))
    }

    fn carry_out(&mut self, flight: &mut Flight<'a>, batch: &mut Batch<'_, Operation<'a>>) -> Result<()> {
        let bo = self.need.bo;
        if self.demands.wc_stores.is_some() && flight.take_wc_stores() == Taken::Pending {
            bo.drain(CpuMemory::Combining)?;
            self.note(self.demands.wc_stores, 0);
        }
        if self.demands.gtt_stores.is_some() && flight.take_gtt_stores() == Taken::Pending {
            bo.drain(CpuMemory::Aperture)?;
            self.note(self.demands.gtt_stores, 0);
        }
        if self.demands.stale.is_some() {
            let mut lines = Lines::new(bo, LineOp::Invalidate, batch);
            flight.take_stale(|run| lines.add(run.count(), Taking::Run(run)));
            let count = lines.end()?;
            self.note(self.demands.stale, count);
        }
        if self.demands.gpu_write.is_some() && flight.take_gpu_write() == Taken::Pending {
            // Every line, the dirty ones among them.
            flight.take_dirty_pages(|_| {});
            let mut lines = Lines::new(bo, LineOp::WriteBack, batch);
            let all = flight.range();
            lines.add(all.count(), Taking::Run(all));
            let count = lines.end()?;
            self.note(self.demands.gpu_write, count);
        } else if self.demands.dirty.is_some() {
            let mut lines = Lines::new(bo, flush_op(self.need.next, self.need.access), batch);
            flight.take_dirty_pages(|page| lines.add(page.count(), Taking::Page(page)));
            let count = lines.end()?;
            self.note(self.demands.dirty, count);
            if count > 0 && bo.device.is_conservative() && !bo.tracked.gpu_writes().are_over() {
                // They may have been marked for a write of the GPU that is still to come.
                bo.tracked.dirty().mark_all();
            }
        }
        Ok(())
    }
}

/// Lines of one BO that one operation is performed on.
struct Lines<'a, 'b, 'f> {
    bo: &'a Shared,
    op: LineOp,
    batch: &'b mut Batch<'f, Operation<'a>>,
    mapping: Option<&'a Mapping>,
    count: u64,
    failed: Option<Error>,
}

impl<'a, 'b, 'f> Lines<'a, 'b, 'f> {
    fn new(bo: &'a Shared, op: LineOp, batch: &'b mut Batch<'f, Operation<'a>>) -> Self {
        Self { bo, op, batch, mapping: None, count: 0, failed: None }
    }

    /// Adds `count` lines to the batch, unless something failed before.
    fn add(&mut self, count: u64, lines: Taking) {
        if self.failed.is_some() {
            return;
        }
        match self.try_add(lines) {
            Ok(()) => self.count += count,
            Err(error) => self.failed = Some(error),
        }
    }

    fn try_add(&mut self, lines: Taking) -> Result<()> {
        let mapping = match self.mapping {
            Some(mapping) => mapping,
            None => self.bo.flush_mapping()?,
        };
        self.mapping = Some(mapping);
        self.batch.push(Operation { bo: self.bo, mapping, op: self.op, lines })
    }

    /// How many lines there were.
    fn end(self) -> Result<u64> {
        match self.failed {
            None => Ok(self.count),
            Some(error) => Err(error),
        }
    }
}

/// A fence of a queue for `needs`.
fn fence(needs: &[Need<'_>]) {
    // A GPU or a display learns of the lines by a store. The CPU's own next access may be a load.
    let cpu = needs.iter().any(|need| matches!(need.next, Path::Cpu(_)));
    let op = if cpu { LineOp::Invalidate } else { LineOp::Flush };
    tracing::trace!(?op, "fence");
    cacheops::fence_around(op);
}

/// [`settle`] for one access; returns its report.
///
/// # Errors
/// As [`settle`].
pub(crate) fn settle_one(need: Need<'_>, step: Step) -> Result<FlushReport> {
    need.check()?;
    let mut task = Task::new(need, step);
    run_queue(std::slice::from_mut(&mut task), &|| fence(&[need]))?;
    task.report.trace(need.bo.handle);
    Ok(task.report)
}

/// Makes memory and caches right for `needs`, which are about to happen; one report for each.
///
/// # Errors
/// [`Error::NotAvailable`] for an access that cannot be; what mapping answers, if a BO must be mapped
/// to be flushed, and what waiting answers. Then everything that was pending still is.
pub(crate) fn settle(needs: &[Need<'_>], step: Step) -> Result<Vec<FlushReport>> {
    needs.iter().try_for_each(Need::check)?;
    let mut tasks = room("submissions", needs.len())?;
    tasks.extend(needs.iter().map(|need| Task::new(*need, step)));
    // Before anything is flushed, so that nothing fails after it.
    let mut reports = room("reports", needs.len())?;
    run_queue(&mut tasks, &|| fence(needs))?;
    for task in &tasks {
        task.report.trace(task.need.bo.handle);
    }
    reports.extend(tasks.into_iter().map(|task| task.report));
    Ok(reports)
}

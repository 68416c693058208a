//! Making memory and caches right before an access: the one place where lines are flushed.
//!
//! [`settle`] takes the accesses that are about to happen, one per BO of a submission, or one alone;
//! asks the policy about everything that is pending; and carries out what it demands with one pair
//! of fences for all. What is not demanded stays pending: another reader may need it.

use super::Shared;
use super::mapping::refusal_errno;
use crate::access::{FlushReport, Step};
use crate::cacheops::{self, LineOp};
use crate::drm::Mapping;
use crate::error::{Error, Result};
use crate::policy::driver::{CpuMemory, path_refusal};
use crate::policy::pending::{self, Demands, flush_op, pending_flush};
use crate::policy::{Decision, Path, Rule, Verdict, needs_invalidate};
use crate::tracking::{Flight, Landing, Taken, land};
use crate::units::LineRange;
use crate::vocabulary::{Access, MocsClass};

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
    /// What the policy demands for this access of what is pending.
    fn demands(&self) -> Demands {
        let state = self.bo.tracked.word().state();
        let demands = pending::demands(self.bo.device.caps(), self.bo.level(), self.next, self.access);
        Demands {
            dirty: demands.dirty,
            gpu_write: demands.gpu_write.filter(|_| state.has_gpu_write()),
            stale: demands.stale.filter(|_| self.invalidate),
            wc_stores: demands.wc_stores.filter(|_| state.has_wc_stores()),
            gtt_stores: demands.gtt_stores.filter(|_| state.has_gtt_stores()),
        }
    }

    /// Why nothing has to be done if nothing is pending.
    fn idle(&self) -> Decision {
        let (caps, level) = (self.bo.device.caps(), self.bo.level());
        let (decision, rule) = match self.next {
            Path::Cpu(_) => {
                let gpu = Path::Gpu(MocsClass::PageTable);
                (needs_invalidate(caps, level, gpu, self.next, self.access), Rule::NothingStale)
            }
            Path::Gpu(_) | Path::Display => {
                let store = Path::Cpu(self.bo.mode());
                (pending_flush(caps, level, store, self.next, self.access), Rule::NothingDirty)
            }
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
        let (caps, level) = (self.bo.device.caps(), self.bo.level());
        let Some(rule) = path_refusal(caps, level, self.next) else { return Ok(()) };
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
struct Work<'a> {
    need: Need<'a>,
    demands: Demands,
    flight: Flight<'a>,
    report: FlushReport,
}

impl<'a> Work<'a> {
    /// Announces the work; `None` if there is none.
    fn begin(need: Need<'a>, report: FlushReport) -> Result<Option<Self>> {
        let demands = need.demands();
        if !demands.any() {
            return Ok(None);
        }
        // What the GPU wrote may be anywhere in the object.
        let lines = if demands.gpu_write.is_some() { need.bo.tracked.dirty().all() } else { need.lines };
        let flight = need.bo.tracked.begin_flight(lines)?;
        Ok(Some(Self { need, demands, flight, report }))
    }

    /// Whether lines will be flushed or invalidated, so that fences are needed.
    fn has_lines(&self) -> bool {
        let tracked = &self.need.bo.tracked;
        let lines = self.flight.range();
        self.demands.gpu_write.is_some()
            || (self.demands.dirty.is_some() && tracked.dirty().any(lines))
            || (self.demands.stale.is_some() && tracked.stale().any(lines))
    }

    /// Flushes, invalidates and drains.
    fn carry_out(&mut self) -> Result<()> {
        let bo = self.need.bo;
        if self.demands.wc_stores.is_some() && self.flight.take_wc_stores() == Taken::Pending {
            bo.drain(CpuMemory::Combining)?;
            self.note(self.demands.wc_stores, 0);
        }
        if self.demands.gtt_stores.is_some() && self.flight.take_gtt_stores() == Taken::Pending {
            bo.drain(CpuMemory::Aperture)?;
            self.note(self.demands.gtt_stores, 0);
        }
        if self.demands.stale.is_some() {
            let mut lines = Lines::new(bo, LineOp::Invalidate);
            self.flight.take_stale(|run| lines.perform(run));
            self.note(self.demands.stale, lines.end()?);
        }
        if self.demands.gpu_write.is_some() && self.flight.take_gpu_write() == Taken::Pending {
            // Every line, the dirty ones among them.
            self.flight.take_dirty(|_| {});
            let mut lines = Lines::new(bo, LineOp::WriteBack);
            lines.perform(self.flight.range());
            self.note(self.demands.gpu_write, lines.end()?);
        } else if self.demands.dirty.is_some() {
            let mut lines = Lines::new(bo, flush_op(self.need.next, self.need.access));
            self.flight.take_dirty(|run| lines.perform(run));
            self.note(self.demands.dirty, lines.end()?);
        }
        Ok(())
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

/// Runs of lines that one operation is performed on.
struct Lines<'a> {
    bo: &'a Shared,
    op: LineOp,
    mapping: Option<&'a Mapping>,
    count: u64,
    failed: Option<Error>,
}

impl<'a> Lines<'a> {
    fn new(bo: &'a Shared, op: LineOp) -> Self {
        Self { bo, op, mapping: None, count: 0, failed: None }
    }

    fn perform(&mut self, run: LineRange) {
        if self.failed.is_some() {
            return;
        }
        match self.try_perform(run) {
            Ok(()) => self.count += run.count(),
            Err(error) => self.failed = Some(error),
        }
    }

    fn try_perform(&mut self, run: LineRange) -> Result<()> {
        let mapping = match self.mapping {
            Some(mapping) => mapping,
            None => self.bo.flush_mapping()?,
        };
        self.mapping = Some(mapping);
        mapping.lines(run, self.op)
    }

    /// How many lines there were.
    fn end(self) -> Result<u64> {
        match self.failed {
            None => Ok(self.count),
            Some(error) => Err(error),
        }
    }
}

/// Makes memory and caches right for `needs`, which are about to happen; one report for each.
///
/// # Errors
/// [`Error::NotAvailable`] for an access that cannot be; what mapping answers, if a BO must be mapped
/// to be flushed, and what waiting answers. Then everything that was pending still is.
pub(crate) fn settle(needs: &[Need<'_>], step: Step) -> Result<Vec<FlushReport>> {
    for need in needs {
        need.check()?;
        // Before any flight begins: other threads wait for flights.
        if matches!(need.next, Path::Cpu(_)) || need.demands().gpu_write.is_some() {
            need.bo.wait_for_gpu()?;
        }
    }
    let mut reports: Vec<_> = needs.iter().map(|need| FlushReport::new(step, need.idle(), 0)).collect();
    loop {
        let mut works = Vec::new();
        for (place, (need, report)) in needs.iter().zip(&reports).enumerate() {
            works.extend(Work::begin(*need, *report)?.map(|work| (place, work)));
        }
        let fenced = works.iter().any(|(_, work)| work.has_lines());
        if fenced {
            cacheops::fence();
        }
        for (_, work) in &mut works {
            // An error drops the flights, which marks again what they took.
            work.carry_out()?;
        }
        if fenced {
            cacheops::fence();
        }
        for (place, work) in &works {
            if let Some(report) = reports.get_mut(*place) {
                *report = work.report;
            }
        }
        match land(works.into_iter().map(|(_, work)| work.flight)) {
            Landing::InMemory => break,
            Landing::Again => tracing::debug!("another thread's flush failed: again"),
        }
    }
    for (need, report) in needs.iter().zip(&reports) {
        report.trace(need.bo.handle);
    }
    Ok(reports)
}

//! The engine's interface to a BO: its pending work, and the mappings and instructions that complete it.

use super::in_use::Use;
use super::mapping::refusal_errno;
use super::readers::Readers;
use super::{SharedBo, WaitedBy};
use crate::backend::MappedLines;
use crate::cacheops::{self, LineOp};
use crate::engine::{self, FlushReport, Object, StaleLines, Step, Task};
use crate::error::{Error, Few, Result, grow, grow_few};
use crate::policy::driver::{CpuMemory, Drain, cpu_memory};
use crate::policy::{Decisions, Path, Rule};
use crate::tracking::{Marks, Tracked};
use crate::units::LineRange;
use crate::vocabulary::{Access, Domains, MmapMode};

/// An upcoming access to a BO.
pub(crate) type UpcomingAccess<'a> = engine::UpcomingAccess<'a, SharedBo>;

impl Object for SharedBo {
    type Mapping<'m> = MappedLines<'m>;

    #[inline]
    fn tracked(&self) -> &Tracked {
        &self.tracked
    }

    #[inline]
    fn decisions(&self, next: Path, access: Access) -> &Decisions {
        self.device.decisions.get(self.level(), next, access)
    }

    fn refused(&self, next: Path, rule: Rule) -> Error {
        let what = match next {
            Path::Cpu(mode) => format!("map mode {mode}"),
            Path::Gpu(_) => "GPU access".to_owned(),
            Path::Display => "scanout".to_owned(),
        };
        tracing::debug!(handle = self.handle.get(), what, %rule, errno = %refusal_errno(rule), "refused");
        self.not_available(what, rule)
    }

    #[inline]
    fn mode(&self) -> MmapMode {
        self.maps.current_mode().unwrap_or_else(|| self.default_mode())
    }

    #[inline]
    fn is_conservative(&self) -> bool {
        self.device.is_conservative()
    }

    #[inline]
    fn wait_for_gpu(&self) -> Result<()> {
        self.tracked.gpu_writes().wait_if_told(|| match self.waited_by {
            WaitedBy::Library => self.device.drm.wait(self.handle, -1),
            WaitedBy::Caller => Ok(()),
        })
    }

    /// Returns any mapping except the aperture's, whose addresses are not those of memory. Its memory type
    /// makes no difference to flush instructions (Intel SDM volume 2, CLFLUSH).
    #[inline]
    fn flush_mapping(&self) -> Result<MappedLines<'_>> {
        let usable = [MmapMode::Wb, MmapMode::Wc, MmapMode::Uc, MmapMode::Fixed];
        loop {
            let mapping = match usable.into_iter().find_map(|mode| self.maps.get(mode)) {
                Some(mapping) => mapping,
                None => self.map_in(self.default_mode())?,
            };
            // Another thread may be unmapping what was found.
            if let Ok(lines) = mapping.lines() {
                return Ok(lines);
            }
        }
    }

    fn drain(&self, memory: CpuMemory) -> Result<()> {
        let level = self.level();
        let drain = Drain::of(self.device.caps(), memory);
        let modes = MmapMode::ALL.iter().filter(|&&mode| cpu_memory(level, mode) == memory);
        for mapping in modes.filter_map(|&mode| self.maps.get(mode)) {
            mapping.drain()?;
            let usable = self.decisions(Path::Cpu(mapping.mode()), Access::Read).refusal.is_none();
            if drain == Drain::ReadBack && usable {
                tracing::trace!(handle = self.handle.get(), "read back");
                mapping.copy_out(0, &mut [0])?;
            }
        }
        Ok(())
    }

    fn fence(&self, op: LineOp) {
        tracing::trace!(?op, "fence");
        cacheops::fence_for(op);
    }

    fn has_uncached_writes(&self) -> bool {
        self.maps.has_uncached_writes()
    }

    fn enter_cpu_domain(&self) -> Result<()> {
        self.device.drm.set_domain(self.handle, Domains::CPU, Domains::empty())
    }
}

/// Makes memory and caches current for an upcoming access; returns the report.
///
/// # Errors
/// As [`Preparation::add`] and [`Preparation::perform`].
pub(crate) fn prepare(upcoming: UpcomingAccess<'_>, step: Step) -> Result<FlushReport> {
    let report = engine::make_current_one(upcoming, step)?;
    report.trace(upcoming.object.handle);
    Ok(report)
}

/// Reports, one for each access of a submission.
pub(crate) type Reports = Few<FlushReport>;

/// Upcoming accesses for which memory and caches are made current together.
pub(crate) struct Preparation<'a, 'r> {
    step: Step,
    reports: &'r mut Reports,
    /// The number of accesses.
    count: usize,
    /// Those that require something.
    tasks: Vec<Task<'a, SharedBo>>,
}

impl<'a, 'r> Preparation<'a, 'r> {
    /// Creates the preparation of `count` accesses, which adds their reports to `reports`.
    ///
    /// # Errors
    /// [`Error::NoMemory`].
    #[inline]
    pub(crate) fn new(step: Step, count: usize, reports: &'r mut Reports) -> Result<Self> {
        // Allocate before flushing, so that nothing fails afterwards.
        grow_few(reports, "reports", count)?;
        Ok(Self { step, reports, count, tasks: Vec::new() })
    }

    /// Returns the number of accesses that were added.
    pub(crate) fn added(&self) -> usize {
        self.reports.len()
    }

    /// Adds an access if nothing has to be done for it; returns whether it did.
    #[inline(always)]
    pub(crate) fn add_idle(&mut self, upcoming: &UpcomingAccess<'a>) -> bool {
        let Some(decision) = engine::nothing_to_do(upcoming) else { return false };
        let report = FlushReport::new(self.step, decision, 0);
        report.trace(upcoming.object.handle);
        self.reports.push(report);
        true
    }

    /// Adds an access. Until [`Preparation::perform`] nothing is done.
    ///
    /// # Errors
    /// [`Error::NotAvailable`] for an access that the platform or the level lacks; [`Error::NoMemory`].
    #[inline(always)]
    pub(crate) fn add(&mut self, upcoming: UpcomingAccess<'a>) -> Result<()> {
        if !self.add_idle(&upcoming) {
            let report = self.add_task(upcoming)?;
            self.reports.push(report);
        }
        Ok(())
    }

    /// Adds the task of an access; returns its report so far.
    #[inline(never)]
    fn add_task(&mut self, upcoming: UpcomingAccess<'a>) -> Result<FlushReport> {
        let place = self.added();
        if self.tasks.is_empty() {
            grow(&mut self.tasks, "submissions", self.count.saturating_sub(place))?;
        }
        let mut task = Task::new(upcoming, self.step)?;
        task.place = place;
        let report = task.report;
        self.tasks.push(task);
        Ok(report)
    }

    /// Makes memory and caches current for the accesses, and completes their reports.
    ///
    /// # Errors
    /// Those of mapping a BO that must be flushed, and of waiting. Then everything that was pending still is.
    #[inline]
    pub(crate) fn perform(self) -> Result<()> {
        if self.tasks.is_empty() { Ok(()) } else { self.perform_tasks() }
    }

    fn perform_tasks(mut self) -> Result<()> {
        engine::make_current(&mut self.tasks)?;
        for task in &self.tasks {
            task.report.trace(task.upcoming.object.handle);
            if let Some(report) = self.reports.get_mut(task.place) {
                *report = task.report;
            }
        }
        Ok(())
    }
}

impl SharedBo {
    /// Makes memory current for a reader that looks up no cache.
    pub(crate) fn flush_for_any_reader(&self, step: Step) -> Result<FlushReport> {
        self.device.check()?;
        let in_use = self.begin(Use::Submit)?;
        self.flush_all(step, in_use.marks)
    }

    /// Flushes every dirty line and drains every store. The caller prevents that the object is closed meanwhile, and has
    /// confirmed the level.
    pub(crate) fn flush_all(&self, step: Step, marks: Marks) -> Result<FlushReport> {
        let refusal = self.decisions(Path::Display, Access::Read).refusal;
        if step != Step::Scanout && refusal == Some(Rule::DisplayNeedsLocal) {
            let report = FlushReport::nothing(step, Rule::DiscreteSnoops);
            report.trace(self.handle);
            return Ok(report);
        }
        let lines = self.tracked.dirty().all();
        let (next, stale) = (Path::Display, StaleLines::Leave);
        let upcoming = UpcomingAccess { object: self, lines, next, access: Access::Read, stale, marks };
        prepare(upcoming, step)
    }

    /// Flushes the dirty lines that a reader of the object, or `next`, would miss. If none of them misses any, they stay dirty.
    ///
    /// Stores around the cache are left to the caller.
    pub(super) fn flush_for_readers(&self, next: Option<Path>, marks: Marks) -> Result<()> {
        let readers = next.into_iter().fold(self.readers.get(), Readers::with);
        if readers == Readers::ALL {
            // The display looks up no cache, so what it finds in memory, all others find.
            return self.flush_all(Step::Sync, marks).map(drop);
        }
        let misses_some = |path: &Path| {
            let decisions = self.decisions(*path, Access::Read);
            let flush = decisions.required.dirty.or(decisions.required.gpu_write);
            decisions.refusal.is_none() && flush.is_some()
        };
        self.flush_for(readers.paths().filter(misses_some), self.tracked.dirty().all(), marks, |_| {})
    }

    /// Flushes `lines` for `readers`, none of which is refused; passes each report.
    ///
    /// One by one: a CPU and a GPU among the readers need different fences. The first that needs a flush takes the lines,
    /// so a CPU comes first: its fence is the stronger one.
    pub(crate) fn flush_for(
        &self,
        readers: impl Iterator<Item = Path> + Clone,
        lines: LineRange,
        marks: Marks,
        mut report: impl FnMut(FlushReport),
    ) -> Result<()> {
        let is_cpu = |path: &Path| matches!(path, Path::Cpu(_));
        let ordered = readers.clone().filter(is_cpu).chain(readers.filter(|path| !is_cpu(path)));
        for next in ordered {
            let (access, stale) = (Access::Read, StaleLines::Leave);
            let upcoming = UpcomingAccess { object: self, lines, next, access, stale, marks };
            report(prepare(upcoming, Step::Sync)?);
        }
        Ok(())
    }
}

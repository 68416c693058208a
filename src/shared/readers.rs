//! The agents that read an object without asking this library, and the flush for them.

use std::sync::atomic::{AtomicU16, Ordering};

use super::SharedBo;
use crate::engine::{FlushReport, Object as _, StaleLines, Step};
use crate::error::Result;
use crate::policy::Path;
use crate::shared::{Need, settle};
use crate::tracking::Marks;
use crate::units::LineRange;
use crate::vocabulary::{Access, MocsClass};

/// A set of agents, each with its path to memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Readers(u16);

impl Readers {
    /// Every agent.
    pub(crate) const ALL: Self = Self((1 << Path::ALL.len()) - 1);

    /// Creates the set of these agents and of the GPU through the page table's class: a batch of another API or process reads
    /// an object that has a handle, and this library is not told of it.
    pub(crate) fn of(paths: &[Path]) -> Self {
        paths.iter().fold(Self(0).with(Path::Gpu(MocsClass::PageTable)), |readers, &path| readers.with(path))
    }

    /// Adds an agent.
    pub(crate) const fn with(self, path: Path) -> Self {
        Self(self.0 | 1 << path.index())
    }

    /// Returns the agents.
    fn paths(self) -> impl Iterator<Item = Path> + Clone {
        Path::ALL.iter().copied().filter(move |path| self.0 & 1 << path.index() != 0)
    }
}

/// The readers of an object, which others join.
#[derive(Debug)]
pub(crate) struct JoinedReaders(AtomicU16);

impl JoinedReaders {
    /// Creates the readers of a new BO.
    pub(super) const fn new(readers: Readers) -> Self {
        Self(AtomicU16::new(readers.0))
    }

    /// Adds readers.
    pub(crate) fn join(&self, readers: Readers) {
        // Relaxed: an unmap that does not find them leaves the lines that they miss marked, for a later flush.
        self.0.fetch_or(readers.0, Ordering::Relaxed);
    }

    /// Returns the readers.
    fn get(&self) -> Readers {
        // Relaxed: see `join`.
        Readers(self.0.load(Ordering::Relaxed))
    }
}

impl SharedBo {
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
            let need = Need { object: self, lines, next, access, stale, marks };
            settle([need].into_iter(), Step::Sync)?.into_iter().for_each(&mut report);
        }
        Ok(())
    }
}

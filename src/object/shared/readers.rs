//! The agents that read an object without asking this library.

use std::sync::atomic::{AtomicU16, Ordering};

use crate::policy::Path;
use crate::vocabulary::MocsClass;

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
    pub(crate) fn with(self, path: Path) -> Self {
        Self(self.0 | 1 << path.index())
    }

    /// Returns the agents.
    pub(super) fn paths(self) -> impl Iterator<Item = Path> + Clone {
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
    pub(super) fn get(&self) -> Readers {
        // Relaxed: see `join`.
        Readers(self.0.load(Ordering::Relaxed))
    }
}

//! The interface that the engine requires of objects shared by threads.

use crate::cacheops::LineOp;
use crate::error::Result;
use crate::policy::driver::CpuMemory;
use crate::policy::{Decisions, Path};
use crate::tracking::Tracked;
use crate::units::{LineRange, PageLines};
use crate::vocabulary::{Access, MmapMode};

/// Lines taken to be flushed or invalidated.
#[derive(Clone, Copy, Debug)]
pub enum Lines {
    /// A run of lines.
    Run(LineRange),
    /// Some lines of a page.
    Page(PageLines),
}

impl Lines {
    /// Returns the number of lines.
    pub const fn count(self) -> u64 {
        match self {
            Self::Run(run) => run.count(),
            Self::Page(page) => page.count(),
        }
    }
}

/// An object shared by threads, with the operations for its pending work.
pub trait Object {
    /// A mapping whose addresses flush instructions can use.
    type Mapping;

    /// Returns the tracked state.
    fn tracked(&self) -> &Tracked;

    /// Returns the rules' result for an access.
    fn decisions(&self, next: Path, access: Access) -> &Decisions;

    /// Returns the map mode of the CPU's accesses.
    fn mode(&self) -> MmapMode;

    /// Returns whether the device is unknown, so that the rules are conservative.
    fn is_conservative(&self) -> bool;

    /// Waits for the GPU's counted writes, unless a thread already waited for them.
    ///
    /// # Errors
    /// The kernel's.
    fn wait_for_gpu(&self) -> Result<()>;

    /// Returns a mapping whose addresses flush instructions can use.
    ///
    /// # Errors
    /// Those of mapping the object.
    fn flush_mapping(&self) -> Result<&Self::Mapping>;

    /// Performs `op` on lines, without fences.
    ///
    /// # Errors
    /// Those of accessing the lines.
    fn perform(&self, mapping: &Self::Mapping, op: LineOp, lines: Lines) -> Result<()>;

    /// Drains the stores made through mappings of this memory type.
    ///
    /// # Errors
    /// Those of a read through such a mapping.
    fn drain(&self, memory: CpuMemory) -> Result<()>;

    /// Issues the fence that `op` needs before and after it.
    fn fence(&self, op: LineOp);

    /// Returns whether memory was ever written around the CPU's caches.
    fn has_uncached_writes(&self) -> bool;

    /// Moves the object to the CPU's read domain (SET_DOMAIN).
    ///
    /// # Errors
    /// The kernel's.
    fn enter_cpu_domain(&self) -> Result<()>;
}

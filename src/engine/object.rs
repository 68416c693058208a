//! What the engine asks of an object that threads share.

use crate::cacheops::LineOp;
use crate::error::Result;
use crate::policy::driver::CpuMemory;
use crate::policy::{Answer, Path};
use crate::tracking::Tracked;
use crate::units::{LineRange, PageLines};
use crate::vocabulary::{Access, MmapMode};

/// Lines that were taken to be flushed or invalidated.
#[derive(Clone, Copy, Debug)]
pub enum Lines {
    /// A run of them.
    Run(LineRange),
    /// Some of a page.
    Page(PageLines),
}

impl Lines {
    /// How many.
    pub const fn count(self) -> u64 {
        match self {
            Self::Run(run) => run.count(),
            Self::Page(page) => page.count(),
        }
    }
}

/// An object that threads share, and the means to do something about its pending work.
pub trait Object {
    /// What flush instructions take the addresses of.
    type Mapping;

    /// What is pending.
    fn tracked(&self) -> &Tracked;

    /// What the rules say about an access.
    fn answer(&self, next: Path, access: Access) -> &Answer;

    /// The map mode of the CPU's accesses.
    fn mode(&self) -> MmapMode;

    /// Returns whether only the worst is known of the device.
    fn is_conservative(&self) -> bool;

    /// Waits until the GPU has made the writes that are counted, unless a thread did since.
    ///
    /// # Errors
    /// The kernel's.
    fn wait_for_gpu(&self) -> Result<()>;

    /// A mapping whose addresses flush instructions can take.
    ///
    /// # Errors
    /// What mapping the object answers.
    fn flush_mapping(&self) -> Result<&Self::Mapping>;

    /// Performs `op` on lines, without fences.
    ///
    /// # Errors
    /// What touching the lines answers.
    fn perform(&self, mapping: &Self::Mapping, op: LineOp, lines: Lines) -> Result<()>;

    /// Drains the stores that were made through mappings of this memory type.
    ///
    /// # Errors
    /// What reading through such a mapping answers.
    fn drain(&self, memory: CpuMemory) -> Result<()>;

    /// Issues the fence that `op` needs before it and after it.
    fn fence(&self, op: LineOp);

    /// Returns whether memory was ever written around the CPU's caches.
    fn is_written_around(&self) -> bool;

    /// Moves the object to the CPU's read domain (SET_DOMAIN).
    ///
    /// # Errors
    /// The kernel's.
    fn enter_cpu_domain(&self) -> Result<()>;
}

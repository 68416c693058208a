//! The interface that the engine requires of objects shared by threads.

use crate::cacheops::{CacheLines, LineOp};
use crate::error::{Error, Result};
use crate::policy::driver::CpuMemory;
use crate::policy::{Decisions, Path, Rule};
use crate::tracking::Tracked;
use crate::vocabulary::{Access, MmapMode};

/// An object shared by threads, with the operations for its pending work.
pub trait Object {
    /// A mapping whose addresses flush instructions can use.
    type Mapping<'m>: CacheLines + Clone
    where
        Self: 'm;

    /// Returns the tracked state.
    fn tracked(&self) -> &Tracked;

    /// Returns the rules' result for an access.
    fn decisions(&self, next: Path, access: Access) -> &Decisions;

    /// Returns the error for an access that `rule` refuses.
    fn refused(&self, next: Path, rule: Rule) -> Error;

    /// Returns the map mode of the CPU's accesses.
    fn mode(&self) -> MmapMode;

    /// Returns whether the device is unknown, so that the rules are conservative.
    fn is_conservative(&self) -> bool;

    /// Waits for the GPU's counted writes, unless a thread already waited for them.
    ///
    /// # Errors
    /// The kernel's.
    fn wait_for_gpu(&self) -> Result<()>;

    /// Returns a mapping whose addresses flush instructions can use, until the in-flight flush ends that the caller has
    /// announced.
    ///
    /// # Errors
    /// Those of mapping the object.
    fn flush_mapping(&self) -> Result<Self::Mapping<'_>>;

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

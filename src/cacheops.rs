//! Cache-line operations of x86, and stores and loads around the cache: the crate `gem-coherency-cacheops`.

pub use gem_coherency_cacheops::*;

use crate::error::Result;
use crate::units::Lines;

/// Memory on whose cache lines operations can be performed.
pub trait CacheLines {
    /// Performs `op` on `lines`, without fences.
    ///
    /// # Errors
    /// Those of accessing the lines.
    fn perform(&self, op: LineOp, lines: Lines<'_>) -> Result<()>;
}

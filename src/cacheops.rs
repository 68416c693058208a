//! Cache-line operations of x86, and non-temporal stores and streaming loads: the crate `gem-coherency-cacheops`.

pub use gem_coherency_cacheops::*;

use crate::error::Result;
use crate::units::{LineRange, PageLines};

/// Memory on whose cache lines operations can be performed.
pub trait CacheLines {
    /// Performs `op` on `lines`, without fences.
    ///
    /// # Errors
    /// Those of accessing the lines.
    fn perform(&self, op: LineOp, lines: LineRange) -> Result<()>;

    /// Performs `op`, no invalidate, on lines of several pages, without fences; returns how many there were.
    ///
    /// # Errors
    /// Those of accessing the lines. Then not all pages were taken from the iterator.
    fn perform_on_pages(&self, op: LineOp, mut pages: impl Iterator<Item = PageLines>) -> Result<u64> {
        pages.try_fold(0, |lines, page| {
            page.runs().try_for_each(|run| self.perform(op, run))?;
            Ok(lines + page.count())
        })
    }
}

impl<T: CacheLines> CacheLines for &T {
    fn perform(&self, op: LineOp, lines: LineRange) -> Result<()> {
        (**self).perform(op, lines)
    }

    fn perform_on_pages(&self, op: LineOp, pages: impl Iterator<Item = PageLines>) -> Result<u64> {
        (**self).perform_on_pages(op, pages)
    }
}

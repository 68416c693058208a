//! The lines of a mapping, on which flush instructions operate.
//!
//! # Safety
//! The bytes stay mapped while the `Mapping` that gave them has them, and after `Mapping::detach` until every flush has ended
//! that may have found them before: a flush finds them after it was announced, and its unmap waits for it.
#![allow(unsafe_code)]

use super::{Bytes, Mapping};
use crate::cacheops::{self, CacheLines, LineOp};
use crate::error::{Error, Result};
use crate::units::{ByteRange, LINE_BYTES, LineRange, PageLines};

/// The lines of a mapping, with the pages that it had when they were found. A flush finds them after it was announced
/// ([`crate::tracking::InFlightFlush`]), and drops them before it ends.
#[derive(Clone, Debug)]
pub(crate) struct MappedLines<'m> {
    mapping: &'m Mapping,
    bytes: Bytes,
}

impl Mapping {
    /// Returns the lines.
    ///
    /// # Errors
    /// [`Error::Ioctl`] naming `page fault` after [`Mapping::detach`].
    #[inline]
    pub(crate) fn lines(&self) -> Result<MappedLines<'_>> {
        Ok(MappedLines { mapping: self, bytes: self.bytes()? })
    }
}

impl CacheLines for Mapping {
    /// Performs `op` on `lines`, without fences: bracket a batch of calls with [`cacheops::fence_for`].
    ///
    /// # Errors
    /// [`crate::Error::RangeOutOfBounds`] if a line exceeds the mapping; those of a page fault, as
    /// [`Mapping::copy_in`].
    fn perform(&self, op: LineOp, lines: LineRange) -> Result<()> {
        self.lines()?.perform(op, lines)
    }

    /// Performs `op` on lines of several pages, up to the first page that exceeds the mapping.
    ///
    /// # Errors
    /// As [`Mapping::perform`].
    fn perform_on_pages(&self, op: LineOp, pages: impl Iterator<Item = PageLines>) -> Result<u64> {
        self.lines()?.perform_on_pages(op, pages)
    }
}

impl CacheLines for MappedLines<'_> {
    fn perform(&self, op: LineOp, lines: LineRange) -> Result<()> {
        tracing::trace!(handle = self.mapping.handle.get(), ?op, lines = lines.count(), "lines");
        let range =
            ByteRange::within(lines.first().saturating_mul(LINE_BYTES), lines.bytes(), self.mapping.len)?;
        match &self.bytes {
            // SAFETY: `range` lies within the mapping's `len` bytes, which stay mapped: the module's contract.
            Bytes::Kernel(first) => unsafe {
                cacheops::lines(first.add(range.offset() as usize), range.len() as usize, op);
            },
            Bytes::Soft(memory) => memory.lines(lines, op)?,
        }
        Ok(())
    }

    fn perform_on_pages(&self, op: LineOp, pages: impl Iterator<Item = PageLines>) -> Result<u64> {
        let len = self.mapping.len;
        let mut pages = Within { pages, len, outside: None };
        let lines = match &self.bytes {
            // SAFETY: each page's first byte, and all up to its last line, lie within `len` bytes that stay mapped,
            // from the start of a page: the module's contract.
            Bytes::Kernel(first) => unsafe {
                let pages = (&mut pages).map(|page| (page.start_bytes() as usize, page.mask()));
                cacheops::lines_of_pages(*first, pages, op) as u64
            },
            Bytes::Soft(memory) => pages.try_fold(0, |lines, page| {
                page.runs().try_for_each(|run| memory.lines(run, op))?;
                Ok::<_, Error>(lines + page.count())
            })?,
        };
        tracing::trace!(handle = self.mapping.handle.get(), ?op, lines, "lines");
        match pages.outside {
            Some(page) => ByteRange::within(page.start_bytes(), page.end_bytes(), len).map(|_| lines),
            None => Ok(lines),
        }
    }
}

/// The pages before the first one that exceeds a mapping of `len` bytes.
struct Within<I> {
    pages: I,
    len: u64,
    outside: Option<PageLines>,
}

impl<I: Iterator<Item = PageLines>> Iterator for Within<I> {
    type Item = PageLines;

    #[inline]
    fn next(&mut self) -> Option<PageLines> {
        let page = self.pages.next()?;
        let is_within = page.start_bytes().saturating_add(page.end_bytes()) <= self.len;
        if !is_within {
            self.outside = Some(page);
        }
        is_within.then_some(page)
    }
}

//! One CPU access to a range of a BO.

use std::ptr::NonNull;

use gem_coherency_rules::Errno;

use crate::bo::{Bo, Need, settle_one};
use crate::drm::Mapping;
use crate::engine::{self, FlushReport, Overwrite, Step};
use crate::error::{Error, Result};
use crate::policy::Path;
use crate::policy::driver::{CpuMemory, cpu_memory};
use crate::units::{ByteRange, LineRange};
use crate::vocabulary::Access;

/// Bytes that [`CpuAccess::fill`] copies at once, at most and as far as the pattern allows.
const FILL_BYTES: usize = 4096;

/// A CPU access that has begun, to one range of a BO; offsets are the BO's.
///
/// What a write guard stores is marked at once; nothing is flushed before somebody else is about to
/// read ([`crate::device::Device::submit_with`]). Dropping the guard ends the access, like
/// [`CpuAccess::finish`]; but what was stored through a pointer is known only if the guard finishes, so without that
/// the whole range counts as written.
#[derive(Debug)]
#[must_use = "the access ends when the guard is dropped"]
pub struct CpuAccess<'bo> {
    pub(super) bo: &'bo Bo,
    pub(super) mapping: &'bo Mapping,
    access: Access,
    range: ByteRange,
    pub(super) report: FlushReport,
    pointer: Pointer,
}

/// What is known of stores through a pointer that a write guard gave out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Pointer {
    /// There is none.
    NotGiven,
    /// The caller named no store yet.
    Given,
    /// The caller names its stores, and may not be done.
    Named,
}

/// An access that the object word knows of; ends when dropped.
struct Begun<'bo> {
    bo: &'bo Bo,
    access: Access,
}

impl<'bo> Begun<'bo> {
    fn new(bo: &'bo Bo, access: Access) -> Result<Self> {
        let word = bo.shared().tracked.word();
        let begun = match access {
            Access::Read => word.begin_read(),
            Access::Write => word.begin_write(),
        };
        begun.map_err(|blocked| blocked.error(bo.handle()))?;
        Ok(Self { bo, access })
    }

    /// The guard takes over.
    fn keep(self) {
        std::mem::forget(self);
    }
}

impl Drop for Begun<'_> {
    fn drop(&mut self) {
        end(self.bo, self.access);
    }
}

fn end(bo: &Bo, access: Access) {
    let word = bo.shared().tracked.word();
    match access {
        Access::Read => word.end_read(),
        Access::Write => word.end_write(),
    }
}

impl<'bo> CpuAccess<'bo> {
    /// Begins the access: makes memory and the cache right for it.
    pub(crate) fn begin(bo: &'bo Bo, access: Access, range: ByteRange) -> Result<Self> {
        // First the word: it keeps the level, and with it what is decided here.
        let begun = Begun::new(bo, access)?;
        bo.shared().confirm_level()?;
        let mapping = bo.shared().mapping()?;
        let step = match access {
            Access::Read => Step::Read,
            Access::Write => Step::Write,
        };
        // What a write overwrites in part is invalidated where it is stored.
        let invalidate = access == Access::Read;
        let need = Need {
            object: bo.shared().as_ref(),
            lines: range.lines(),
            next: Path::Cpu(mapping.mode()),
            access,
            invalidate,
        };
        let report = settle_one(need, step)?;
        begun.keep();
        Ok(Self { bo, mapping, access, range, report, pointer: Pointer::NotGiven })
    }

    /// What the guard is for.
    pub fn access(&self) -> Access {
        self.access
    }

    /// The guard's range.
    pub fn range(&self) -> ByteRange {
        self.range
    }

    /// What was invalidated or flushed for the access so far.
    pub fn report(&self) -> FlushReport {
        self.report
    }

    /// Stores `data` at `offset` of the BO.
    ///
    /// # Errors
    /// [`Error::WriteThroughReadGuard`]; [`Error::RangeOutOfGuard`]; what invalidating stale lines
    /// answers, if the store overwrites them in part. Then nothing was stored. On a software device, a page fault's
    /// ([`Error::Ioctl`]): then a part may be stored, and all of it counts as stored.
    pub fn write_at(&mut self, offset: u64, data: &[u8]) -> Result<()> {
        let range = self.check_store(offset, data.len() as u64)?;
        self.prepare_store(range)?;
        let copied = self.mapping.copy_in(offset, data);
        // A part may be stored when a page fault fails.
        self.bo.shared().note_stored(self.mapping.mode(), range.lines());
        copied
    }

    /// Fills the guard's range with `pattern`, again and again from its start.
    ///
    /// # Errors
    /// [`Error::BadSize`] for an empty pattern; as [`CpuAccess::write_at`].
    pub fn fill(&mut self, pattern: &[u8]) -> Result<()> {
        if pattern.is_empty() {
            return Err(Error::BadSize { size: 0, why: "a pattern has at least one byte" });
        }
        let repeat = (FILL_BYTES / pattern.len()).max(1);
        let block = pattern.repeat(repeat);
        let mut offset = self.range.offset();
        while offset < self.range.end() {
            let left = usize::try_from(self.range.end() - offset).unwrap_or(usize::MAX);
            let (part, _) = block.split_at(left.min(block.len()));
            self.write_at(offset, part)?;
            offset += part.len() as u64;
        }
        // An empty range, too, is written through a write guard only.
        self.check_store(self.range.offset(), 0).map(drop)
    }

    /// Loads `data.len()` bytes at `offset` of the BO.
    ///
    /// A write guard reads back what it wrote; other bytes may be stale.
    ///
    /// # Errors
    /// [`Error::RangeOutOfGuard`]; on a software device, a page fault's ([`Error::Ioctl`]).
    pub fn read_at(&self, offset: u64, data: &mut [u8]) -> Result<()> {
        self.within(offset, data.len() as u64)?;
        self.mapping.copy_out(offset, data)
    }

    /// Returns where the BO (not the range) is mapped, after an invalidate of everything that is stale in the
    /// range. Valid as long as the BO; accesses through it belong inside the guard's range and life.
    ///
    /// The whole range of a write guard counts as written through the pointer, unless [`CpuAccess::mark_written`]
    /// names the stores and [`CpuAccess::finish`] says that these were all.
    ///
    /// # Errors
    /// What invalidating answers.
    pub fn as_ptr(&mut self) -> Result<NonNull<u8>> {
        self.bo.check_process()?;
        self.invalidate(self.range.lines())?;
        self.mapping.fence_loads();
        let pointer = NonNull::new(self.mapping.as_ptr());
        let pointer = pointer.ok_or(Error::Ioctl { request: "page fault", errno: Errno::EFAULT })?;
        if self.access == Access::Write && self.pointer == Pointer::NotGiven {
            self.pointer = Pointer::Given;
        }
        Ok(pointer)
    }

    /// Names `len` bytes at `offset` as stored through [`CpuAccess::as_ptr`], by this thread.
    ///
    /// # Errors
    /// [`Error::WriteThroughReadGuard`]; [`Error::RangeOutOfGuard`].
    pub fn mark_written(&mut self, offset: u64, len: u64) -> Result<()> {
        let range = self.check_store(offset, len)?;
        self.bo.shared().note_stored(self.mapping.mode(), range.lines());
        if self.pointer == Pointer::Given {
            self.pointer = Pointer::Named;
        }
        Ok(())
    }

    /// Ends the access; returns what was invalidated or flushed for it.
    ///
    /// If a pointer was given out and no store through it was named, the whole range counts as written.
    pub fn finish(mut self) -> FlushReport {
        if std::mem::replace(&mut self.pointer, Pointer::NotGiven) == Pointer::Given {
            self.mark_range();
        }
        self.report
    }

    /// Marks the whole range as written.
    fn mark_range(&self) {
        self.bo.shared().note_stored(self.mapping.mode(), self.range.lines());
    }

    /// The bytes as a range, if they lie within the guard's.
    fn within(&self, offset: u64, len: u64) -> Result<ByteRange> {
        self.bo.check_process()?;
        let (start, end) = (self.range.offset(), self.range.end());
        let outside = Error::RangeOutOfGuard { offset, len, start, end };
        let range = ByteRange::within(offset, len, end).map_err(|_| outside.clone())?;
        if offset < start { Err(outside) } else { Ok(range) }
    }

    /// The bytes as a range, if they may be stored to.
    pub(super) fn check_store(&self, offset: u64, len: u64) -> Result<ByteRange> {
        match self.access {
            Access::Read => Err(Error::WriteThroughReadGuard { handle: self.bo.handle().get() }),
            Access::Write => self.within(offset, len),
        }
    }

    /// Makes stale lines right before a store: what is overwritten in part is invalidated, what is
    /// overwritten whole is stale no longer.
    pub(super) fn prepare_store(&mut self, range: ByteRange) -> Result<()> {
        if cpu_memory(self.bo.shared().level(), self.mapping.mode()) != CpuMemory::Cached {
            return Ok(());
        }
        let parts = range.partial_lines().map(|line| LineRange::new(line, line + 1));
        engine::overwrite(self, range.lines(), parts)
    }
}

impl Overwrite for CpuAccess<'_> {
    type Lines = LineRange;
    type Error = Error;

    fn is_stale(&self, lines: LineRange) -> bool {
        self.bo.shared().tracked.stale().any(lines)
    }

    fn invalidate(&mut self, lines: LineRange) -> Result<()> {
        if !self.is_stale(lines) {
            return Ok(());
        }
        let need = Need {
            object: self.bo.shared().as_ref(),
            lines,
            next: Path::Cpu(self.mapping.mode()),
            access: self.access,
            invalidate: true,
        };
        let report = settle_one(need, self.report.step)?;
        self.report.add(report);
        Ok(())
    }

    fn forget_stale(&mut self, lines: LineRange) {
        self.bo.shared().tracked.stale().take(lines, |_| {});
    }
}

impl Drop for CpuAccess<'_> {
    fn drop(&mut self) {
        if self.pointer != Pointer::NotGiven || (self.access == Access::Write && std::thread::panicking()) {
            // Stores may be unnamed.
            self.mark_range();
        }
        end(self.bo, self.access);
    }
}

//! A CPU access to a range of a BO.

use std::ptr::NonNull;

use gem_coherency_policy::Errno;

use crate::backend::Mapping;
use crate::engine::{self, FlushReport, StaleLines, Step};
use crate::error::{Error, Result};
use crate::fork::Confined;
use crate::object::shared::{InUse, Object, PlainStores, SharedBo, UpcomingAccess, Use};
use crate::policy::Path;
use crate::policy::driver::{CpuMemory, cpu_memory};
use crate::units::ByteRange;
use crate::vocabulary::Access;

/// Upper limit for the bytes that [`CpuAccess::fill`] copies at once; a longer pattern is copied whole.
const FILL_BYTES: usize = 4096;

/// An open CPU access to one range of a BO. Offsets are relative to the BO.
///
/// A write guard marks its stores at once; nothing is flushed before another agent is about to read
/// ([`crate::device::Device::submit_with`]). Dropping the guard ends the access, like [`CpuAccess::finish`].
/// However, only `finish` confirms which stores were made through a pointer; without it, the whole range
/// counts as written.
#[derive(Debug)]
#[must_use = "the access ends when the guard is dropped"]
pub struct CpuAccess<'bo> {
    pub(super) bo: &'bo Confined<SharedBo>,
    pub(super) mapping: &'bo Mapping,
    access: Access,
    range: ByteRange,
    pub(super) report: FlushReport,
    /// Ends after the stores that the end of the guard reports.
    pub(super) in_use: InUse<&'bo Object>,
    plain: Option<PlainStores>,
    pointer: Pointer,
}

/// The state of the pointer that a guard can give out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Pointer {
    /// No pointer was given out.
    NotGiven,
    /// The caller has reported no store yet.
    Given,
    /// The caller reports its stores, and may report more.
    Named,
}

impl<'bo> CpuAccess<'bo> {
    /// Begins the access: makes memory and caches current for it.
    #[inline(always)]
    pub(crate) fn begin(bo: &'bo Confined<SharedBo>, access: Access, range: ByteRange) -> Result<Self> {
        // The word comes first: it fixes the level, and thereby the following decisions.
        let (how, step) = match access {
            Access::Read => (Use::Read, Step::Read),
            Access::Write => (Use::Write, Step::Write),
        };
        let in_use = bo.begin(how)?;
        let mapping = bo.mapping()?;
        let stale = StaleLines::at_begin(access);
        let (next, marks) = (Path::Cpu(mapping.mode()), in_use.marks);
        let upcoming = UpcomingAccess { object: bo, lines: range.lines(), next, access, stale, marks };
        let report = engine::make_current_one(upcoming, step)?;
        report.trace(bo.handle);
        let plain = match access {
            Access::Read => None,
            Access::Write => bo.plain_stores(next),
        };
        Ok(Self { bo, mapping, access, range, report, in_use, plain, pointer: Pointer::NotGiven })
    }

    /// Returns the kind of access.
    pub fn access(&self) -> Access {
        self.access
    }

    /// Returns the guard's range.
    pub fn range(&self) -> ByteRange {
        self.range
    }

    /// Returns what was invalidated or flushed for the access so far.
    pub fn report(&self) -> FlushReport {
        self.report
    }

    /// Stores `data` at `offset` of the BO.
    ///
    /// # Errors
    /// [`Error::WriteThroughReadGuard`]; [`Error::RangeOutOfGuard`]; those of invalidating stale lines, if
    /// the store overwrites them in part. Then nothing was stored. On a software device, a page fault's
    /// ([`Error::Ioctl`]): then a part may be stored, and all of it counts as stored.
    #[inline]
    pub fn write_at(&mut self, offset: u64, data: &[u8]) -> Result<()> {
        if self.store_and_mark(offset, data) { Ok(()) } else { self.store(offset, data) }
    }

    /// Stores `data` at `offset` and marks its lines, if nothing else has to be done; returns whether it did.
    #[inline(always)]
    fn store_and_mark(&self, offset: u64, data: &[u8]) -> bool {
        let Some(plain) = &self.plain else { return false };
        let tracked = &self.bo.tracked;
        let Some(lines) = self.range.part(offset, data.len() as u64).and_then(ByteRange::lines_of_page)
        else {
            return false;
        };
        let is_plain = self.bo.is_here() && !tracked.may_be_stale_in(lines);
        if !is_plain || !self.mapping.copy_to_pages(offset, data) {
            return false;
        }
        // After the store: another thread may put the object on screen before.
        if !tracked.word().state().is_at(plain.level) {
            self.note_stored_at(offset, data.len() as u64);
        } else if plain.dirty {
            tracked.dirty().mark_page_in(self.in_use.marks, lines);
        }
        true
    }

    #[cold]
    fn note_stored_at(&self, offset: u64, len: u64) {
        self.note_stored(self.range.part(offset, len).unwrap_or(self.range));
    }

    /// Stores `data` at `offset`.
    #[cold]
    fn store(&mut self, offset: u64, data: &[u8]) -> Result<()> {
        let range = self.check_store(offset, data.len() as u64)?;
        self.prepare_store(range)?;
        let copied = self.mapping.copy_in(offset, data);
        // If a page fault fails, a part may have been stored.
        self.note_stored(range);
        copied
    }

    /// Fills the guard's range with repetitions of `pattern`.
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
        // An empty range, too, requires a write guard.
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

    /// Returns the address at which the BO (not the range) is mapped, after invalidating all stale lines of
    /// the range. The pointer is valid as long as the BO, or until [`crate::Bo::unmap`]; accesses through it must
    /// be inside the guard's range and lifetime.
    ///
    /// The whole range of a write guard counts as written through the pointer, unless
    /// [`CpuAccess::mark_written`] reports the stores and [`CpuAccess::finish`] confirms that these were all.
    ///
    /// # Errors
    /// Those of the invalidate.
    pub fn as_ptr(&mut self) -> Result<NonNull<u8>> {
        self.invalidate()?;
        let pointer = self.address(0)?;
        if self.access == Access::Write && self.pointer == Pointer::NotGiven {
            self.pointer = Pointer::Given;
        }
        Ok(pointer)
    }

    /// Returns the address of the BO's byte at `offset`, which is in the BO.
    pub(super) fn address(&self, offset: u64) -> Result<NonNull<u8>> {
        let base = NonNull::new(self.mapping.as_ptr());
        let pointer = base.and_then(|base| NonNull::new(base.as_ptr().wrapping_add(offset as usize)));
        pointer.ok_or(Error::Ioctl { request: "page fault", errno: Errno::EFAULT })
    }

    /// Stores `data` to `range` without a mark.
    #[inline]
    pub(super) fn copy_in(&self, range: ByteRange, data: &[u8]) -> Result<()> {
        self.mapping.copy_in(range.offset(), data)
    }

    /// Invalidates all stale lines of the range.
    pub(super) fn invalidate(&mut self) -> Result<()> {
        self.bo.check()?;
        let upcoming = UpcomingAccess {
            object: self.bo,
            lines: self.range.lines(),
            next: Path::Cpu(self.mapping.mode()),
            access: self.access,
            stale: StaleLines::Invalidate,
            marks: self.in_use.marks,
        };
        let report = engine::invalidate(upcoming, self.report.step)?;
        self.add(report);
        self.mapping.fence_loads();
        Ok(())
    }

    /// Reports that this thread stored `len` bytes at `offset` through [`CpuAccess::as_ptr`].
    ///
    /// # Errors
    /// [`Error::WriteThroughReadGuard`]; [`Error::RangeOutOfGuard`].
    pub fn mark_written(&mut self, offset: u64, len: u64) -> Result<()> {
        let range = self.check_store(offset, len)?;
        self.note_stored(range);
        if self.pointer == Pointer::Given {
            self.pointer = Pointer::Named;
        }
        Ok(())
    }

    /// Ends the access; returns what was invalidated or flushed for it.
    ///
    /// If a pointer was given out and no store through it was reported, the whole range counts as written.
    #[inline(always)]
    pub fn finish(mut self) -> FlushReport {
        if std::mem::replace(&mut self.pointer, Pointer::NotGiven) == Pointer::Given {
            self.note_stored(self.range);
        }
        self.report
    }

    /// Adds the report of a later part of the access.
    #[inline]
    fn add(&mut self, later: Option<FlushReport>) {
        if let Some(later) = later {
            later.trace(self.bo.handle);
            self.report.add(later);
        }
    }

    /// Records stores to `range`.
    #[inline]
    pub(super) fn note_stored(&self, range: ByteRange) {
        self.bo.note_stored(self.mapping.mode(), range.lines(), self.in_use.marks);
    }

    /// Returns the bytes as a range, if they lie within the guard's range.
    #[inline]
    fn within(&self, offset: u64, len: u64) -> Result<ByteRange> {
        self.bo.check()?;
        let (start, end) = (self.range.offset(), self.range.end());
        self.range.part(offset, len).ok_or(Error::RangeOutOfGuard { offset, len, start, end })
    }

    /// Returns the bytes as a range, if the guard may store to them.
    #[inline]
    pub(super) fn check_store(&self, offset: u64, len: u64) -> Result<ByteRange> {
        match self.access {
            Access::Read => Err(Error::WriteThroughReadGuard { handle: self.bo.handle.get() }),
            Access::Write => self.within(offset, len),
        }
    }

    /// Handles stale lines right before a store: invalidates lines that are overwritten in part; lines that
    /// are overwritten whole are no longer stale.
    #[inline]
    pub(super) fn prepare_store(&mut self, range: ByteRange) -> Result<()> {
        if cpu_memory(self.bo.level(), self.mapping.mode()) != CpuMemory::Cached {
            return Ok(());
        }
        let next = Path::Cpu(self.mapping.mode());
        let report = engine::prepare_store::<SharedBo>(self.bo, range, next, self.in_use.marks)?;
        self.add(report);
        Ok(())
    }
}

impl Drop for CpuAccess<'_> {
    #[inline(always)]
    fn drop(&mut self) {
        if self.pointer != Pointer::NotGiven || (self.access == Access::Write && std::thread::panicking()) {
            // The caller may not have reported all stores.
            self.note_stored(self.range);
        }
    }
}

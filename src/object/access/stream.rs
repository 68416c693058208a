//! Sequential writes by a pointer that moves.
//!
//! A driver writes a batch buffer front to back, in commands of a few words. A guard checks and marks each store; a stream checks
//! its range once, and the driver stores through [`Stream::pointer`] by plain stores. [`Stream::announce`] and [`Stream::finish`]
//! mark everything up to the cursor, a page at a time.
//!
//! Until its end, all lines from the last announcement on count as dirty: a submission, a show or an export meanwhile flushes
//! them, in this thread or another one that has learned of the stores. A persistent ring stays open across submissions of what
//! was announced; it costs each one a flush of the lines that are left, so that a short stream costs less than a long one.
//!
//! Meanwhile the GPU may read the BO but must not write it, and nothing may store to the same lines through another mapping: like any access,
//! a stream looks for such writes at its begin only.
//!
//! Stores through a mapping around the cache are drained by each submission meanwhile. A thread's stores leave its core's
//! write-combining buffers before another thread learns of them only if it announces them.

use std::ptr::NonNull;

use super::guard::CpuAccess;
use crate::engine::FlushReport;
use crate::error::{Error, Result};
use crate::fork::Confined;
use crate::object::shared::SharedBo;
use crate::policy::driver::{CpuMemory, cpu_memory};
use crate::units::{ByteRange, LINE_BYTES, LineRange};
use crate::vocabulary::Access;

/// A sequential write to one range of a BO, which has at most one. Offsets are relative to the BO.
///
/// Dropped without [`Stream::finish`], the whole range counts as written from the last announcement on. While it is open, the BO
/// can neither be closed nor change its caching.
///
/// ```
/// use gem_coherency::{Access, AllocRequest, Device, MmapMode, MocsClass, Submission};
///
/// # gem_coherency_sim::link();
/// let device = Device::open("sim:glk")?;
/// let batch = device.alloc(AllocRequest::new(16 << 10).map(MmapMode::Wb))?;
/// let mut stream = batch.stream(0, batch.size())?;
/// for command in [[0x7a00_0004_u32, 0, 0, 0], [0x0500_0000, 0, 0, 0]] {
///     stream.write(&command.map(u32::to_le_bytes).concat())?;
/// }
/// stream.finish();
/// let reports = device.submit(&[Submission { bo: &batch, access: Access::Read, mocs: MocsClass::PageTable }])?;
/// assert_eq!(reports[0].lines, 1);
/// # Ok::<(), gem_coherency::Error>(())
/// ```
#[derive(Debug)]
#[must_use = "the whole range counts as written when the stream is dropped"]
pub struct Stream<'bo> {
    access: CpuAccess<'bo>,
    /// The next byte.
    cursor: u64,
    /// The bytes before are marked.
    announced: u64,
    /// Its stores go through the cache: the lines from the announced ones on count as dirty.
    is_cached: bool,
    is_open: bool,
}

impl<'bo> Stream<'bo> {
    /// Begins the stream: makes memory and caches current for it.
    pub(crate) fn begin(bo: &'bo Confined<SharedBo>, range: ByteRange) -> Result<Self> {
        if range.is_empty() {
            return Err(Error::BadSize { size: 0, why: "a stream has at least one byte" });
        }
        let mut access = CpuAccess::begin(bo, Access::Write, range)?;
        access.invalidate()?;
        let is_cached = cpu_memory(bo.level(), access.mapping.mode()) == CpuMemory::Cached;
        let (first, end) = (range.lines().first(), range.lines().end());
        let dirty = LineRange::new(if is_cached { first } else { end }, end);
        if !bo.tracked.dirty().open_stream(dirty) {
            let (offset, len) = (range.offset(), range.len());
            return Err(Error::StreamOpen { handle: bo.handle.get(), offset, len });
        }
        if !is_cached {
            access.note_stored(range);
        }
        Ok(Self { access, cursor: range.offset(), announced: range.offset(), is_cached, is_open: true })
    }

    /// Returns the stream's range.
    pub fn range(&self) -> ByteRange {
        self.access.range()
    }

    /// Returns the offset of the next byte.
    pub fn cursor(&self) -> u64 {
        self.cursor
    }

    /// Returns how many bytes are left.
    pub fn room(&self) -> u64 {
        self.range().end() - self.cursor
    }

    /// Returns the address of the next byte. The caller may store to the [`Stream::room`] bytes from there on, as long as the
    /// stream exists, and says how many by [`Stream::advance`] or [`Stream::advance_to`].
    ///
    /// # Errors
    /// Those of invalidating stale lines.
    pub fn pointer(&mut self) -> Result<NonNull<u8>> {
        self.access.invalidate()?;
        self.access.address(self.cursor)
    }

    /// Moves the cursor past `len` bytes that were stored.
    ///
    /// # Errors
    /// [`Error::RangeOutOfGuard`]; then the cursor stays.
    #[inline]
    pub fn advance(&mut self, len: u64) -> Result<()> {
        self.cursor = self.access.check_store(self.cursor, len)?.end();
        Ok(())
    }

    /// Moves the cursor to `offset`, before which everything was stored.
    ///
    /// # Errors
    /// [`Error::RangeOutOfGuard`] for an offset before the cursor or after the range; then the cursor stays.
    pub fn advance_to(&mut self, offset: u64) -> Result<()> {
        let Some(len) = offset.checked_sub(self.cursor) else {
            let (start, end) = (self.cursor, self.range().end());
            return Err(Error::RangeOutOfGuard { offset, len: 0, start, end });
        };
        self.advance(len)
    }

    /// Stores `data`, and moves the cursor past it.
    ///
    /// # Errors
    /// As [`Stream::pointer`] and [`Stream::advance`]; on a software device, a page fault's ([`Error::Ioctl`]). Then the cursor
    /// stays, and the bytes may be stored in part.
    #[inline]
    pub fn write(&mut self, data: &[u8]) -> Result<()> {
        let range = self.access.check_store(self.cursor, data.len() as u64)?;
        self.access.prepare_store(range)?;
        let copied = self.access.copy_in(range, data);
        match copied {
            Ok(()) => self.cursor = range.end(),
            // A part may have been stored, which the cursor will not pass.
            Err(_) => self.access.note_stored(range),
        }
        copied
    }

    /// Marks everything up to the cursor: from now on only the lines behind it count as dirty by the stream.
    pub fn announce(&mut self) {
        self.mark_to(self.cursor);
        if self.is_cached {
            // The cursor's line has later stores.
            self.access.bo.tracked.dirty().advance_stream(self.cursor / LINE_BYTES);
        }
    }

    /// Marks everything up to the cursor and ends the stream; returns what was invalidated for it.
    pub fn finish(mut self) -> FlushReport {
        self.end(self.cursor);
        self.access.report()
    }

    /// Marks the bytes before `end` that are not marked yet.
    fn mark_to(&mut self, end: u64) {
        let (start, len) = (self.announced, end - self.announced);
        if let Some(stored) = self.range().part(start, len).filter(|stored| !stored.is_empty()) {
            self.access.note_stored(stored);
            self.announced = end;
        }
    }

    /// Marks the bytes before `end` and closes the stream, if it is open.
    fn end(&mut self, end: u64) {
        self.mark_to(end);
        if std::mem::take(&mut self.is_open) {
            self.access.bo.tracked.dirty().close_stream();
        }
        self.announced = self.range().end();
    }
}

impl Drop for Stream<'_> {
    fn drop(&mut self) {
        self.end(self.range().end());
    }
}

//! A buffer object, accessed by the CPU, the GPU, the display and other processes.
//!
//! Stores and loads go through guards ([`Bo::write`], [`Bo::read`]), which mark dirty lines and invalidate
//! stale ones. [`crate::device::Device::submit_with`] and [`Bo::prepare_scanout`] flush the lines that the
//! GPU or the display would miss. Callers that store through raw pointers report the stores with
//! [`Bo::mark_written`].
//!
//! A [`Bo`] is a reference that can be cloned and sent to other threads. Dropping the last clone closes the
//! handle, or keeps the object for reuse.
//!
//! ```
//! use gem_coherency::object::Upload;
//! use gem_coherency::device::{AllocRequest, Device};
//! use gem_coherency::vocabulary::{CachingMode, MmapMode};
//!
//! # gem_coherency_sim::link();
//! let device = Device::open("sim:glk")?;
//! let bo = device.alloc(AllocRequest::new(8192).caching(CachingMode::None))?;
//! bo.map(MmapMode::Wb)?;
//! bo.write(0, 4)?.write_at(0, &[1; 4])?; // dirty until somebody is about to look
//! bo.upload(4096, &[2; 4096], Upload::Auto)?; // in memory when it returns
//! assert_eq!(bo.dirty_lines(), 1);
//! assert_eq!(bo.flush()?.lines, 1);
//! # Ok::<(), gem_coherency::Error>(())
//! ```

mod caching;
mod mapping;
mod ranges;
mod release;
mod scanout;
mod sharing;

pub use crate::object::shared::Released;
pub use mapping::{FlushOwner, Ownership};
pub use scanout::ScanoutGuard;

use std::sync::Arc;
use std::time::Duration;

use gem_coherency_policy::Errno;

use crate::backend::Busy;
use crate::engine::{FlushReport, Step};
use crate::error::{Error, Result};
use crate::fork::Confined;
use crate::object::access::{CpuAccess, Stream, Upload};
use crate::object::shared::{SharedBo, level_of};
use crate::policy;
use crate::tracking::Marks;
use crate::units::ByteRange;
use crate::vocabulary::{Access, CacheLevel, Coherency, Handle};

/// A buffer object. Clones are the same BO; dropping the last one closes it, or keeps it for reuse.
#[derive(Clone, Debug)]
pub struct Bo {
    shared: Arc<Confined<SharedBo>>,
}

impl Bo {
    /// Creates a clone of a BO.
    pub(crate) fn from_shared(shared: Arc<Confined<SharedBo>>) -> Self {
        Self { shared }
    }

    /// Returns the state that the clones share.
    pub(crate) fn shared(&self) -> &Arc<Confined<SharedBo>> {
        &self.shared
    }

    /// Returns the handle, which the caller must not close.
    pub fn handle(&self) -> Handle {
        self.shared.handle
    }

    /// Returns the size in bytes, a multiple of the page size.
    pub fn size(&self) -> u64 {
        self.shared.size
    }

    /// Returns the cache level; scanout and [`Bo::set_caching`] change it.
    ///
    /// After a [`Bo::prepare_scanout`], asks the kernel for the BO's level; if that fails, returns the last
    /// level that the kernel confirmed.
    pub fn level(&self) -> CacheLevel {
        // The error can be ignored: every access confirms the level itself.
        let _ = self.shared.confirm_level();
        self.shared.level()
    }

    /// Returns the level that the kernel reports now. A [`Bo::prepare_scanout`] whose frame was never shown
    /// has not changed it.
    pub fn kernel_level(&self) -> CacheLevel {
        level_of(&self.shared.device, self.handle(), policy::kernel::Creation::User)
    }

    /// Returns which CPU accesses through the cache are coherent with the GPU.
    pub fn coherency(&self) -> Coherency {
        policy::coherency(self.shared.device.caps(), self.level())
    }

    /// Returns whether both are clones of one BO.
    pub fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.shared, &other.shared)
    }

    /// Returns how many lines may be newer in the CPU's cache than in memory.
    pub fn dirty_lines(&self) -> u64 {
        self.shared.tracked.dirty().count()
    }

    /// Returns how many lines may be newer in memory than in the CPU's cache.
    pub fn stale_lines(&self) -> u64 {
        self.shared.tracked.stale().count()
    }

    /// Begins an access of the CPU. Inlined, because a guard that is moved costs more than one that is made.
    #[inline(always)]
    fn access(&self, access: Access, offset: u64, len: u64) -> Result<CpuAccess<'_>> {
        self.check_process()?;
        CpuAccess::begin(&self.shared, access, ByteRange::within(offset, len, self.size())?)
    }

    /// Begins a write of `len` bytes at `offset` by the CPU.
    ///
    /// Waits for the GPU's writes that this library knows of.
    ///
    /// # Errors
    /// [`Error::RangeOutOfBounds`]; [`Error::Closed`], [`Error::Purged`], [`Error::DontNeed`],
    /// [`Error::LevelChanging`], [`Error::TooManyGuards`]; [`Error::NotAvailable`] if the mapping cannot be
    /// used at the BO's level; those of mapping and waiting.
    #[inline]
    pub fn write(&self, offset: u64, len: u64) -> Result<CpuAccess<'_>> {
        self.access(Access::Write, offset, len)
    }

    /// Begins a sequential write to `len` bytes at `offset`, by a pointer that moves: a batch buffer, or a ring.
    ///
    /// # Errors
    /// [`Error::StreamOpen`]; [`Error::BadSize`] for no bytes; as [`Bo::write`], and those of invalidating stale lines.
    pub fn stream(&self, offset: u64, len: u64) -> Result<Stream<'_>> {
        Stream::begin(&self.shared, ByteRange::within(offset, len, self.size())?)
    }

    /// Writes `data` at `offset`, like [`Bo::write`] and [`CpuAccess::write_at`].
    ///
    /// # Errors
    /// As [`Bo::write`].
    pub fn write_bytes(&self, offset: u64, data: &[u8]) -> Result<FlushReport> {
        let mut guard = self.access(Access::Write, offset, data.len() as u64)?;
        guard.write_at(offset, data)?;
        Ok(guard.finish())
    }

    /// Stores `data` at `offset`. If the GPU is not coherent with the CPU's caches, also writes the data to
    /// memory; its lines are clean on return. `hint` tells what the CPU does next.
    ///
    /// If the GPU is coherent, this is a store as through [`Bo::write`]. Waits for the GPU's writes that this
    /// library knows of.
    ///
    /// # Errors
    /// As [`Bo::write`]; those of invalidating stale lines, if `data` overwrites them in part.
    pub fn upload(&self, offset: u64, data: &[u8], hint: Upload) -> Result<FlushReport> {
        let mut guard = self.access(Access::Write, offset, data.len() as u64)?;
        guard.upload_at(offset, data, hint)?;
        Ok(guard.finish())
    }

    /// Begins a read of `len` bytes at `offset` by the CPU: invalidates the stale lines there.
    ///
    /// Waits for the GPU's writes that this library knows of.
    ///
    /// # Errors
    /// As [`Bo::write`].
    pub fn read(&self, offset: u64, len: u64) -> Result<CpuAccess<'_>> {
        self.access(Access::Read, offset, len)
    }

    /// Fills `data` from `offset` on, like [`Bo::read`] and [`CpuAccess::read_at`].
    ///
    /// # Errors
    /// As [`Bo::read`].
    pub fn read_bytes(&self, offset: u64, data: &mut [u8]) -> Result<FlushReport> {
        let guard = self.access(Access::Read, offset, data.len() as u64)?;
        guard.read_at(offset, data)?;
        Ok(guard.finish())
    }

    /// Reports that this thread stored `len` bytes at `offset` through [`Bo::as_ptr`].
    ///
    /// # Errors
    /// [`Error::RangeOutOfBounds`]; [`Error::Closed`]; those of mapping.
    pub fn mark_written(&self, offset: u64, len: u64) -> Result<()> {
        let range = ByteRange::within(offset, len, self.size())?;
        self.check_open()?;
        let mapping = self.shared.mapping()?;
        self.shared.note_stored(mapping.mode(), range.lines(), Marks::Shared);
        Ok(())
    }

    /// Returns whether engines still use the BO.
    ///
    /// # Errors
    /// [`Error::Closed`]; GEM_BUSY's.
    pub fn busy(&self) -> Result<Busy> {
        self.check_open()?;
        self.shared.device.drm.busy(self.handle())
    }

    /// Waits until the GPU is done with the BO; indefinitely without a timeout.
    ///
    /// # Errors
    /// [`Error::Timeout`]; [`Error::Closed`]; GEM_WAIT's.
    pub fn wait(&self, timeout: Option<Duration>) -> Result<()> {
        self.check_open()?;
        let timeout_ns = timeout.map_or(-1, |timeout| i64::try_from(timeout.as_nanos()).unwrap_or(i64::MAX));
        self.shared.wait_idle(timeout_ns).map_err(|error| {
            if error.errno() == Errno::ETIME {
                return Error::Timeout { handle: self.handle().get(), timeout_ns };
            }
            error
        })
    }

    /// Flushes every dirty line and drains every store, so that memory is current for any reader.
    ///
    /// Use it for readers outside of this library's submissions: another process, another device.
    ///
    /// # Errors
    /// As [`crate::device::Device::submit_with`].
    pub fn flush(&self) -> Result<FlushReport> {
        self.shared.flush_for_any_reader(Step::Sync)
    }

    /// Checks that this process opened the BO's device.
    #[inline]
    pub(crate) fn check_process(&self) -> Result<()> {
        self.shared.check()
    }

    /// Checks that the BO is open and belongs to this process.
    ///
    /// # Errors
    /// [`Error::Closed`], [`Error::OtherProcess`].
    #[inline]
    pub fn check_open(&self) -> Result<()> {
        let is_open = self.shared.is_here() && !self.shared.tracked.word().state().is_closed();
        if is_open { Ok(()) } else { Err(self.not_open()) }
    }

    /// Returns why the BO cannot be used.
    #[cold]
    fn not_open(&self) -> Error {
        match self.check_process() {
            Ok(()) => Error::Closed { handle: self.handle().get() },
            Err(error) => error,
        }
    }
}

//! A buffer object: its bytes' way to the CPU, the GPU, the display, and others.
//!
//! Stores and loads go through guards ([`Bo::write`], [`Bo::read`]), which mark what is dirty and
//! invalidate what is stale; [`crate::device::Device::submit_with`] and [`Bo::prepare_scanout`]
//! flush what the GPU or the display would not see otherwise. Who uses raw pointers says so with
//! [`Bo::mark_written`].
//!
//! A [`Bo`] is a reference that may be cloned and sent to other threads; the last one that goes closes the handle, or
//! keeps the object for reuse.
//!
//! ```
//! use gem_coherency::access::Upload;
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
mod flush;
mod mapping;
mod reuse;
mod scanout;
mod sharing;

pub use mapping::{FlushOwner, Ownership};
pub use reuse::Released;
pub use scanout::ScanoutGuard;

pub(crate) use caching::level_of;
pub(crate) use flush::{Need, settle, settle_one};
pub(crate) use reuse::close;

use std::ops::Deref;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, OnceLock, Weak};
use std::time::Duration;

use gem_coherency_rules::Errno;

use crate::access::{CpuAccess, Upload};
use crate::device;
use crate::device::Key;
use crate::drm::{Busy, Created, Mapping};
use crate::engine::{self, FlushReport, Step};
use crate::error::{Error, Result};
use crate::fork::Confined;
use crate::policy::{self, Path};
use crate::tracking::{Mappings, Named, Number, Past, Tracked};
use crate::units::ByteRange;
use crate::vocabulary::{Access, CacheLevel, Coherency, Handle, MocsClass};

/// Where a BO comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    /// Created here; who asks for the same gets the object again, if it has a key.
    Created(Option<Key>),
    /// From a dma-buf.
    Imported,
}

/// A buffer object; clones are the same BO, and the last one closes it, or keeps it for reuse.
#[derive(Clone, Debug)]
pub struct Bo {
    shared: Arc<Confined<Shared>>,
}

/// What the clones of a BO share: one life of its object.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) device: Arc<Confined<device::Shared>>,
    object: Arc<Object>,
    /// Whether the object is somebody else's by now, or closed.
    ended: bool,
}

/// What a BO leaves behind for reuse: the kernel's object, and all that is known of it.
#[derive(Debug)]
pub(crate) struct Object {
    pub(crate) handle: Handle,
    pub(crate) size: u64,
    pub(crate) tracked: Tracked,
    origin: Origin,
    /// Whether nothing changes the level, because userspace chose a PAT index.
    keeps_level: bool,
    /// Which owner of the handle this is.
    number: Number,
    maps: Mappings<Mapping>,
    /// Whether others may know the object, by means that this library does not see.
    never_reuse: AtomicBool,
    /// Where batches find it; chosen when the first one names it.
    address: OnceLock<device::Address>,
}

impl Deref for Shared {
    type Target = Object;

    fn deref(&self) -> &Object {
        &self.object
    }
}

impl Shared {
    /// The object's level, as far as the kernel confirmed it.
    pub(crate) fn level(&self) -> CacheLevel {
        self.tracked.word().state().level()
    }

    /// The address at which batches find the object; it stays the same.
    ///
    /// # Errors
    /// [`Error::NoAddress`].
    fn address(&self) -> Result<u64> {
        if self.address.get().is_none() {
            // Who comes second gives its own back.
            let _ = self.address.set(self.device.addresses.take(self.size)?);
        }
        self.address.get().map(device::Address::get).ok_or(Error::NoAddress { bytes: self.size })
    }

    /// Notes that the GPU writes the object through `mocs`.
    pub(crate) fn note_gpu_write(&self, mocs: MocsClass) {
        engine::note_gpu_write(&mut &*self, self.notes(Path::Gpu(mocs)), self.device.is_conservative());
    }

    /// Waits until the GPU is done with the object.
    fn wait_idle(&self, timeout_ns: i64) -> Result<()> {
        self.tracked.gpu_writes().wait(|| self.device.drm.wait(self.handle, timeout_ns))
    }
}

/// A request about the handle of an object, which nobody closes meanwhile; ends when dropped.
pub(crate) struct Request<'a>(&'a Object);

impl Object {
    /// Begins a request that would hit another object if the handle were closed, and given to that one.
    pub(crate) fn begin_request(&self) -> Result<Request<'_>> {
        self.tracked.word().begin_request().map_err(|blocked| blocked.error(self.handle))?;
        Ok(Request(self))
    }
}

impl Drop for Request<'_> {
    fn drop(&mut self) {
        self.0.tracked.word().end_request();
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        match self.end() {
            Ok(_) | Err(Error::OtherProcess) => {}
            Err(error) => tracing::warn!(handle = self.handle.get(), %error, "close"),
        }
    }
}

impl Named for Arc<Confined<Shared>> {
    type Weak = Weak<Confined<Shared>>;

    fn weak(&self) -> Self::Weak {
        Self::downgrade(self)
    }

    fn living(weak: &Self::Weak) -> Option<Self> {
        weak.upgrade().filter(|shared| !shared.tracked.word().state().is_closed())
    }
}

/// A handle that is not a BO's yet, and what is known of its object.
#[derive(Clone, Copy, Debug)]
pub(crate) struct New {
    pub(crate) created: Created,
    pub(crate) level: CacheLevel,
    pub(crate) origin: Origin,
    /// Whether nothing changes the level, because userspace chose a PAT index.
    pub(crate) keeps_level: bool,
}

impl Shared {
    /// The BO of a new handle, as the registry's number `number`.
    pub(crate) fn new(device: &Arc<Confined<device::Shared>>, number: Number, new: New) -> Result<Self> {
        let New { created, level, origin, keeps_level } = new;
        let object = Object {
            handle: created.handle,
            size: created.size_bytes,
            tracked: Tracked::new(created.size_bytes, level)?,
            origin,
            keeps_level,
            number,
            maps: Mappings::new(match origin {
                Origin::Created(_) => Past::Known,
                Origin::Imported => Past::Unknown,
            }),
            never_reuse: AtomicBool::new(false),
            address: OnceLock::new(),
        };
        Ok(Self { device: Arc::clone(device), object: Arc::new(object), ended: false })
    }

    /// The BO is not to be: its handle stays the caller's.
    pub(crate) fn disown(mut self) {
        self.ended = true;
    }
}

impl Bo {
    /// A clone of a BO.
    pub(crate) fn from_shared(shared: Arc<Confined<Shared>>) -> Self {
        Self { shared }
    }

    /// What the clones share.
    pub(crate) fn shared(&self) -> &Arc<Confined<Shared>> {
        &self.shared
    }

    /// Its name on the device; not to be closed by the caller.
    pub fn handle(&self) -> Handle {
        self.shared.handle
    }

    /// Bytes, whole pages.
    pub fn size(&self) -> u64 {
        self.shared.size
    }

    /// Its cache level; scanout and [`Bo::set_caching`] change it.
    ///
    /// After a [`Bo::prepare_scanout`] the kernel is asked which level the BO has; if it does not say, this is the last
    /// one that it confirmed.
    pub fn level(&self) -> CacheLevel {
        // The caller decides nothing by it that an access would not ask again.
        let _ = self.shared.confirm_level();
        self.shared.level()
    }

    /// Returns the level that the kernel says the BO has now; a [`Bo::prepare_scanout`] whose frame was never shown has not
    /// changed it.
    pub fn kernel_level(&self) -> CacheLevel {
        level_of(&self.shared.device, self.handle(), policy::kernel::Creation::User)
    }

    /// Which CPU accesses through the cache agree with the GPU.
    pub fn coherency(&self) -> Coherency {
        policy::coherency(self.shared.device.caps(), self.level())
    }

    /// Whether both are clones of one BO.
    pub fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.shared, &other.shared)
    }

    /// How many of its lines may be newer in the CPU's cache than in memory.
    pub fn dirty_lines(&self) -> u64 {
        self.shared.tracked.dirty().count()
    }

    /// How many of its lines may be newer in memory than in the CPU's cache.
    pub fn stale_lines(&self) -> u64 {
        self.shared.tracked.stale().count()
    }

    /// Begins to write `len` bytes at `offset` with the CPU.
    ///
    /// Waits for writes of the GPU that this library knows of.
    ///
    /// # Errors
    /// [`Error::RangeOutOfBounds`]; [`Error::Closed`], [`Error::Purged`], [`Error::DontNeed`],
    /// [`Error::LevelChanging`], [`Error::TooManyGuards`]; [`Error::NotAvailable`] if the mapping
    /// cannot be used at the BO's level; what mapping and waiting answer.
    pub fn write(&self, offset: u64, len: u64) -> Result<CpuAccess<'_>> {
        self.check_process()?;
        CpuAccess::begin(self, Access::Write, ByteRange::within(offset, len, self.size())?)
    }

    /// Writes `data` at `offset`: [`Bo::write`], for bytes that are all there.
    ///
    /// # Errors
    /// As [`Bo::write`].
    pub fn write_bytes(&self, offset: u64, data: &[u8]) -> Result<FlushReport> {
        let mut guard = self.write(offset, data.len() as u64)?;
        guard.write_at(offset, data)?;
        Ok(guard.finish())
    }

    /// Stores `data` at `offset`. If the GPU does not see the CPU's caches, the call also writes `data` to memory, and its lines are
    /// clean on return. `hint` says what the CPU does next.
    ///
    /// If the GPU sees them, it is a store as through [`Bo::write`].
    /// Waits for writes of the GPU that this library knows of.
    ///
    /// # Errors
    /// As [`Bo::write`]; what invalidating stale lines answers, if `data` overwrites them in part.
    pub fn upload(&self, offset: u64, data: &[u8], hint: Upload) -> Result<FlushReport> {
        let mut guard = self.write(offset, data.len() as u64)?;
        guard.upload_at(offset, data, hint)?;
        Ok(guard.finish())
    }

    /// Begins to read `len` bytes at `offset` with the CPU: invalidates what is stale there.
    ///
    /// Waits for writes of the GPU that this library knows of.
    ///
    /// # Errors
    /// As [`Bo::write`].
    pub fn read(&self, offset: u64, len: u64) -> Result<CpuAccess<'_>> {
        self.check_process()?;
        CpuAccess::begin(self, Access::Read, ByteRange::within(offset, len, self.size())?)
    }

    /// Fills `data` from `offset` on: [`Bo::read`], for bytes that are copied out at once.
    ///
    /// # Errors
    /// As [`Bo::read`].
    pub fn read_bytes(&self, offset: u64, data: &mut [u8]) -> Result<FlushReport> {
        let guard = self.read(offset, data.len() as u64)?;
        guard.read_at(offset, data)?;
        Ok(guard.finish())
    }

    /// Says that `len` bytes at `offset` were stored through [`Bo::as_ptr`], by this thread.
    ///
    /// # Errors
    /// [`Error::RangeOutOfBounds`]; [`Error::Closed`]; what mapping answers.
    pub fn mark_written(&self, offset: u64, len: u64) -> Result<()> {
        let range = ByteRange::within(offset, len, self.size())?;
        self.check_open()?;
        let mapping = self.shared.mapping()?;
        self.shared.note_stored(mapping.mode(), range.lines());
        Ok(())
    }

    /// Whether engines still use the BO.
    ///
    /// # Errors
    /// [`Error::Closed`]; GEM_BUSY's.
    pub fn busy(&self) -> Result<Busy> {
        self.check_open()?;
        self.shared.device.drm.busy(self.handle())
    }

    /// Waits until the GPU is done with the BO; without a timeout, for as long as it takes.
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
    /// For a reader that this library does not submit to: another process, another device.
    ///
    /// # Errors
    /// As [`crate::device::Device::submit_with`].
    pub fn flush(&self) -> Result<FlushReport> {
        self.shared.make_current(Step::Export)
    }

    /// Nothing, or that the BO is another process's.
    pub(crate) fn check_process(&self) -> Result<()> {
        self.shared.check()
    }

    /// Returns a GPU address in the default context that no other BO of the device has, and that stays the BO's.
    ///
    /// For batches of `gem-coherency-exercise`; a driver has a manager of addresses.
    ///
    /// # Errors
    /// [`Error::NoAddress`].
    #[doc(hidden)]
    pub fn gpu_address(&self) -> Result<u64> {
        self.shared.address()
    }

    /// Checks that the BO is open, and this process's.
    ///
    /// # Errors
    /// [`Error::Closed`], [`Error::OtherProcess`].
    #[inline]
    pub fn check_open(&self) -> Result<()> {
        let is_open = self.shared.is_here() && !self.shared.tracked.word().state().is_closed();
        if is_open { Ok(()) } else { Err(self.not_open()) }
    }

    /// Why the BO is not to be used.
    #[cold]
    fn not_open(&self) -> Error {
        match self.check_process() {
            Ok(()) => Error::Closed { handle: self.handle().get() },
            Err(error) => error,
        }
    }
}

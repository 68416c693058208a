//! How BOs come to be: created with a caching mode, or imported.

use std::os::fd::BorrowedFd;
use std::sync::Arc;

use super::Shared;
use crate::bo::{self, Bo, Origin};
use crate::drm::{Created, Drm};
use crate::error::{Error, Result};
use crate::platform::{Call, Caps};
use crate::policy::coherency;
use crate::policy::kernel::{Creation, Snapshot};
use crate::units::PAGE_BYTES;
use crate::vocabulary::{CacheLevel, CachingMode, Coherency, Handle};

/// PAT indices of graphics version 12.70 (`mtl_pat_table`): 1 writes through, 2 is uncached, 3 is
/// cached and snoops. Index 1 is not coherent with the CPU's caches.
const PAT_WRITE_THROUGH: u8 = 1;
const PAT_UNCACHED: u8 = 2;
const PAT_CACHED: u8 = 3;

/// What kind of BO is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AllocRequest {
    /// Bytes; the kernel rounds up to whole pages.
    pub size: u64,
    /// The caching mode; `None` takes what the platform gives, the only choice on discrete devices.
    pub caching: Option<CachingMode>,
}

impl AllocRequest {
    /// `size` bytes, cached as the platform does it.
    pub const fn new(size: u64) -> Self {
        Self { size, caching: None }
    }

    /// The same with a caching mode.
    pub const fn caching(self, mode: CachingMode) -> Self {
        Self { caching: Some(mode), ..self }
    }
}

/// A handle that is closed unless it becomes a BO's.
#[derive(Debug)]
struct OpenHandle<'a> {
    drm: &'a dyn Drm,
    handle: Option<Handle>,
}

impl OpenHandle<'_> {
    /// The handle is a BO's from now on.
    fn keep(mut self) {
        self.handle = None;
    }
}

impl Drop for OpenHandle<'_> {
    fn drop(&mut self) {
        if let Some(handle) = self.handle
            && let Err(error) = self.drm.close(handle)
        {
            tracing::warn!(handle = handle.get(), %error, "close");
        }
    }
}

/// Creates a BO.
pub(super) fn alloc(device: &Arc<Shared>, request: AllocRequest) -> Result<Bo> {
    let _span = tracing::debug_span!("alloc", bytes = request.size, caching = ?request.caching).entered();
    check_size(device, request.size)?;
    let drm = device.drm.as_ref();
    let (created, pat) = create(device, request)?;
    let open = OpenHandle { drm, handle: Some(created.handle) };
    let (level, acquire) = match pat {
        // Userspace can read around the caches with an index of its own (can_bypass_llc).
        Some(index) => (created_level(device, Creation::UserWithPat(index)), Acquire::Flushes),
        None => set_up_caching(device, created.handle, request.caching)?,
    };
    let bo = Bo::new(device, &mut device.registry.lock(), created, level, Origin::Created, pat.is_some())?;
    open.keep();
    if acquire == Acquire::LeavesZeroes {
        bo.distrust_zeroes();
    }
    tracing::debug!(handle = bo.handle().get(), bytes = bo.size(), %level, "alloc");
    Ok(bo)
}

/// Whether the kernel flushes a new object's zeroes when its pages come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Acquire {
    /// It does, or no agent can miss them in the cache.
    Flushes,
    /// They stay dirty in the cache, where a mapping around it, and the display, do not look: an
    /// object that is cached from its creation on, on a device without LLC.
    LeavesZeroes,
}

/// Refuses sizes that no object can have, before the kernel does, with the reason.
fn check_size(device: &Shared, size: u64) -> Result<()> {
    let bad = |why| Err(Error::BadSize { size, why });
    if size == 0 {
        return bad("a BO has at least one byte");
    }
    if size.checked_next_multiple_of(PAGE_BYTES).is_none() {
        return bad("rounded up to whole pages it does not fit into 64 bits");
    }
    match device.memory_bytes {
        // The kernel would create it, and kill the process that touches what does not fit.
        Some(memory) if size > memory => bad("there is not as much memory"),
        _ => Ok(()),
    }
}

/// Creates the object, with a PAT index where caching is chosen so; returns the index.
fn create(device: &Shared, request: AllocRequest) -> Result<(Created, Option<u8>)> {
    let drm = device.drm.as_ref();
    match request.caching {
        Some(mode) if device.caps().contains(Caps::PAT_AT_CREATE) => {
            let index = match mode {
                CachingMode::None => PAT_UNCACHED,
                CachingMode::Cached => PAT_CACHED,
                CachingMode::Display => PAT_WRITE_THROUGH,
            };
            let created = drm.create_with_pat(request.size, u32::from(index)).map_err(|error| {
                device.explain(Call::CreateWithPat, || format!("caching mode {mode}"), error)
            })?;
            Ok((created, Some(index)))
        }
        Some(_) | None => Ok((drm.create(request.size)?, None)),
    }
}

/// Gives a new object its caching mode, if it has not got it; returns its level, and what its
/// zeroes come to.
fn set_up_caching(
    device: &Shared,
    handle: Handle,
    mode: Option<CachingMode>,
) -> Result<(CacheLevel, Acquire)> {
    let drm = device.drm.as_ref();
    let caps = device.caps();
    let is_so =
        |mode| drm.caching(handle).is_ok_and(|now| bo::mode_level(caps, now) == bo::mode_level(caps, mode));
    if let Some(mode) = mode.filter(|&mode| !is_so(mode)) {
        let call = match mode {
            CachingMode::Cached => Call::SetCachingCached,
            CachingMode::None | CachingMode::Display => Call::SetCaching,
        };
        drm.set_caching(handle, mode)
            .map_err(|error| device.explain(call, || format!("caching mode {mode}"), error))?;
        // A change of the level makes the object dirty (i915_gem_object_set_cache_level).
        return Ok((bo::level_of(device, handle, Creation::User), Acquire::Flushes));
    }
    let level = bo::level_of(device, handle, Creation::User);
    let cached = coherency(caps, level).contains(Coherency::WRITE);
    let around = !caps.intersects(Caps::LLC | Caps::DISCRETE);
    Ok((level, if cached && around { Acquire::LeavesZeroes } else { Acquire::Flushes }))
}

/// The level that i915 gives to an object that comes to be like this.
pub(crate) fn created_level(device: &Shared, creation: Creation) -> CacheLevel {
    if device.is_conservative() {
        return CacheLevel::None;
    }
    Snapshot::created(device.caps(), &device.rules, creation).map_or(CacheLevel::None, |state| state.level)
}

/// Opens the BO behind a dma-buf.
pub(super) fn import(device: &Arc<Shared>, dma_buf: BorrowedFd<'_>) -> Result<Bo> {
    let _span = tracing::debug_span!("import").entered();
    let drm = device.drm.as_ref();
    // Held over the request: see the module `registry`.
    let mut names = device.registry.lock();
    let created = drm.import(dma_buf)?;
    if let Some(bo) = names.get(created.handle) {
        tracing::debug!(handle = created.handle.get(), "import of an open BO");
        return Ok(Bo::from_shared(bo));
    }
    let open = OpenHandle { drm, handle: Some(created.handle) };
    let level = bo::level_of(device, created.handle, Creation::Import);
    // Only an object whose PAT index was chosen at creation does not say.
    let keeps_level = device.caps().contains(Caps::PAT_AT_CREATE) && drm.caching(created.handle).is_err();
    let bo = Bo::new(device, &mut names, created, level, Origin::Imported, keeps_level)?;
    open.keep();
    // The handle is the BO's; dropping it needs the lock.
    drop(names);
    bo.distrust_caches()?;
    tracing::debug!(handle = bo.handle().get(), bytes = bo.size(), %level, "import");
    Ok(bo)
}

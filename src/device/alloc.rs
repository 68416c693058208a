//! Creation and import of BOs.

use std::os::fd::BorrowedFd;
use std::sync::Arc;

use crate::backend::{Created, Drm};
use crate::engine;
use crate::error::{Error, Result};
use crate::fork::Confined;
use crate::object::bo::Bo;
use crate::object::shared::{
    New, Origin, Readers, SharedBo, SharedDevice, WaitedBy, XE_DEFAULT, caching_call, created_level,
    level_of, pat_index, reuse_key,
};
use crate::platform::{Call, Caps, mode_level};
use crate::policy::Path;
use crate::policy::kernel::{self, Creation, Event, Snapshot};
use crate::units::PAGE_BYTES;
use crate::vocabulary::{Access, CacheLevel, CachingMode, Handle, MmapMode};

/// The properties of a BO to be allocated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AllocRequest {
    /// Size in bytes; the kernel rounds it up to whole pages.
    pub size: u64,
    /// The caching mode. `None` selects the platform's default, the only choice on discrete devices.
    pub caching: Option<CachingMode>,
    /// The map mode of the CPU's accesses. `None` selects the level's default ([`Bo::map`]).
    pub map: Option<MmapMode>,
}

impl AllocRequest {
    /// Creates a request for `size` bytes with the platform's default caching mode.
    pub const fn new(size: u64) -> Self {
        Self { size, caching: None, map: None }
    }

    /// Sets the caching mode.
    pub const fn caching(self, mode: CachingMode) -> Self {
        Self { caching: Some(mode), ..self }
    }

    /// Sets the map mode.
    pub const fn map(self, mode: MmapMode) -> Self {
        Self { map: Some(mode), ..self }
    }
}

/// A handle that is closed when dropped, unless a BO takes it over.
#[derive(Debug)]
struct OpenHandle<'a> {
    drm: &'a dyn Drm,
    handle: Option<Handle>,
}

impl OpenHandle<'_> {
    /// Leaves the handle to a BO.
    fn keep(mut self) {
        self.handle = None;
    }
}

impl Drop for OpenHandle<'_> {
    fn drop(&mut self) {
        let Some(handle) = self.handle else { return };
        if let Err(error) = self.drm.close(handle) {
            tracing::warn!(handle = handle.get(), %error, "close");
        }
    }
}

/// Creates a BO.
pub(super) fn alloc(device: &Arc<Confined<SharedDevice>>, request: AllocRequest) -> Result<Bo> {
    device.check()?;
    let _span = tracing::debug_span!("alloc", bytes = request.size, caching = ?request.caching).entered();
    check_size(device, request)?;
    let key = reuse_key(device, request.size, request.caching);
    if let Some(bo) = key.and_then(|key| device.reuse.take(device, key)) {
        return Ok(Bo::from_shared(bo));
    }
    // A reusable object has the size of its class.
    let request = AllocRequest { size: key.map_or(request.size, |key| key.bytes), ..request };
    let drm = device.drm.as_ref();
    let (created, pat) = create(device, request)?;
    let open = OpenHandle { drm, handle: Some(created.handle) };
    let is_xe = device.is_xe();
    let changed = match pat {
        None if !is_xe => set_up_caching(device, created.handle, request.caching)?,
        Some(_) | None => None,
    };
    let creation = pat.map_or(Creation::User, Creation::UserWithPat);
    let level = match pat {
        Some(_) => created_level(device, creation),
        None => level_of(device, created.handle, creation),
    };
    let origin = Origin::Created(key.map(|key| key.at(level)));
    let new = New {
        created,
        level,
        origin,
        keeps_level: pat.is_some() || is_xe,
        waited_by: WaitedBy::Library,
        readers: Readers::ALL,
    };
    let shared = device.registry.enter(created.handle, |number| {
        let shared = SharedBo::new(device, number, new)?;
        open.keep();
        if zeroes_stay(device, created.handle, creation, changed) {
            shared.mark_all_dirty();
        }
        Ok::<_, Error>(Arc::new(Confined::new(shared)))
    })?;
    let bo = Bo::from_shared(shared);
    tracing::debug!(handle = bo.handle().get(), bytes = bo.size(), %level, "alloc");
    Ok(bo)
}

/// Creates a dumb buffer for a framebuffer with 32 bits per pixel.
pub(super) fn alloc_dumb(device: &Arc<Confined<SharedDevice>>, width: u32, height: u32) -> Result<Bo> {
    device.check()?;
    let _span = tracing::debug_span!("alloc_dumb", width, height).entered();
    let drm = device.drm.as_ref();
    let picture = drm.display()?.create_dumb(width, height)?;
    let open = OpenHandle { drm, handle: Some(picture.handle) };
    // A discrete device creates it in local memory, where the display can read it (i915_gem_dumb_create).
    let local = device.caps().contains(Caps::DISCRETE);
    let creation = if local { Creation::Local } else { Creation::User };
    let level = level_of(device, picture.handle, creation);
    let size_bytes = picture.bytes().next_multiple_of(PAGE_BYTES);
    let created = Created { handle: picture.handle, size_bytes };
    let new = New {
        created,
        level,
        origin: Origin::Created(None),
        keeps_level: device.is_xe(),
        waited_by: WaitedBy::Library,
        readers: Readers::ALL,
    };
    let shared = device.registry.enter(created.handle, |number| {
        let shared = SharedBo::new(device, number, new)?;
        open.keep();
        if zeroes_stay(device, created.handle, creation, None) {
            shared.mark_all_dirty();
        }
        Ok::<_, Error>(Arc::new(Confined::new(shared)))
    })?;
    Ok(Bo::from_shared(shared))
}

/// Refuses sizes that no object can have, with the reason that the kernel does not give.
fn check_size(device: &SharedDevice, AllocRequest { size, caching, .. }: AllocRequest) -> Result<()> {
    let bad = |why| Err(Error::BadSize { size, why });
    if size == 0 {
        return bad("a BO has at least one byte");
    }
    if size.checked_next_multiple_of(PAGE_BYTES).is_none() {
        return bad("rounded up to whole pages it does not fit into 64 bits");
    }
    // On a discrete device of xe NONE and DISPLAY are in local memory.
    let local = device.is_xe()
        && device.caps().contains(Caps::DISCRETE)
        && caching.unwrap_or(XE_DEFAULT) != CachingMode::Cached;
    match if local { device.largest_region_bytes } else { device.memory_bytes } {
        // The kernel would create the object, and kill the process that touches pages that do not fit.
        Some(memory) if size > memory => Err(Error::NoMemory { what: "a BO", bytes: size }),
        _ => Ok(()),
    }
}

/// Creates the object, with a PAT index if the platform selects caching by it; returns the index.
fn create(device: &SharedDevice, request: AllocRequest) -> Result<(Created, Option<u8>)> {
    let drm = device.drm.as_ref();
    match request.caching {
        mode if device.is_xe() => Ok((drm.create_cached(request.size, mode.unwrap_or(XE_DEFAULT))?, None)),
        Some(mode) if device.caps().contains(Caps::PAT_AT_CREATE) => {
            let index = pat_index(mode);
            let created = drm.create_with_pat(request.size, u32::from(index)).map_err(|error| {
                device.explain(Call::CreateWithPat, || format!("caching mode {mode}"), error)
            })?;
            Ok((created, Some(index)))
        }
        Some(_) | None => Ok((drm.create(request.size)?, None)),
    }
}

/// Sets the caching mode of a new object; returns the mode if the kernel had to be asked to change it.
fn set_up_caching(
    device: &SharedDevice,
    handle: Handle,
    mode: Option<CachingMode>,
) -> Result<Option<CachingMode>> {
    let drm = device.drm.as_ref();
    let level = |mode| mode_level(device.caps(), mode);
    let is_so = |mode| drm.caching(handle).is_ok_and(|now| level(now) == level(mode));
    let Some(mode) = mode.filter(|&mode| !is_so(mode)) else { return Ok(None) };
    drm.set_caching(handle, mode)
        .map_err(|error| device.explain(caching_call(mode), || format!("caching mode {mode}"), error))?;
    Ok(Some(mode))
}

/// Returns whether the zeroes of a new object's pages may stay dirty in the cache. `changed` is the caching
/// mode that was set after its creation.
pub(super) fn zeroes_stay(
    device: &SharedDevice,
    handle: Handle,
    creation: Creation,
    changed: Option<CachingMode>,
) -> bool {
    if device.is_xe() {
        return xe_zeroes_stay(device, handle);
    }
    let (caps, rules) = (device.caps(), &device.rules);
    let Ok(mut fresh) = Snapshot::created(caps, rules, creation) else { return true };
    let step = changed.map(|mode| kernel::step(caps, rules, fresh, Event::SetCaching(mode)));
    if let Some(Ok(step)) = step {
        fresh = step.next;
    }
    engine::zeroes(caps, rules, fresh, device.is_conservative()).is_needed()
}

/// Returns whether the zeroes of a new object of xe may stay dirty in the cache, and the display, which looks up no cache, may show what is below them.
///
/// Those of write-combining pages are flushed when the pages become so (`set_pages_array_wc`). The GPU snoops write-back ones, so that no submission
/// flushes these marks.
fn xe_zeroes_stay(device: &SharedDevice, handle: Handle) -> bool {
    let is_written_back = device.drm.caching(handle).is_ok_and(|mode| mode == CachingMode::Cached);
    let display = device.decisions.get(CacheLevel::Llc, Path::Display, Access::Read);
    is_written_back && display.refusal.is_none() && display.required.dirty.is_some()
}

/// Opens the BO behind a dma-buf.
pub(super) fn import(device: &Arc<Confined<SharedDevice>>, dma_buf: BorrowedFd<'_>) -> Result<Bo> {
    device.check()?;
    let _span = tracing::debug_span!("import").entered();
    let drm = device.drm.as_ref();
    // The registry runs both under its lock.
    let request = || drm.import(dma_buf).map(|created| (created.handle, created));
    let make = |created: Created, number| {
        let open = OpenHandle { drm, handle: Some(created.handle) };
        let level = level_of(device, created.handle, Creation::Import);
        // GET_CACHING fails only for an object whose PAT index was chosen at creation.
        let keeps_level = device.caps().contains(Caps::PAT_AT_CREATE) && drm.caching(created.handle).is_err();
        let new = New {
            created,
            level,
            origin: Origin::Imported,
            keeps_level,
            waited_by: WaitedBy::Library,
            readers: Readers::ALL,
        };
        let shared = SharedBo::new(device, number, new)?;
        // Do it before another thread can find the BO and submit it.
        if let Err(error) = shared.mark_imported_dirty() {
            shared.disown();
            return Err(error);
        }
        open.keep();
        Ok(Arc::new(Confined::new(shared)))
    };
    let bo = Bo::from_shared(device.registry.import(request, make)?);
    // The BO may have been open already; its dma-buf shows that it was exported, by this process or another.
    bo.never_reuse();
    tracing::debug!(handle = bo.handle().get(), bytes = bo.size(), level = %bo.level(), "import");
    Ok(bo)
}

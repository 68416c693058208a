//! Caching modes of the uAPI, and the levels of objects.

use gem_coherency_policy::Errno;
use gem_coherency_policy::xe::{self, Bind};

use super::reuse::{Key, class_bytes};
use super::{SharedBo, SharedDevice};
use crate::error::{Error, Result};
use crate::platform::{Call, Caps, mode_level};
use crate::policy::Path;
use crate::policy::kernel::{Creation, Snapshot};
use crate::policy::pending::PendingWork;
use crate::vocabulary::{Access, CacheLevel, CachingMode, Handle};

/// PAT indices of graphics version 12.70 (`mtl_pat_table`): 1 is write-through, 2 is uncached, 3 is cached
/// and snoops. Index 1 is not coherent with the CPU's caches.
const PAT_WRITE_THROUGH: u8 = 1;
const PAT_UNCACHED: u8 = 2;
const PAT_CACHED: u8 = 3;

/// Returns the PAT index that corresponds to a caching mode.
pub(crate) const fn pat_index(mode: CachingMode) -> u8 {
    match mode {
        CachingMode::None => PAT_UNCACHED,
        CachingMode::Cached => PAT_CACHED,
        CachingMode::Display => PAT_WRITE_THROUGH,
    }
}

/// The reason why a device of i915 has no mappings by PAT indices.
const NO_MAPPINGS: &str =
    "under i915 an object has a PAT index from its creation on, and none of its mappings";

/// The caching mode of objects of xe whose caller chooses none: the GPU snoops them on every device.
pub(crate) const XE_DEFAULT: CachingMode = CachingMode::Cached;

/// Returns the call that sets this caching mode.
pub(crate) const fn caching_call(mode: CachingMode) -> Call {
    match mode {
        CachingMode::Cached => Call::SetCachingCached,
        CachingMode::None | CachingMode::Display => Call::SetCaching,
    }
}

/// Returns the level that i915 gives to an object that is created in this way.
pub(crate) fn created_level(device: &SharedDevice, creation: Creation) -> CacheLevel {
    if device.is_conservative() {
        return CacheLevel::None;
    }
    Snapshot::created(device.caps(), &device.rules, creation).map_or(CacheLevel::None, |state| state.level)
}

/// Returns the level of an object: the one that the kernel reports, or the one of new objects of this kind.
///
/// GET_CACHING fails for an object whose PAT index another process chose; such an object is treated as
/// uncached.
pub(crate) fn level_of(device: &SharedDevice, handle: Handle, creation: Creation) -> CacheLevel {
    if device.is_conservative() {
        return CacheLevel::None;
    }
    match device.drm.caching(handle) {
        Ok(mode) => mode_level(device.caps(), mode),
        Err(_) if device.caps().contains(Caps::PAT_AT_CREATE) => CacheLevel::None,
        Err(_) => created_level(device, creation),
    }
}

/// Returns the level of an object of xe that is bound by `pat_index`.
///
/// # Errors
/// [`Error::NotAvailable`] on a device of i915, and with the check that VM_BIND would fail.
pub(crate) fn level_when_bound(
    device: &SharedDevice,
    object: &xe::Object,
    pat_index: u16,
) -> Result<CacheLevel> {
    let refused = |why, errno| Error::NotAvailable {
        what: format!("PAT index {pat_index} for this object"),
        platform: device.machine.platform.name,
        why,
        errno,
    };
    let rules = device.drm.xe().ok_or_else(|| refused(NO_MAPPINGS, Errno::ENODEV))?;
    let bind = rules.bind(&[Bind::map(object, 0, pat_index)], false);
    bind.map_err(|(_, refusal)| refused(refusal.rule.reason(), refusal.errno))?;
    rules.level(object, pat_index).map_err(|rule| refused(rule.reason(), Errno::EINVAL))
}

/// Returns the key of a new object for `request`; `None` if such objects are never kept.
pub(crate) fn reuse_key(device: &SharedDevice, size: u64, caching: Option<CachingMode>) -> Option<Key> {
    let bytes = class_bytes(size).filter(|&bytes| device.reuse.takes(bytes))?;
    if device.is_conservative() || device.memory_bytes.is_some_and(|memory| bytes > memory) {
        return None;
    }
    let refused = |call| device.machine.refusal(call).is_some();
    match caching {
        mode if device.is_xe() => {
            let mode = mode.unwrap_or(XE_DEFAULT);
            // The number only tells NONE from DISPLAY, which is created with SCANOUT.
            let pat = Some(pat_index(mode));
            Some(Key { bytes, level: mode_level(device.caps(), mode), pat })
        }
        Some(mode) if device.caps().contains(Caps::PAT_AT_CREATE) => {
            let pat = pat_index(mode);
            let level = created_level(device, Creation::UserWithPat(pat));
            (!refused(Call::CreateWithPat)).then_some(Key { bytes, level, pat: Some(pat) })
        }
        // Create a new object, so that the kernel refuses as usual.
        Some(mode) if refused(caching_call(mode)) => None,
        Some(mode) => Some(Key { bytes, level: mode_level(device.caps(), mode), pat: None }),
        None => Some(Key { bytes, level: created_level(device, Creation::User), pat: None }),
    }
}

/// Stores that leave no more pending than a mark of their lines.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PlainStores {
    /// The object's level.
    pub(crate) level: CacheLevel,
    /// They leave a mark.
    pub(crate) dirty: bool,
}

impl SharedBo {
    /// Asks the kernel for the level, if the display may have changed it.
    ///
    /// GET_CACHING fails with ENODEV on an unplugged device. That is no error: the level no longer matters,
    /// because nothing reads the memory.
    ///
    /// # Errors
    /// [`Error::Closed`]; GET_CACHING's. Then the level stays unconfirmed.
    #[inline]
    pub(crate) fn confirm_level(&self) -> Result<()> {
        if self.tracked.word().state().is_unconfirmed() { self.ask_for_level() } else { Ok(()) }
    }

    #[cold]
    fn ask_for_level(&self) -> Result<()> {
        let _request = self.begin_request()?;
        if self.device.is_xe() {
            // Raised while it was put on screen: the display forces no level.
            self.tracked.word().update(|state| state.confirm_level(state.level(), state.level()));
            return Ok(());
        }
        let level = match self.device.drm.caching(self.handle) {
            Err(error) if error.errno() == Errno::ENODEV => return Ok(()),
            mode => mode_level(self.device.caps(), mode?),
        };
        let state =
            self.tracked.word().update(|state| state.confirm_level(level, self.scanout_level())).after;
        tracing::debug!(handle = self.handle.get(), ?state, "level");
        Ok(())
    }

    /// Raises the level to that of a mapping of the caller's under xe, which may outlive the BO.
    ///
    /// # Errors
    /// [`Error::Closed`], [`Error::Purged`], [`Error::LevelChanging`].
    pub(crate) fn join_level(&self, level: CacheLevel) -> Result<()> {
        self.leave_wait_to_caller();
        let state = self.try_update(|state| state.raise_level(level))?.after;
        tracing::debug!(handle = self.handle.get(), ?state, "bound");
        Ok(())
    }

    /// Returns the work that a write by `path` leaves pending, at every level that the object may have.
    pub(crate) fn pending_after(&self, path: Path) -> PendingWork {
        let state = self.tracked.word().state();
        let pending = |level| self.device.decisions.get(level, path, Access::Write).pending;
        match state.is_unconfirmed() {
            false => pending(state.level()),
            // Another thread may put the object on screen before or after the write.
            true => pending(state.level()).with(pending(self.scanout_level())),
        }
    }

    /// Returns the stores by `path`, if they leave no more pending than a mark of their lines at the confirmed level.
    #[inline(always)]
    pub(crate) fn plain_stores(&self, path: Path) -> Option<PlainStores> {
        let state = self.tracked.word().state();
        let level = state.level();
        let pending = self.device.decisions.get(level, path, Access::Write).pending;
        let is_plain = pending == PendingWork { dirty: pending.dirty, ..PendingWork::default() };
        (is_plain && !state.is_unconfirmed()).then_some(PlainStores { level, dirty: pending.dirty })
    }

    /// Returns whether the level is fixed: neither SET_CACHING nor the display changes it.
    pub(crate) fn has_fixed_level(&self) -> bool {
        self.keeps_level || self.device.is_conservative() || self.device.caps().contains(Caps::DISCRETE)
    }

    /// Returns the level that the kernel forces on an object when it is shown.
    ///
    /// Source: `i915_gem_object_pin_to_display_plane`, `i915_gem_object_has_cache_level`.
    pub(crate) fn scanout_level(&self) -> CacheLevel {
        let caps = self.device.caps();
        if self.has_fixed_level() {
            self.level()
        } else if caps.contains(Caps::WT) {
            CacheLevel::Wt
        } else {
            CacheLevel::None
        }
    }
}

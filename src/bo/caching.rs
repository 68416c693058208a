//! Caching modes and levels of BOs.

use gem_coherency_rules::Errno;

use super::{Bo, Shared};
use crate::device;
use crate::engine;
use crate::error::Result;
use crate::platform::{Call, Caps, level_mode, mode_level};
use crate::policy::Path;
use crate::policy::kernel::Creation;
use crate::policy::pending::PendingWork;
use crate::vocabulary::{Access, CacheLevel, CachingMode, Handle};

/// Returns the level of an object: the one that the kernel reports, or the one of new objects of this kind.
///
/// GET_CACHING fails for an object whose PAT index another process chose; such an object is treated as
/// uncached.
pub(crate) fn level_of(device: &device::Shared, handle: Handle, creation: Creation) -> CacheLevel {
    if device.is_conservative() {
        return CacheLevel::None;
    }
    match device.drm.caching(handle) {
        Ok(mode) => mode_level(device.caps(), mode),
        Err(_) if device.caps().contains(Caps::PAT_AT_CREATE) => CacheLevel::None,
        Err(_) => device::created_level(device, creation),
    }
}

impl Shared {
    /// Asks the kernel for the level, if the display may have changed it.
    ///
    /// GET_CACHING fails with ENODEV on an unplugged device. That is no error: the level no longer matters,
    /// because nothing reads the memory.
    ///
    /// # Errors
    /// [`Error::Closed`]; GET_CACHING's. Then the level stays unconfirmed.
    ///
    /// [`Error::Closed`]: crate::Error::Closed
    pub(crate) fn confirm_level(&self) -> Result<()> {
        if !self.tracked.word().state().is_unconfirmed() {
            return Ok(());
        }
        let _request = self.begin_request()?;
        let level = match self.device.drm.caching(self.handle) {
            Err(error) if error.errno() == Errno::ENODEV => return Ok(()),
            mode => mode_level(self.device.caps(), mode?),
        };
        let state = self.tracked.word().confirm_level(level, self.scanout_level());
        tracing::debug!(handle = self.handle.get(), ?state, "level");
        Ok(())
    }

    /// Returns the work that a write by `path` leaves pending, at every level that the object may have.
    pub(super) fn pending_after(&self, path: Path) -> PendingWork {
        let state = self.tracked.word().state();
        let pending = |level| self.device.decisions.get(level, path, Access::Write).pending;
        match state.is_unconfirmed() {
            false => pending(state.level()),
            // Another thread may put the object on screen before or after the write.
            true => pending(state.level()).with(pending(self.scanout_level())),
        }
    }
}

impl Bo {
    /// Returns the caching mode, as the kernel reports it for the BO's level.
    pub fn caching(&self) -> CachingMode {
        level_mode(self.level())
    }

    /// Changes the caching mode.
    ///
    /// The kernel waits for the GPU. If memory was written around the CPU's caches before, the kernel first
    /// drops their lines (SET_DOMAIN).
    ///
    /// # Errors
    /// - [`crate::Error::OnScreen`]: the BO is on screen and its level would change; the kernel would block
    ///   the caller for ever;
    /// - [`crate::Error::InUse`] while guards or submissions are open;
    /// - [`crate::Error::NotAvailable`]: the platform refuses;
    /// - [`crate::Error::Closed`], [`crate::Error::Purged`], [`crate::Error::LevelChanging`]; those of
    ///   SET_DOMAIN and SET_CACHING.
    pub fn set_caching(&self, mode: CachingMode) -> Result<()> {
        self.check_process()?;
        let shared = self.shared();
        let device = &shared.device;
        let wanted = mode_level(device.caps(), mode);
        let word = shared.tracked.word();
        shared.confirm_level()?;
        let before = word.begin_level_change(wanted).map_err(|blocked| blocked.error(shared.handle))?.level();
        let call = match mode {
            CachingMode::Cached => Call::SetCachingCached,
            CachingMode::None | CachingMode::Display => Call::SetCaching,
        };
        let changes = before != wanted || device.is_conservative();
        let change = || {
            engine::leave_level_of::<Shared>(shared, changes && device.machine.refusal(call).is_none())?;
            let changed = device.drm.set_caching(shared.handle, mode);
            changed.map_err(|error| device.explain(call, || format!("caching mode {mode}"), error))
        };
        let changed = change();
        // Ask even after an error: the kernel changes the level before the last step that can fail.
        match device.drm.caching(shared.handle) {
            Ok(mode) if !device.is_conservative() => word.end_level_change(mode_level(device.caps(), mode)),
            // Neither SET_CACHING nor the display changes this level, or the device is unknown and the level
            // is NONE.
            Ok(_) | Err(_) if shared.has_fixed_level() => word.end_level_change(before),
            Ok(_) | Err(_) => word.end_level_change_unconfirmed(),
        }
        tracing::debug!(handle = shared.handle.get(), %mode, level = %shared.level(), ok = changed.is_ok(), "set caching");
        changed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn display_is_wt_where_there_is_one_and_none_elsewhere() {
        let levels = |caps| {
            [CachingMode::None, CachingMode::Cached, CachingMode::Display].map(|mode| mode_level(caps, mode))
        };
        assert_eq!(levels(Caps::LLC), [CacheLevel::None, CacheLevel::Llc, CacheLevel::None]);
        assert_eq!(levels(Caps::LLC | Caps::WT), [CacheLevel::None, CacheLevel::Llc, CacheLevel::Wt]);
        for &mode in CachingMode::ALL {
            assert_eq!(level_mode(mode_level(Caps::LLC | Caps::WT, mode)), mode);
        }
    }
}

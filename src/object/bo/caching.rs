//! Caching modes and levels of BOs.

use super::Bo;
use crate::engine;
use crate::error::Result;
use crate::object::shared::{SharedBo, caching_call};
use crate::platform::{level_mode, mode_level};
use crate::vocabulary::CachingMode;

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
        let requested = mode_level(device.caps(), mode);
        shared.confirm_level()?;
        let before =
            shared.try_update_unsubmitted(|state| state.begin_level_change(requested))?.before.level();
        let call = caching_call(mode);
        let changes = before != requested || device.is_conservative();
        let change = || {
            engine::leave_level_of::<SharedBo>(shared, changes && device.machine.refusal(call).is_none())?;
            let changed = device.drm.set_caching(shared.handle, mode);
            changed.map_err(|error| device.explain(call, || format!("caching mode {mode}"), error))
        };
        let changed = change();
        // Ask even after an error: the kernel changes the level before the last step that can fail.
        let level = match device.drm.caching(shared.handle) {
            Ok(mode) if !device.is_conservative() => Some(mode_level(device.caps(), mode)),
            // Neither SET_CACHING nor the display changes this level, or the device is unknown and the level
            // is NONE.
            Ok(_) | Err(_) if shared.has_fixed_level() => Some(before),
            Ok(_) | Err(_) => None,
        };
        shared.tracked.word().update(|state| match level {
            Some(level) => state.end_level_change(level),
            None => state.end_level_change_unconfirmed(),
        });
        tracing::debug!(handle = shared.handle.get(), %mode, level = %shared.level(), ok = changed.is_ok(), "set caching");
        changed
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::platform::Caps;
    use crate::vocabulary::CacheLevel;

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

//! Caching modes and levels of BOs.

use super::Bo;
use crate::engine;
use crate::error::Result;
use crate::object::shared::{SharedBo, caching_call, level_when_bound};
use crate::platform::{level_mode, mode_level};
use crate::vocabulary::CachingMode;
use gem_coherency_policy::xe;

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
            Ok(mode) if !device.is_conservative() && !device.is_xe() => Some(mode_level(device.caps(), mode)),
            // Neither SET_CACHING nor the display changes this level, or the device is unknown and the level
            // is NONE. Under xe it follows from the mappings, too.
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

    /// Reports that the caller binds the object by `pat_index` under xe, in an address space of its own. Call it before a batch uses the mapping, for each
    /// index once. It does not have to be called for the indices of [`crate::device::AdoptRequest::bound`].
    ///
    /// The level becomes that of the most cached mapping ([`xe::Device::level`]), and stays when a mapping ends: what any of the mappings requires is
    /// done for all. The object is not reused.
    ///
    /// # Errors
    /// [`crate::Error::NotAvailable`] on a device of i915, and with the check that VM_BIND would fail for all of the object; [`crate::Error::Closed`],
    /// [`crate::Error::Purged`]; [`crate::Error::LevelChanging`] during a [`Bo::set_caching`].
    pub fn bound_by(&self, pat_index: u16) -> Result<()> {
        self.check_open()?;
        let shared = self.shared();
        // One that i915 drives has no object that is known; the index is refused.
        let object = shared.device.drm.known(shared.handle).unwrap_or(xe::Object::imported(shared.size));
        shared.join_level(level_when_bound(&shared.device, &object, pat_index)?)
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

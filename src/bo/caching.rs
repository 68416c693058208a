//! Caching modes and levels: what was asked for, and what the kernel made of it.

use gem_coherency_rules::Errno;

use super::{Bo, Shared};
use crate::device;
use crate::engine;
use crate::error::Result;
use crate::platform::{Call, Caps, level_mode, mode_level};
use crate::policy::Path;
use crate::policy::kernel::Creation;
use crate::policy::pending::Notes;
use crate::vocabulary::{Access, CacheLevel, CachingMode, Handle};

/// The level of an object: what the kernel says, or what it gives to objects that come to be so.
///
/// An object whose PAT index another process chose does not say; then it is taken to be uncached.
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
    /// An unplugged device answers ENODEV; nothing reads its memory any longer, so the level no longer matters.
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

    /// What to note of a write by `path`, at whichever level it happens.
    pub(super) fn notes(&self, path: Path) -> Notes {
        let state = self.tracked.word().state();
        let notes = |level| self.device.answers.get(level, path, Access::Write).notes;
        match state.is_unconfirmed() {
            false => notes(state.level()),
            // A show on another thread may come before or after the write.
            true => notes(state.level()).with(notes(self.scanout_level())),
        }
    }
}

impl Bo {
    /// The caching mode, as the kernel reports it for the BO's level.
    pub fn caching(&self) -> CachingMode {
        level_mode(self.level())
    }

    /// Changes the caching mode.
    ///
    /// Waits for the GPU, in the kernel. If memory was written behind the CPU's caches before, the kernel drops their
    /// lines first (SET_DOMAIN).
    ///
    /// # Errors
    /// - [`crate::Error::OnScreen`]: the BO is on screen and its level would change, which would hang
    ///   the caller in the kernel;
    /// - [`crate::Error::InUse`] while guards are open or submissions under way;
    /// - [`crate::Error::NotAvailable`]: the platform refuses;
    /// - [`crate::Error::Closed`], [`crate::Error::Purged`], [`crate::Error::LevelChanging`]; what
    ///   SET_DOMAIN and SET_CACHING answer.
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
        // After an error, too: the kernel changes the level before the last thing that can fail.
        match device.drm.caching(shared.handle) {
            Ok(mode) if !device.is_conservative() => word.end_level_change(mode_level(device.caps(), mode)),
            // Nothing changes the level there, or it is taken at its worst in any case.
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

//! SET_CACHING and GET_CACHING.

use gem_coherency::Errno;

use crate::SimDevice;
use crate::kernel::injected_faults::Needs;
use crate::requests::entry::{Entry, entries};
use crate::requests::{Caller, refuse};
use crate::sync::progress::Patience;
use gem_coherency::error::Result;
use gem_coherency::platform::Call;
use gem_coherency::policy::kernel::Event;
use gem_coherency::vocabulary::{CacheLevel, CachingMode};
use gem_coherency_uapi::i915::{
    DRM_IOCTL_I915_GEM_GET_CACHING, DRM_IOCTL_I915_GEM_SET_CACHING, I915_CACHING_CACHED,
    I915_CACHING_DISPLAY, I915_CACHING_NONE, drm_i915_gem_caching,
};

pub(in crate::requests) static ENTRIES: &[Entry] = entries! {
    DRM_IOCTL_I915_GEM_SET_CACHING, Everyone => set_caching;
    DRM_IOCTL_I915_GEM_GET_CACHING, Everyone => get_caching;
};

/// `i915_gem_set_caching_ioctl`.
pub(in crate::requests) fn set_caching(
    caller: &mut Caller<'_>,
    args: &mut drm_i915_gem_caching,
) -> Result<()> {
    caller.device.set_caching_ioctl(args.handle, args.caching, caller.patience)
}

/// `i915_gem_get_caching_ioctl`.
pub(super) fn get_caching(caller: &mut Caller<'_>, args: &mut drm_i915_gem_caching) -> Result<()> {
    args.caching = number(caller.device.get_caching_ioctl(args.handle)?);
    Ok(())
}

/// Returns the uAPI's number of a mode.
pub(crate) fn number(mode: CachingMode) -> u32 {
    match mode {
        CachingMode::None => I915_CACHING_NONE,
        CachingMode::Cached => I915_CACHING_CACHED,
        CachingMode::Display => I915_CACHING_DISPLAY,
    }
}

impl SimDevice {
    /// Sets an object's cache level.
    pub(crate) fn set_caching_ioctl(&self, handle: u32, caching: u32, patience: &Patience) -> Result<()> {
        let request = DRM_IOCTL_I915_GEM_SET_CACHING.name;
        self.system.enter(request, Needs::Nothing)?;
        self.check(request, Call::SetCaching)?;
        let Some(&mode) = CachingMode::ALL.iter().find(|&&mode| number(mode) == caching) else {
            return refuse(request, Errno::EINVAL);
        };
        if mode == CachingMode::Cached {
            self.check(request, Call::SetCachingCached)?;
        }
        self.event(request, handle, Event::SetCaching(mode), patience)
    }

    /// Returns the mode as which an object's level reads back.
    pub(crate) fn get_caching_ioctl(&self, handle: u32) -> Result<CachingMode> {
        let request = DRM_IOCTL_I915_GEM_GET_CACHING.name;
        self.system.enter(request, Needs::Nothing)?;
        self.check(request, Call::GetCaching)?;
        let snapshot = self.find(request, handle)?.state().snapshot;
        if snapshot.user_pat.is_some() {
            return refuse(request, Errno::EOPNOTSUPP);
        }
        Ok(match snapshot.level {
            CacheLevel::None => CachingMode::None,
            CacheLevel::Llc | CacheLevel::L3Llc => CachingMode::Cached,
            CacheLevel::Wt => CachingMode::Display,
        })
    }
}

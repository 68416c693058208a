//! BUSY, WAIT and THROTTLE.

use std::time::{Duration, Instant};

use gem_coherency::Errno;

use super::table::{Entry, entries};
use super::{Caller, refuse};
use crate::Soft;
use crate::machine::faults::Needs;
use gem_coherency::error::Result;
use gem_coherency::uapi::i915::{
    DRM_IOCTL_I915_GEM_BUSY, DRM_IOCTL_I915_GEM_WAIT, drm_i915_gem_busy, drm_i915_gem_wait,
};
use gem_coherency::uapi::i915_exec::DRM_IOCTL_I915_GEM_THROTTLE;

pub(super) static ENTRIES: &[Entry] = entries! {
    DRM_IOCTL_I915_GEM_BUSY, Everyone => busy;
    DRM_IOCTL_I915_GEM_WAIT, Everyone => wait;
    DRM_IOCTL_I915_GEM_THROTTLE, Everyone => throttle;
};

/// `i915_gem_busy_ioctl`.
fn busy(caller: &mut Caller<'_>, args: &mut drm_i915_gem_busy) -> Result<()> {
    args.busy = caller.device.busy_ioctl(args.handle)?;
    Ok(())
}

/// `i915_gem_wait_ioctl`.
fn wait(caller: &mut Caller<'_>, args: &mut drm_i915_gem_wait) -> Result<()> {
    caller.device.wait_ioctl(args)
}

/// `i915_gem_throttle_ioctl`: the simulated GPU never lags behind, so there is nothing to wait for.
fn throttle(caller: &mut Caller<'_>, (): &mut ()) -> Result<()> {
    let request = DRM_IOCTL_I915_GEM_THROTTLE.name;
    let system = &caller.device.system;
    system.enter(request, Needs::Nothing)?;
    if system.faults.is_wedged() { refuse(request, Errno::EIO) } else { Ok(()) }
}

impl Soft {
    /// Returns which engines use the object.
    pub(crate) fn busy_ioctl(&self, handle: u32) -> Result<u32> {
        let request = DRM_IOCTL_I915_GEM_BUSY.name;
        self.system.enter(request, Needs::Nothing)?;
        let used = self.find(request, handle)?.state().used;
        Ok(self.system.gpu.busy(used))
    }

    /// Waits for the object. Writes back the remaining time, also after a timeout; without a wait it stays
    /// unchanged.
    pub(crate) fn wait_ioctl(&self, args: &mut drm_i915_gem_wait) -> Result<()> {
        let request = DRM_IOCTL_I915_GEM_WAIT.name;
        self.system.enter(request, Needs::Nothing)?;
        if args.flags != 0 {
            return refuse(request, Errno::EINVAL);
        }
        let used = self.find(request, args.bo_handle)?.state().used;
        if self.system.gpu.busy(used) == 0 {
            return Ok(());
        }
        let timeout = u64::try_from(args.timeout_ns).ok().map(Duration::from_nanos);
        let start = Instant::now();
        let idle = self.system.gpu.wait(used, timeout);
        if args.timeout_ns > 0 {
            let waited = i64::try_from(start.elapsed().as_nanos()).unwrap_or(i64::MAX);
            args.timeout_ns = if idle { (args.timeout_ns - waited).max(0) } else { 0 };
        }
        if idle { Ok(()) } else { refuse(request, Errno::ETIME) }
    }
}

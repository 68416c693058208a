//! BUSY, WAIT and THROTTLE.

use std::time::Duration;

use gem_coherency::Errno;

use crate::SimDevice;
use crate::kernel::injected_faults::Needs;
use crate::requests::entry::{Entry, entries};
use crate::requests::{Caller, refuse};
use crate::sync::progress::Patience;
use gem_coherency::error::Result;
use gem_coherency::vocabulary::Access;
use gem_coherency_uapi::i915::{
    DRM_IOCTL_I915_GEM_BUSY, DRM_IOCTL_I915_GEM_WAIT, drm_i915_gem_busy, drm_i915_gem_wait,
};
use gem_coherency_uapi::i915_exec::DRM_IOCTL_I915_GEM_THROTTLE;

pub(in crate::requests) static ENTRIES: &[Entry] = entries! {
    DRM_IOCTL_I915_GEM_BUSY, Everyone => busy;
    DRM_IOCTL_I915_GEM_WAIT, Everyone => wait;
    DRM_IOCTL_I915_GEM_THROTTLE, Everyone => throttle;
};

/// The time by which a file may be ahead of the GPU (`DRM_I915_THROTTLE_JIFFIES`).
const THROTTLE: Duration = Duration::from_millis(20);

/// `i915_gem_busy_ioctl`.
fn busy(caller: &mut Caller<'_>, args: &mut drm_i915_gem_busy) -> Result<()> {
    args.busy = caller.device.busy_ioctl(args.handle)?;
    Ok(())
}

/// `i915_gem_wait_ioctl`.
fn wait(caller: &mut Caller<'_>, args: &mut drm_i915_gem_wait) -> Result<()> {
    caller.device.wait_ioctl(args, caller.patience)
}

/// `i915_gem_throttle_ioctl`: waits for the file's submissions that are older than 20 ms.
fn throttle(caller: &mut Caller<'_>, (): &mut ()) -> Result<()> {
    let request = DRM_IOCTL_I915_GEM_THROTTLE.name;
    let Caller { device, patience, .. } = caller;
    let system = &device.system;
    system.enter(request, Needs::Nothing)?;
    if system.injected_faults.is_wedged() {
        return refuse(request, Errno::EIO);
    }
    let Some(time) = patience.since().checked_sub(THROTTLE) else { return Ok(()) };
    patience.wait(request, None, || !device.gpu.has_older(&device.hangs, time)).map(drop)
}

impl SimDevice {
    /// Returns which engines use the object.
    pub(crate) fn busy_ioctl(&self, handle: u32) -> Result<u32> {
        let request = DRM_IOCTL_I915_GEM_BUSY.name;
        self.system.enter(request, Needs::Nothing)?;
        let object = self.find(request, handle)?;
        self.gpu.look();
        Ok(object.state().used.busy())
    }

    /// Waits for the object. Writes back the remaining time, also after a timeout; a request that
    /// need not block leaves it unchanged.
    pub(crate) fn wait_ioctl(&self, args: &mut drm_i915_gem_wait, patience: &Patience) -> Result<()> {
        let request = DRM_IOCTL_I915_GEM_WAIT.name;
        self.system.enter(request, Needs::Nothing)?;
        if args.flags != 0 {
            return refuse(request, Errno::EINVAL);
        }
        let object = self.find(request, args.bo_handle)?;
        self.gpu.look();
        let since = patience.since();
        if matches!(patience, Patience::Blocks) && object.is_idle(Access::Write) {
            object.state().unwaited.waited(Access::Write);
            return Ok(());
        }
        let timeout = u64::try_from(args.timeout_ns).ok().map(Duration::from_nanos);
        let until = timeout.and_then(|timeout| since.checked_add(timeout));
        let is_idle = patience.wait(request, until, || object.is_idle(Access::Write))?;
        if args.timeout_ns > 0 {
            let waited = i64::try_from(since.elapsed().as_nanos()).unwrap_or(i64::MAX);
            args.timeout_ns = if is_idle { (args.timeout_ns - waited).max(0) } else { 0 };
        }
        if !is_idle {
            return refuse(request, Errno::ETIME);
        }
        object.state().unwaited.waited(Access::Write);
        Ok(())
    }
}

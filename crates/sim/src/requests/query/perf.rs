//! PERF_OPEN, PERF_ADD_CONFIG and PERF_REMOVE_CONFIG: refused as for a process without permission.
//!
//! The counters count nothing here, so programs must not open them. The kernel says the same to a process without
//! `CAP_PERFMON` while `dev.i915.perf_stream_paranoid` is 1, its default.

use gem_coherency::Errno;

use super::items::has_counters;
use crate::display::masters::Allowed::Everyone;
use crate::kernel::injected_faults::Needs;
use crate::requests::entry::{Entry, entries};
use crate::requests::{Caller, refuse};
use gem_coherency::error::Result;
use gem_coherency_uapi::i915_query::{
    DRM_IOCTL_I915_PERF_OPEN, DRM_IOCTL_I915_PERF_REMOVE_CONFIG, I915_PERF_FLAG_DISABLED,
    I915_PERF_FLAG_FD_CLOEXEC, I915_PERF_FLAG_FD_NONBLOCK, drm_i915_perf_open_param,
};

pub(in crate::requests) static ENTRIES: &[Entry] = entries! {
    DRM_IOCTL_I915_PERF_OPEN, Everyone => open;
    DRM_IOCTL_I915_PERF_REMOVE_CONFIG, Everyone => remove_config;
};

/// The name of PERF_ADD_CONFIG.
const ADD_CONFIG: &str = "DRM_IOCTL_I915_PERF_ADD_CONFIG";

/// PERF_ADD_CONFIG, with `struct drm_i915_perf_oa_config` of 72 bytes, which is not read.
pub(in crate::requests) static ADD: &[Entry] =
    &[Entry { code: 0x4048_6477, allowed: Everyone, run: |caller, _| refused(caller, ADD_CONFIG) }];

/// One more than the largest property (`DRM_I915_PERF_PROP_MAX`).
const PROPERTIES: u64 = 11;
/// Where the driver has no counters: the kernel's own number, which programs see (`ENOTSUPP`).
const NO_COUNTERS: Errno = Errno::new(524);

/// `i915_perf_open_ioctl`.
fn open(caller: &mut Caller<'_>, args: &mut drm_i915_perf_open_param) -> Result<()> {
    let request = DRM_IOCTL_I915_PERF_OPEN.name;
    caller.device.system.enter(request, Needs::Nothing)?;
    if !has_counters(caller.device.system.machine) {
        return refuse(request, NO_COUNTERS);
    }
    let known = I915_PERF_FLAG_FD_CLOEXEC | I915_PERF_FLAG_FD_NONBLOCK | I915_PERF_FLAG_DISABLED;
    if args.flags & !known != 0 {
        return refuse(request, Errno::EINVAL);
    }
    let count = u64::from(args.num_properties);
    if count == 0 || count >= PROPERTIES {
        return refuse(request, Errno::EINVAL);
    }
    for number in 0..count {
        let at = args.properties_ptr.wrapping_add(16 * number);
        let id: u64 = caller.get(request, at)?;
        let _value: u64 = caller.get(request, at.wrapping_add(8))?;
        if id == 0 || id >= PROPERTIES {
            return refuse(request, Errno::EINVAL);
        }
    }
    refuse(request, Errno::EACCES)
}

/// `i915_perf_remove_config_ioctl`.
fn remove_config(caller: &mut Caller<'_>, _: &mut u64) -> Result<()> {
    refused(caller, DRM_IOCTL_I915_PERF_REMOVE_CONFIG.name)
}

/// Refuses a change of configurations.
fn refused(caller: &Caller<'_>, request: &'static str) -> Result<()> {
    let system = &caller.device.system;
    system.enter(request, Needs::Nothing)?;
    refuse(request, if has_counters(system.machine) { Errno::EACCES } else { NO_COUNTERS })
}

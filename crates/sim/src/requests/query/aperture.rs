//! GEM_GET_APERTURE and REG_READ.
//!
//! The amount of global GTT in use and the register's value cannot be compared with another device's.

use gem_coherency::Errno;

use crate::kernel::injected_faults::Needs;
use crate::requests::entry::{Entry, entries};
use crate::requests::{Caller, refuse};
use gem_coherency::error::Result;
use gem_coherency_uapi::i915_facts::{
    DRM_IOCTL_I915_GEM_GET_APERTURE, DRM_IOCTL_I915_REG_READ, I915_REG_READ_8B_WA, drm_i915_gem_get_aperture,
    drm_i915_reg_read,
};

pub(in crate::requests) static ENTRIES: &[Entry] = entries! {
    DRM_IOCTL_I915_GEM_GET_APERTURE, Everyone => get_aperture;
    DRM_IOCTL_I915_REG_READ, Everyone => reg_read;
};

/// Bytes of the global GTT that the kernel reserves for rings, contexts and scratch pages.
const PINNED_BYTES: u64 = 1 << 20;
/// The only readable register, RING_TIMESTAMP(RENDER_RING_BASE), and its size.
const TIMESTAMP: (u64, u64) = (0x2358, 8);

/// `i915_gem_get_aperture_ioctl`.
fn get_aperture(caller: &mut Caller<'_>, args: &mut drm_i915_gem_get_aperture) -> Result<()> {
    let system = &caller.device.system;
    system.enter(DRM_IOCTL_I915_GEM_GET_APERTURE.name, Needs::Nothing)?;
    args.aper_size = system.machine.global_gtt_bytes();
    args.aper_available_size = args.aper_size - PINNED_BYTES;
    Ok(())
}

/// `i915_reg_read_ioctl`.
fn reg_read(caller: &mut Caller<'_>, args: &mut drm_i915_reg_read) -> Result<()> {
    let request = DRM_IOCTL_I915_REG_READ.name;
    let system = &caller.device.system;
    system.enter(request, Needs::Nothing)?;
    let (register, size) = TIMESTAMP;
    let flags = args.offset & (size - 1);
    let known = system.machine.platform.graphics.major >= 4 && args.offset & !(size - 1) == register;
    if !known || flags & !I915_REG_READ_8B_WA != 0 {
        return refuse(request, Errno::EINVAL);
    }
    args.val = system.hardware.timestamp();
    Ok(())
}

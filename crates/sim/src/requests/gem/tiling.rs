//! SET_TILING and GET_TILING.
//!
//! Tiling configures the aperture's fence registers; it changes neither an object's level nor its domains,
//! and flushes nothing. The aperture then shows the object's bytes in linear order, but raw pointers show them as they are.

use gem_coherency::Errno;

use crate::kernel::injected_faults::Needs;
use crate::kernel::objects::state::Changes;
use crate::memory::tiling::Tiling;
use crate::requests::entry::{Entry, entries};
use crate::requests::{Caller, refuse};
use gem_coherency::error::Result;
use gem_coherency::platform::{Call, Machine};
use gem_coherency_uapi::i915::{
    DRM_IOCTL_I915_GEM_GET_TILING, DRM_IOCTL_I915_GEM_SET_TILING, I915_BIT_6_SWIZZLE_UNKNOWN,
    I915_TILING_LAST, I915_TILING_NONE, I915_TILING_Y, drm_i915_gem_get_tiling, drm_i915_gem_set_tiling,
};

pub(in crate::requests) static ENTRIES: &[Entry] = entries! {
    DRM_IOCTL_I915_GEM_SET_TILING, Everyone => set_tiling;
    DRM_IOCTL_I915_GEM_GET_TILING, Everyone => get_tiling;
};

/// The largest pitch of a fence register from gen7 on, in units of 128 bytes (`GEN7_FENCE_MAX_PITCH_VAL`).
const GEN7_MAX_PITCH: u32 = 0x800;
/// The same for gen4 to gen6 (`I965_FENCE_MAX_PITCH_VAL`).
const GEN4_MAX_PITCH: u32 = 0x400;
/// The largest pitch before gen4, in bytes.
const GEN2_MAX_STRIDE: u32 = 8192;

/// `i915_gem_set_tiling_ioctl`.
fn set_tiling(caller: &mut Caller<'_>, args: &mut drm_i915_gem_set_tiling) -> Result<()> {
    let request = DRM_IOCTL_I915_GEM_SET_TILING.name;
    let device = caller.device;
    let machine = device.system.machine;
    device.system.enter(request, Needs::Nothing)?;
    device.check(request, Call::Tiling)?;
    let object = device.find(request, args.handle)?;
    if object.is_proxy() {
        return refuse(request, Errno::ENXIO);
    }
    let mut state = object.state();
    if !fits(machine, args.tiling_mode, args.stride) {
        return refuse(request, Errno::EINVAL);
    }
    let stride = if args.tiling_mode == I915_TILING_NONE { 0 } else { args.stride };
    let tiling = Tiling { mode: args.tiling_mode, stride };
    args.swizzle_mode = tiling.swizzle(machine);
    let busy = tiling != state.tiling && state.snapshot.framebuffer;
    if !busy && tiling != state.tiling {
        object.absorb_view()?;
        state.tiling = tiling;
        Changes::happened();
    }
    (args.tiling_mode, args.stride) = (state.tiling.mode, state.tiling.stride);
    if busy { refuse(request, Errno::EBUSY) } else { Ok(()) }
}

/// `i915_gem_get_tiling_ioctl`.
fn get_tiling(caller: &mut Caller<'_>, args: &mut drm_i915_gem_get_tiling) -> Result<()> {
    let request = DRM_IOCTL_I915_GEM_GET_TILING.name;
    let device = caller.device;
    let machine = device.system.machine;
    device.system.enter(request, Needs::Nothing)?;
    device.check(request, Call::Tiling)?;
    let tiling = device.find(request, args.handle)?.state().tiling;
    args.tiling_mode = tiling.mode;
    args.swizzle_mode = tiling.swizzle(machine);
    args.phys_swizzle_mode =
        if machine.swizzle().unknown { I915_BIT_6_SWIZZLE_UNKNOWN } else { args.swizzle_mode };
    Ok(())
}

/// Returns whether a fence register supports this mode and stride (`i915_tiling_ok`).
fn fits(machine: Machine, mode: u32, stride: u32) -> bool {
    if mode == I915_TILING_NONE {
        return true;
    }
    let small_enough = match machine.platform.graphics.major {
        7.. => stride / 128 <= GEN7_MAX_PITCH,
        4..=6 => stride / 128 <= GEN4_MAX_PITCH,
        ..=3 => stride <= GEN2_MAX_STRIDE && stride.is_power_of_two(),
    };
    let tile_width = if machine.has_narrow_tiles(mode == I915_TILING_Y) { 128 } else { 512 };
    mode <= I915_TILING_LAST && small_enough && stride != 0 && stride.is_multiple_of(tile_width)
}

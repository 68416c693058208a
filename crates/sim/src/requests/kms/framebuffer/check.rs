//! Checks whether an object can be a framebuffer of the requested layout.

use std::sync::Arc;

use gem_coherency::Errno;

use super::picture::Picture;
use crate::SimDevice;
use crate::display::framebuffers::Framebuffer;
use crate::kernel::objects::object::Object;
use gem_coherency::platform::{Format, Modifier, Tiles};
use gem_coherency::policy::kernel::Backing;
use gem_coherency::xe::{self, CreateFlags};
use gem_coherency_uapi::drm_display::{
    DRM_IOCTL_MODE_ADDFB2, DRM_MODE_FB_INTERLACED, DRM_MODE_FB_MODIFIERS, drm_mode_fb_cmd2,
};
use gem_coherency_uapi::drm_fourcc::I915_FORMAT_MOD_X_TILED;
use gem_coherency_uapi::i915::{I915_TILING_NONE, I915_TILING_X, I915_TILING_Y};

/// Returns the requested format, after the driver-independent checks (`drm_internal_framebuffer_create`).
///
/// # Errors
/// EINVAL; ERANGE for more than 4 GiB.
pub(super) fn format(device: &SimDevice, args: &drm_mode_fb_cmd2) -> Result<Format, Errno> {
    let machine = device.system.machine;
    let most = machine.largest_framebuffer();
    if args.flags & !(DRM_MODE_FB_INTERLACED | DRM_MODE_FB_MODIFIERS) != 0
        || args.width > most
        || args.height > most
    {
        return Err(Errno::EINVAL);
    }
    let format = Format::find(args.pixel_format, machine.kernel).ok_or(Errno::EINVAL)?;
    if args.width == 0 || args.height == 0 {
        return Err(Errno::EINVAL);
    }
    let format = format.with_modifier(Modifier::find(args.modifier[0], machine.kernel), machine.kernel);
    for index in 0..4 {
        plane(&format, args, index)?;
    }
    Ok(format)
}

/// Checks one plane (`framebuffer_check`).
fn plane(format: &Format, args: &drm_mode_fb_cmd2, index: usize) -> Result<(), Errno> {
    let (handle, pitch, offset) = (args.handles[index], args.pitches[index], args.offsets[index]);
    let (modifier, said) = (args.modifier[index], args.flags & DRM_MODE_FB_MODIFIERS != 0);
    let Some(plane) = format.layout.planes.get(index) else {
        // Clients that know no modifiers may leave garbage in these fields.
        let used = modifier != 0 || (said && (handle, pitch, offset) != (0, 0, 0));
        return if used { Err(Errno::EINVAL) } else { Ok(()) };
    };
    let (width, height) = format.plane_size(index, args.width, args.height);
    if (plane.bytes == 0 && modifier == 0) || handle == 0 {
        return Err(Errno::EINVAL);
    }
    let least = plane.pitch(width);
    let end = u64::from(height) * u64::from(pitch) + u64::from(offset);
    if least > u64::from(u32::MAX) || end > u64::from(u32::MAX) {
        return Err(Errno::ERANGE);
    }
    let short = plane.bytes != 0 && u64::from(pitch) < least;
    let other = if said { modifier != args.modifier[0] } else { modifier != 0 };
    if short || other { Err(Errno::EINVAL) } else { Ok(()) }
}

/// Returns the framebuffer if the display can read it (`intel_framebuffer_init`).
///
/// # Errors
/// EINVAL; EREMOTE for an object that cannot be in local memory, on a device with local memory; ERANGE for
/// more than 4 GiB in whole tiles.
pub(super) fn framebuffer(
    device: &SimDevice,
    object: Arc<Object>,
    format: Format,
    args: &drm_mode_fb_cmd2,
) -> Result<Framebuffer, Errno> {
    let machine = device.system.machine;
    if machine.platform.local_page_bytes.is_some() && !is_local(&object) {
        return Err(Errno::EREMOTE);
    }
    if is_bound_unshown(&object) {
        let refusal = xe::Refusal { errno: Errno::EINVAL, rule: xe::Rule::BoundNotShown };
        return Err(device.refused(DRM_IOCTL_MODE_ADDFB2.name, refusal, Some(&object), object.size()));
    }
    let tiling = object.state().tiling;
    let code = match (args.flags & DRM_MODE_FB_MODIFIERS != 0, tiling.mode()) {
        (true, _) | (false, I915_TILING_NONE) => args.modifier[0],
        (false, I915_TILING_X) => I915_FORMAT_MOD_X_TILED,
        (false, _) => return Err(Errno::EINVAL),
    };
    let modifier = Modifier::find(code, machine.kernel).ok_or(Errno::EINVAL)?;
    let fence = fence_of(modifier);
    let old = machine.platform.display_version() < 4;
    if (old || tiling.is_tiled()) && tiling.mode() != fence {
        return Err(Errno::EINVAL);
    }
    if tiling.is_tiled() && tiling.stride() != args.pitches[0] {
        return Err(Errno::EINVAL);
    }
    if !machine.shows(format.code, modifier) {
        return Err(Errno::EINVAL);
    }
    let picture = Picture {
        machine,
        format,
        modifier,
        size: (args.width, args.height),
        pitches: args.pitches,
        offsets: args.offsets,
    };
    if args.pitches[0] > picture.most_stride() || args.offsets[0] != 0 {
        return Err(Errno::EINVAL);
    }
    for plane in 0..format.layout.planes.len() {
        if args.handles[plane] != args.handles[0] || !picture.has_good_pitch(plane) {
            return Err(Errno::EINVAL);
        }
    }
    if picture.bytes()? > object.size() {
        return Err(Errno::EINVAL);
    }
    let Picture { size: (width, height), pitches, offsets, .. } = picture;
    Ok(Framebuffer { object, width, height, format, modifier: code, pitches, offsets })
}

/// Returns whether xe refuses the object because it was created without SCANOUT and is bound: its caching cannot change then
/// (`xe_display_bo_framebuffer_init`). A framebuffer counts as created with it.
fn is_bound_unshown(object: &Object) -> bool {
    let Some(of_xe) = &object.xe else { return false };
    let is_shown = of_xe.created.flags.contains(CreateFlags::SCANOUT) || object.state().snapshot.framebuffer;
    !is_shown && of_xe.is_bound()
}

/// Returns whether the object is in local memory or may be moved there (`i915_gem_object_can_migrate`, `xe_bo_can_migrate`).
fn is_local(object: &Object) -> bool {
    if object.xe.is_some() {
        return object.may_be_local();
    }
    match object.state().snapshot.backing {
        Backing::Local => true,
        Backing::LocalSystem
        | Backing::Shmem
        | Backing::Userptr
        | Backing::Import
        | Backing::Stolen
        | Backing::Internal
        | Backing::Phys => false,
    }
}

/// Returns the tiling of a fence register that matches the modifier (`intel_fb_modifier_to_tiling`).
fn fence_of(modifier: &Modifier) -> u32 {
    // Also for compressed modifiers.
    match modifier.tiles {
        Tiles::X => I915_TILING_X,
        Tiles::Y => I915_TILING_Y,
        Tiles::Linear | Tiles::Yf | Tiles::Four => I915_TILING_NONE,
    }
}

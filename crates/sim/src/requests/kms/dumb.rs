//! CREATE_DUMB, MAP_DUMB and DESTROY_DUMB.

use gem_coherency::Errno;

use crate::SimDevice;
use crate::kernel::hardware::LINUX_7_2;
use crate::kernel::injected_faults::Needs;
use crate::requests::entry::{Entry, entries};
use crate::requests::{Caller, refuse};
use gem_coherency::backend::{Created, Drm};
use gem_coherency::error::Result;
use gem_coherency::platform::Caps;
use gem_coherency::policy::kernel::Creation;
use gem_coherency::units::PAGE_BYTES;
use gem_coherency::vocabulary::{Handle, MmapMode};
use gem_coherency_uapi::drm_display::{
    DRM_IOCTL_MODE_CREATE_DUMB, DRM_IOCTL_MODE_DESTROY_DUMB, DRM_IOCTL_MODE_MAP_DUMB, drm_mode_create_dumb,
    drm_mode_destroy_dumb, drm_mode_map_dumb,
};
use gem_coherency_uapi::drm_fourcc::DRM_FORMAT_MOD_LINEAR;

pub(in crate::requests) static ENTRIES: &[Entry] = entries! {
    DRM_IOCTL_MODE_CREATE_DUMB, Primary => create_dumb;
    DRM_IOCTL_MODE_MAP_DUMB, Primary => map_dumb;
    DRM_IOCTL_MODE_DESTROY_DUMB, Primary => destroy_dumb;
};

/// A pitch is a multiple of this.
const PITCH_BYTES: u32 = 64;

/// `drm_mode_create_dumb`, and `i915_gem_dumb_create` or `xe_bo_dumb_create`.
fn create_dumb(caller: &mut Caller<'_>, args: &mut drm_mode_create_dumb) -> Result<()> {
    let created = caller.device.create_dumb_ioctl(args).map(drop);
    if created.is_err() && caller.device.system.machine.kernel >= LINUX_7_2 {
        (args.handle, args.pitch, args.size) = (0, 0, 0);
    }
    created
}

/// Returns whether the picture is not empty, and its size fits in 32 bits.
fn fits(args: &drm_mode_create_dumb) -> bool {
    let pixel_bytes = match args.bpp {
        1..=0xffff_fff7 => args.bpp.div_ceil(8),
        _ => return false,
    };
    let bytes = args.width.checked_mul(pixel_bytes).and_then(|line| line.checked_mul(args.height));
    // A size in pages that wraps around is rejected.
    bytes.is_some_and(|bytes| bytes > 0 && bytes.checked_next_multiple_of(PAGE_BYTES as u32).is_some())
}

/// Returns the pitch of a line of `bytes`; 0 if it wraps around.
///
/// A pitch larger than a plane's is rounded up to whole pages, so that it can be remapped; without a display
/// there is no plane, and every line counts as larger (`intel_plane_fb_max_stride`).
fn pitch(bytes: u32, plane_bytes: u32) -> u32 {
    let pitch = bytes.checked_next_multiple_of(PITCH_BYTES).unwrap_or(0);
    if pitch > plane_bytes { pitch.checked_next_multiple_of(PAGE_BYTES as u32).unwrap_or(0) } else { pitch }
}

/// `i915_gem_dumb_mmap_offset`: for any object, in the kernel's preferred mode.
fn map_dumb(caller: &mut Caller<'_>, args: &mut drm_mode_map_dumb) -> Result<()> {
    let request = DRM_IOCTL_MODE_MAP_DUMB.name;
    let system = &caller.device.system;
    system.enter(request, Needs::Memory)?;
    let discrete = system.machine.caps.contains(Caps::DISCRETE);
    let mode = if discrete || system.xe.is_some() { MmapMode::Fixed } else { MmapMode::Wc };
    args.offset = caller.device.offset_of(request, args.handle, mode)?;
    Ok(())
}

/// `drm_mode_destroy_dumb`: GEM_CLOSE of any object.
fn destroy_dumb(caller: &mut Caller<'_>, args: &mut drm_mode_destroy_dumb) -> Result<()> {
    let request = DRM_IOCTL_MODE_DESTROY_DUMB.name;
    match Handle::new(args.handle) {
        Some(handle) => caller.device.close(handle),
        None => refuse(request, Errno::EINVAL),
    }
}

impl SimDevice {
    /// Creates a dumb buffer and fills in the results.
    ///
    /// # Errors
    /// EINVAL; the errors of creating the object.
    pub(crate) fn create_dumb_ioctl(&self, args: &mut drm_mode_create_dumb) -> Result<Created> {
        let request = DRM_IOCTL_MODE_CREATE_DUMB.name;
        let system = &self.system;
        system.enter(request, Needs::Memory)?;
        if !fits(args) {
            return refuse(request, Errno::EINVAL);
        }
        // The results are 0 until they are known, also if the request fails.
        (args.handle, args.pitch, args.size) = (0, 0, 0);
        let pixel_bytes = match args.bpp.div_ceil(8) {
            bytes @ (1 | 2 | 4) => bytes,
            // xe asks for no format.
            bytes if system.xe.is_some() => bytes,
            _ => return refuse(request, Errno::EINVAL),
        };
        // xe does not round a pitch up for a plane.
        let plane_bytes = if system.xe.is_some() {
            u32::MAX
        } else if system.hardware.display {
            system.machine.plane_stride_bytes(pixel_bytes, DRM_FORMAT_MOD_LINEAR)
        } else {
            0
        };
        args.pitch = pitch(args.width * pixel_bytes, plane_bytes);
        if args.pitch < args.width {
            return refuse(request, Errno::EINVAL);
        }
        args.size = u64::from(args.pitch) * u64::from(args.height);
        let created = self.create_dumb_object(args.size)?;
        (args.handle, args.size) = (created.handle.get(), created.size_bytes);
        Ok(created)
    }

    /// Creates the object of a dumb buffer, in local memory if there is any.
    fn create_dumb_object(&self, size_bytes: u64) -> Result<Created> {
        let request = DRM_IOCTL_MODE_CREATE_DUMB.name;
        if let Some(kernel) = self.system.xe {
            return self.create_dumb_of_xe(request, &kernel.device, size_bytes);
        }
        match self.system.machine.platform.local_page_bytes {
            Some(page_bytes) => self.create_as(request, size_bytes, page_bytes.into(), Creation::Local),
            None => self.create_as(request, size_bytes, PAGE_BYTES, Creation::User),
        }
    }
}

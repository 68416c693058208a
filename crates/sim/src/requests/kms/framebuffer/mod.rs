//! Framebuffers: ADDFB, ADDFB2, RMFB, CLOSEFB, GETFB, GETFB2 and DIRTYFB.

mod check;
mod picture;

use gem_coherency::Errno;

use crate::SimDevice;
use crate::display::framebuffers::Framebuffer;
use crate::kernel::injected_faults::Needs;
use crate::requests::entry::{Entry, entries};
use crate::requests::{Caller, refuse};
use gem_coherency::error::Result;
use gem_coherency::platform::Format;
use gem_coherency::policy::kernel::{Backing, Event};
use gem_coherency_uapi::drm_display::{
    DRM_IOCTL_MODE_ADDFB, DRM_IOCTL_MODE_ADDFB2, DRM_IOCTL_MODE_CLOSEFB, DRM_IOCTL_MODE_DIRTYFB,
    DRM_IOCTL_MODE_GETFB, DRM_IOCTL_MODE_GETFB2, DRM_IOCTL_MODE_RMFB, DRM_MODE_FB_DIRTY_ANNOTATE_COPY,
    DRM_MODE_FB_DIRTY_MAX_CLIPS, DRM_MODE_FB_MODIFIERS, drm_mode_closefb, drm_mode_fb_cmd, drm_mode_fb_cmd2,
    drm_mode_fb_dirty_cmd,
};

pub(in crate::requests) static ENTRIES: &[Entry] = entries! {
    DRM_IOCTL_MODE_GETFB, Primary => get;
    DRM_IOCTL_MODE_ADDFB, Primary => add_by_depth;
    DRM_IOCTL_MODE_RMFB, Primary => remove;
    DRM_IOCTL_MODE_DIRTYFB, Master => dirty;
    DRM_IOCTL_MODE_ADDFB2, Primary => add;
    DRM_IOCTL_MODE_GETFB2, Primary => get_planes;
};

/// Requests that older kernels lack.
pub(in crate::requests) static SINCE_6_8: &[Entry] = entries! {
    DRM_IOCTL_MODE_CLOSEFB, Primary => close;
};

/// Size of a rectangle in bytes (`struct drm_clip_rect`).
const CLIP_BYTES: usize = 8;

/// `drm_mode_addfb2`.
fn add(caller: &mut Caller<'_>, args: &mut drm_mode_fb_cmd2) -> Result<()> {
    args.fb_id = caller.device.add_framebuffer_ioctl(DRM_IOCTL_MODE_ADDFB2.name, args)?;
    Ok(())
}

/// `drm_mode_addfb`: the depth determines the format.
fn add_by_depth(caller: &mut Caller<'_>, args: &mut drm_mode_fb_cmd) -> Result<()> {
    let request = DRM_IOCTL_MODE_ADDFB.name;
    let device = caller.device;
    let format = Format::legacy(args.bpp, args.depth, device.system.machine.kernel);
    let Some(format) = format.filter(|_| device.system.hardware.display) else {
        device.enter_display(request, Needs::Nothing)?;
        return refuse(request, Errno::EINVAL);
    };
    let whole = drm_mode_fb_cmd2 {
        width: args.width,
        height: args.height,
        pixel_format: format.code,
        handles: [args.handle, 0, 0, 0],
        pitches: [args.pitch, 0, 0, 0],
        ..Default::default()
    };
    args.fb_id = device.add_framebuffer_ioctl(request, &whole)?;
    Ok(())
}

/// `drm_mode_rmfb`: also takes the framebuffer off the screen.
fn remove(caller: &mut Caller<'_>, id: &mut u32) -> Result<()> {
    caller.device.enter_display(DRM_IOCTL_MODE_RMFB.name, Needs::Nothing)?;
    caller.device.give_up_framebuffer(DRM_IOCTL_MODE_RMFB.name, *id, true)
}

/// `drm_mode_closefb_ioctl`: planes continue to show the framebuffer.
fn close(caller: &mut Caller<'_>, args: &mut drm_mode_closefb) -> Result<()> {
    let request = DRM_IOCTL_MODE_CLOSEFB.name;
    caller.device.enter_display(request, Needs::Nothing)?;
    if args.pad != 0 {
        return refuse(request, Errno::EINVAL);
    }
    caller.device.give_up_framebuffer(request, args.fb_id, false)
}

/// `drm_mode_getfb`, for root, who gets a new handle to the object.
fn get(caller: &mut Caller<'_>, args: &mut drm_mode_fb_cmd) -> Result<()> {
    let request = DRM_IOCTL_MODE_GETFB.name;
    let device = caller.device;
    device.enter_display(request, Needs::Memory)?;
    let framebuffer = device.framebuffer(request, args.fb_id)?;
    let [plane] = framebuffer.format.layout.planes else { return refuse(request, Errno::EINVAL) };
    (args.height, args.width) = (framebuffer.height, framebuffer.width);
    args.depth = framebuffer.format.layout.depth;
    args.bpp = plane.bytes * 8 / (plane.width * plane.height);
    args.pitch = framebuffer.pitches[0];
    // intel_user_framebuffer_create_handle.
    if framebuffer.object.state().snapshot.backing == Backing::Userptr {
        return refuse(request, Errno::EINVAL);
    }
    args.handle = device.named(request, framebuffer.object)?.handle.get();
    Ok(())
}

/// `drm_mode_getfb2_ioctl`, for root: one new handle for all planes.
fn get_planes(caller: &mut Caller<'_>, args: &mut drm_mode_fb_cmd2) -> Result<()> {
    let request = DRM_IOCTL_MODE_GETFB2.name;
    let device = caller.device;
    if !device.system.hardware.display {
        // GETFB2 alone fails with EINVAL instead of EOPNOTSUPP.
        device.system.enter(request, Needs::Nothing)?;
        return refuse(request, Errno::EINVAL);
    }
    device.enter_display(request, Needs::Memory)?;
    let framebuffer = device.framebuffer(request, args.fb_id)?;
    (args.height, args.width) = (framebuffer.height, framebuffer.width);
    args.pixel_format = framebuffer.format.code;
    args.flags = DRM_MODE_FB_MODIFIERS;
    (args.handles, args.pitches) = ([0; 4], [0; 4]);
    (args.offsets, args.modifier) = ([0; 4], [0; 4]);
    let count = framebuffer.format.layout.planes.len();
    args.pitches[..count].copy_from_slice(&framebuffer.pitches[..count]);
    args.offsets[..count].copy_from_slice(&framebuffer.offsets[..count]);
    args.modifier[..count].fill(framebuffer.modifier);
    let handle = device.named(request, framebuffer.object)?.handle.get();
    args.handles[..count].fill(handle);
    Ok(())
}

/// `drm_mode_dirtyfb_ioctl` and `intel_user_framebuffer_dirty`.
fn dirty(caller: &mut Caller<'_>, args: &mut drm_mode_fb_dirty_cmd) -> Result<()> {
    let request = DRM_IOCTL_MODE_DIRTYFB.name;
    caller.device.enter_display(request, Needs::Nothing)?;
    caller.device.framebuffer(request, args.fb_id)?;
    let unpaired = args.flags & DRM_MODE_FB_DIRTY_ANNOTATE_COPY != 0 && !args.num_clips.is_multiple_of(2);
    let said = (args.num_clips != 0, args.clips_ptr != 0);
    if said.0 != said.1 || unpaired || args.num_clips > DRM_MODE_FB_DIRTY_MAX_CLIPS {
        return refuse(request, Errno::EINVAL);
    }
    let mut clips = vec![0; args.num_clips as usize * CLIP_BYTES];
    if caller.memory.read(args.clips_ptr, &mut clips) < clips.len() {
        return refuse(request, Errno::EFAULT);
    }
    caller.device.dirty_ioctl(request, args.fb_id)
}

impl SimDevice {
    /// Applies faults to a display request and checks that there is a display.
    ///
    /// # Errors
    /// EOPNOTSUPP without a display; the errno of a fault.
    pub(crate) fn enter_display(&self, request: &'static str, needs: Needs) -> Result<()> {
        let needs = if self.system.hardware.display { needs } else { Needs::Nothing };
        self.system.enter(request, needs)?;
        if self.system.hardware.display { Ok(()) } else { refuse(request, Errno::EOPNOTSUPP) }
    }

    /// Creates a framebuffer of the file; returns its id.
    ///
    /// # Errors
    /// As ADDFB2.
    pub(crate) fn add_framebuffer_ioctl(
        &self,
        request: &'static str,
        args: &drm_mode_fb_cmd2,
    ) -> Result<u32> {
        self.enter_display(request, Needs::Memory)?;
        let id = self.new_framebuffer(request, args)?;
        self.own_framebuffers().insert(0, id);
        Ok(id)
    }

    /// Creates a framebuffer that belongs to no file yet; returns its id.
    ///
    /// # Errors
    /// As ADDFB2.
    pub(crate) fn new_framebuffer(&self, request: &'static str, args: &drm_mode_fb_cmd2) -> Result<u32> {
        let format = check::format(self, args).or_else(|errno| refuse(request, errno))?;
        let object = self.find(request, args.handles[0])?;
        let framebuffer =
            check::framebuffer(self, object, format, args).or_else(|errno| refuse(request, errno))?;
        let Some(id) = self.display.add_framebuffer(framebuffer)? else {
            return refuse(request, Errno::ENOSPC);
        };
        tracing::debug!(request, framebuffer = id, handle = args.handles[0]);
        Ok(id)
    }

    /// Returns a framebuffer by its id, whichever file created it.
    ///
    /// # Errors
    /// ENOENT.
    pub(crate) fn framebuffer(&self, request: &'static str, id: u32) -> Result<Framebuffer> {
        let found = self.display.framebuffers().get(id);
        found.map_or_else(|| refuse(request, Errno::ENOENT), Ok)
    }

    /// Reports that a framebuffer was written (`intel_user_framebuffer_dirty`).
    ///
    /// # Errors
    /// ENOENT.
    pub(crate) fn dirty_ioctl(&self, request: &'static str, id: u32) -> Result<()> {
        let object = self.framebuffer(request, id)?.object;
        object.happen(&mut object.state(), request, Event::DirtyFb).map(drop)
    }

    /// Removes a framebuffer from the file that created it (`drm_mode_closefb`); if `off_screen` is set, also
    /// turns off whatever shows it.
    ///
    /// # Errors
    /// ENOENT.
    pub(crate) fn give_up_framebuffer(&self, request: &'static str, id: u32, off_screen: bool) -> Result<()> {
        let mut own = self.own_framebuffers();
        let Some(index) = own.iter().position(|&one| one == id) else {
            return refuse(request, Errno::ENOENT);
        };
        own.remove(index);
        drop(own);
        if off_screen { self.display.remove_framebuffer(id) } else { self.display.release_framebuffer(id) }
    }
}

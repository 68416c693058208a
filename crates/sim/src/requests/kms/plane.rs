//! The pictures of planes: PAGE_FLIP, SETPLANE, CURSOR and CURSOR2.

use gem_coherency::Errno;

use super::super::{Caller, refuse};
use crate::SimDevice;
use crate::display::commit::Pace;
use crate::display::crtcs::{Area, Crtcs};
use crate::display::draft::{Draft, PlaneDraft, check_asynchronous, check_source};
use crate::display::framebuffers::Framebuffer;
use crate::display::planes::Kind;
use crate::display::vblanks::sleep_until;
use gem_coherency::error::Result;
use gem_coherency_uapi::drm_display::*;
use gem_coherency_uapi::drm_fourcc::DRM_FORMAT_ARGB8888;
use gem_coherency_uapi::drm_modeset::*;

/// Bytes of a pixel of a cursor.
const PIXEL_BYTES: u32 = 4;

/// The arguments of PAGE_FLIP.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FlipArgs {
    pub(crate) crtc: u32,
    pub(crate) framebuffer: u32,
    /// The event's user data, if the file wants one.
    pub(crate) event: Option<u64>,
    /// The flip need not wait for the vertical blank (`DRM_MODE_PAGE_FLIP_ASYNC`).
    pub(crate) asynchronous: bool,
}

/// A change of a cursor.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Cursor {
    /// The picture's object, width and height, if the picture changes; an object of 0 is none.
    pub(crate) picture: Option<(u32, u32, u32)>,
    /// The place, if it changes.
    pub(crate) at: Option<(i32, i32)>,
}

/// `drm_mode_page_flip_ioctl`.
pub(super) fn page_flip(caller: &mut Caller<'_>, args: &mut drm_mode_crtc_page_flip) -> Result<()> {
    let request = DRM_IOCTL_MODE_PAGE_FLIP.name;
    let (flags, sequence) = (args.flags, args.reserved);
    let target = flags & DRM_MODE_PAGE_FLIP_TARGET;
    let asynchronous = flags & DRM_MODE_PAGE_FLIP_ASYNC != 0;
    let late = asynchronous && !caller.device.system.machine.flips_at_once();
    let both = target == DRM_MODE_PAGE_FLIP_TARGET;
    if flags & !DRM_MODE_PAGE_FLIP_FLAGS != 0 || both || (sequence != 0 && target == 0) || late {
        return refuse(request, Errno::EINVAL);
    }
    caller.device.crtc_place(request, args.crtc_id)?;
    if target != 0 {
        // No i915 pipe supports target vertical blanks.
        return refuse(request, Errno::EINVAL);
    }
    let event = (flags & DRM_MODE_PAGE_FLIP_EVENT != 0).then_some(args.user_data);
    let flip = FlipArgs { crtc: args.crtc_id, framebuffer: args.fb_id, event, asynchronous };
    let pace = if asynchronous { Pace::AtOnce } else { Pace::Nonblocking };
    caller.device.flip_ioctl(request, flip, pace).map(drop)
}

/// `drm_mode_setplane`.
pub(super) fn set(caller: &mut Caller<'_>, args: &mut drm_mode_set_plane) -> Result<()> {
    let request = DRM_IOCTL_MODE_SETPLANE.name;
    let device = caller.device;
    let area = Area {
        at: (args.crtc_x, args.crtc_y),
        size: (args.crtc_w, args.crtc_h),
        from: (args.src_x, args.src_y),
        source: (args.src_w, args.src_h),
    };
    let found = device.display.crtcs().plane(args.plane_id);
    let Some((pipe, slot, kind)) = found else { return refuse(request, Errno::ENOENT) };
    let pace = if kind == Kind::Cursor { Pace::Overtaking } else { Pace::Blocking };
    let done = device.commit_draft(request, pace, None, |crtcs| {
        let mut draft = Draft { may_set_mode: true, ..Draft::default() };
        let plane = draft.plane(crtcs, (pipe, slot))?;
        if args.fb_id == 0 {
            *plane = PlaneDraft::default();
            return Ok(draft);
        }
        if device.display.framebuffers().get(args.fb_id).is_none() {
            return Err(Errno::ENOENT);
        }
        *plane = PlaneDraft { pipe: None, framebuffer: Some(args.fb_id), area };
        let crtc = crtcs.place(args.crtc_id).ok_or(Errno::ENOENT)?;
        draft.put_plane(crtcs, (pipe, slot), Some(crtc))?;
        Ok(draft)
    })?;
    if pace == Pace::Blocking {
        sleep_until(done);
    }
    Ok(())
}

/// `drm_mode_cursor_ioctl`.
pub(super) fn cursor(caller: &mut Caller<'_>, args: &mut drm_mode_cursor) -> Result<()> {
    let drm_mode_cursor { flags, crtc_id, x, y, width, height, handle } = *args;
    let args = drm_mode_cursor2 { flags, crtc_id, x, y, width, height, handle, hot_x: 0, hot_y: 0 };
    set_cursor(caller, DRM_IOCTL_MODE_CURSOR.name, &args)
}

/// `drm_mode_cursor2_ioctl`. The display does not use the pixel that points.
pub(super) fn cursor_with_hotspot(caller: &mut Caller<'_>, args: &mut drm_mode_cursor2) -> Result<()> {
    set_cursor(caller, DRM_IOCTL_MODE_CURSOR2.name, args)
}

/// `drm_mode_cursor_common`.
fn set_cursor(caller: &Caller<'_>, request: &'static str, args: &drm_mode_cursor2) -> Result<()> {
    if args.flags == 0 || args.flags & !DRM_MODE_CURSOR_FLAGS != 0 {
        return refuse(request, Errno::EINVAL);
    }
    let change = Cursor {
        picture: (args.flags & DRM_MODE_CURSOR_BO != 0).then_some((args.handle, args.width, args.height)),
        at: (args.flags & DRM_MODE_CURSOR_MOVE != 0).then_some((args.x, args.y)),
    };
    caller.device.cursor_ioctl(request, args.crtc_id, change)
}

impl SimDevice {
    /// Flips the primary plane to another framebuffer; returns when the vertical blank passes that completes it
    /// (`drm_atomic_helper_page_flip`).
    ///
    /// # Errors
    /// As PAGE_FLIP.
    pub(crate) fn flip_ioctl(&self, request: &'static str, flip: FlipArgs, pace: Pace) -> Result<u64> {
        self.commit_draft(request, pace, flip.event, |crtcs| {
            let place = crtcs.place(flip.crtc).ok_or(Errno::ENOENT)?;
            let pipe = crtcs.pipes.get(place).ok_or(Errno::ENOENT)?;
            let primary = pipe.primary().ok_or(Errno::EBUSY)?;
            let framebuffer = self.display.framebuffers().get(flip.framebuffer).ok_or(Errno::ENOENT)?;
            let area = pipe.planes.first().map(|state| state.area).unwrap_or_default();
            check_source(&area, &framebuffer)?;
            if framebuffer.format.code != primary.framebuffer.format.code {
                return Err(Errno::EINVAL);
            }
            if !pipe.active {
                return Err(Errno::EINVAL);
            }
            if flip.asynchronous {
                check_flip_at_once(crtcs, &primary.framebuffer, &framebuffer)?;
            }
            let mut draft = Draft::default();
            draft.plane(crtcs, (place, 0))?.framebuffer = Some(flip.framebuffer);
            Ok(draft)
        })
    }

    /// Changes a CRTC's cursor (`drm_mode_cursor_universal`).
    ///
    /// The picture becomes a framebuffer that belongs to no file.
    ///
    /// # Errors
    /// As CURSOR.
    pub(crate) fn cursor_ioctl(&self, request: &'static str, crtc: u32, change: Cursor) -> Result<()> {
        let place = self.crtc_place(request, crtc)?;
        let made = match change.picture {
            Some((handle, width, height)) if handle != 0 => {
                Some(self.cursor_framebuffer(request, handle, (width, height))?)
            }
            Some(_) | None => None,
        };
        let done = self.show_cursor(request, place, change, made);
        if let Some(id) = made {
            // If the framebuffer is shown, the plane holds a reference; otherwise this frees it.
            self.display.release_framebuffer(id)?;
        }
        done
    }

    /// Shows the framebuffer `made`, or the present one, as the cursor.
    fn show_cursor(
        &self,
        request: &'static str,
        place: usize,
        change: Cursor,
        made: Option<u32>,
    ) -> Result<()> {
        self.commit_draft(request, Pace::Overtaking, None, |crtcs| {
            let pipe = crtcs.pipes.get(place).ok_or(Errno::ENOENT)?;
            let slot = pipe.planes.len().saturating_sub(1);
            let present = pipe.planes.get(slot).and_then(|state| state.shown.as_ref()).map(|plane| plane.id);
            let id = if change.picture.is_some() { made } else { present };
            let framebuffer = id.and_then(|id| self.display.framebuffers().get(id));
            let at = change.at.unwrap_or(pipe.cursor_at);
            let mut draft = Draft { may_set_mode: true, ..Draft::default() };
            let plane = draft.plane(crtcs, (place, slot))?;
            *plane = PlaneDraft::default();
            if let Some(Framebuffer { width, height, .. }) = framebuffer {
                let (size, source) = ((width, height), (width << 16, height << 16));
                let area = Area { at, size, from: (0, 0), source };
                *plane = PlaneDraft { pipe: Some(place), framebuffer: id, area };
                draft.pipe(crtcs, place)?;
            }
            Ok(draft)
        })?;
        if let (Some(at), Some(pipe)) = (change.at, self.display.crtcs().pipes.get_mut(place)) {
            pipe.cursor_at = at;
        }
        Ok(())
    }

    /// Makes a framebuffer of a cursor's picture.
    fn cursor_framebuffer(&self, request: &'static str, handle: u32, size: (u32, u32)) -> Result<u32> {
        let args = drm_mode_fb_cmd2 {
            width: size.0,
            height: size.1,
            pixel_format: DRM_FORMAT_ARGB8888,
            handles: [handle, 0, 0, 0],
            pitches: [size.0.wrapping_mul(PIXEL_BYTES), 0, 0, 0],
            ..Default::default()
        };
        self.new_framebuffer(request, &args)
    }
}

/// Checks a flip that need not wait for the vertical blank: only the address changes
/// (`intel_async_flip_check_hw`).
///
/// # Errors
/// EINVAL.
pub(super) fn check_flip_at_once(
    crtcs: &Crtcs,
    before: &Framebuffer,
    after: &Framebuffer,
) -> Result<(), Errno> {
    let alike = |of: &Framebuffer| (of.format.code, of.modifier, of.pitches);
    if alike(before) != alike(after) {
        return Err(Errno::EINVAL);
    }
    check_asynchronous(crtcs.machine, after)
}

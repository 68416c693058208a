//! The mode and the picture of a CRTC: GETCRTC and SETCRTC.

use std::sync::Arc;

use bytemuck::bytes_of;
use gem_coherency::Errno;

use super::super::{Caller, refuse};
use crate::SimDevice;
use crate::display::commit::Pace;
use crate::display::crtcs::{Area, Crtcs};
use crate::display::draft::{Draft, PlaneDraft, check_source};
use crate::display::properties::GAMMA_SIZE;
use crate::display::vblanks::sleep_until;
use gem_coherency::backend::display::{Mode, Timing};
use gem_coherency::error::{Error, Result};
use gem_coherency::platform::Machine;
use gem_coherency_uapi::drm_display::*;
use gem_coherency_uapi::drm_modeset::{DRM_MODE_FLAG_PIC_AR_MASK, DRM_MODE_TYPE_DRIVER};

/// The flags that a mode may have: polarities, interlacing, doubled clock, two images, and the aspect ratio
/// (`intel_mode_valid`).
const MODE_FLAGS: u32 = 0x1f | 1 << 12 | 0x1f << 14 | DRM_MODE_FLAG_PIC_AR_MASK;
/// The types that the kernel keeps (`DRM_MODE_TYPE_ALL`).
const MODE_TYPES: u32 = DRM_MODE_TYPE_PREFERRED | DRM_MODE_TYPE_USERDEF | DRM_MODE_TYPE_DRIVER;

/// Returns whether the mode is valid and within the hardware's limits (`drm_mode_validate_basic`,
/// `intel_mode_valid`).
pub(super) fn is_good(mode: &Mode, machine: Machine) -> bool {
    let [width, height, total_width, total_height] = machine.largest_mode();
    let ordered = |timing: &Timing, shown: u16, total: u16| {
        (1..=shown).contains(&timing.shown)
            && timing.shown <= timing.sync_start
            && timing.sync_start <= timing.sync_end
            && timing.sync_end <= timing.total
            && timing.total <= total
    };
    (1..=i32::MAX as u32).contains(&mode.clock_khz)
        && ordered(&mode.horizontal, width, total_width)
        && ordered(&mode.vertical, height, total_height)
        && mode.vertical.extra <= 1
        && mode.flags & !MODE_FLAGS == 0
}

/// `drm_mode_getcrtc`.
pub(super) fn get_crtc(caller: &mut Caller<'_>, args: &mut drm_mode_crtc) -> Result<()> {
    let crtcs = caller.device.display.crtcs();
    let Some(pipe) = crtcs.place(args.crtc_id).and_then(|place| crtcs.pipes.get(place)) else {
        return refuse(DRM_IOCTL_MODE_GETCRTC.name, Errno::ENOENT);
    };
    args.gamma_size = GAMMA_SIZE as u32;
    args.fb_id = pipe.primary().map_or(0, |plane| plane.id);
    let from = pipe.planes.first().map_or((0, 0), |state| state.area.from);
    (args.x, args.y) = (from.0 >> 16, from.1 >> 16);
    let mode = pipe.mode();
    args.mode_valid = u32::from(mode.is_some());
    if let Some(mode) = mode {
        args.mode = mode;
    }
    Ok(())
}

/// `drm_mode_setcrtc`.
pub(super) fn set_crtc(caller: &mut Caller<'_>, args: &mut drm_mode_crtc) -> Result<()> {
    let device = caller.device;
    let list = args.set_connectors_ptr;
    let mut change = CrtcChange {
        crtc: args.crtc_id,
        framebuffer: args.fb_id,
        from: (args.x, args.y),
        mode: (args.mode_valid != 0).then_some(args.mode),
        connectors: args.count_connectors,
        connector: &mut |index| {
            let mut id = [0; 4];
            let address = list.wrapping_add(4 * u64::from(index));
            let whole = caller.memory.read(address, &mut id) == id.len();
            if whole { Ok(u32::from_le_bytes(id)) } else { Err(Errno::EFAULT) }
        },
    };
    let done = device.set_crtc_ioctl(DRM_IOCTL_MODE_SETCRTC.name, &mut change)?;
    sleep_until(done);
    Ok(())
}

/// The arguments of SETCRTC.
pub(crate) struct CrtcChange<'a> {
    pub(crate) crtc: u32,
    /// The framebuffer; `u32::MAX` for the present one.
    pub(crate) framebuffer: u32,
    /// The framebuffer's first visible column and line.
    pub(crate) from: (u32, u32),
    pub(crate) mode: Option<drm_mode_modeinfo>,
    /// Number of connectors, and the id of each.
    pub(crate) connectors: u32,
    pub(crate) connector: &'a mut dyn FnMut(u32) -> Result<u32, Errno>,
}

impl SimDevice {
    /// Makes the request SETCRTC; returns when the vertical blank passes that it waits for.
    ///
    /// # Errors
    /// As in the kernel.
    pub(crate) fn set_crtc_ioctl(&self, request: &'static str, change: &mut CrtcChange<'_>) -> Result<u64> {
        if (change.from.0 | change.from.1) & 0xffff_0000 != 0 {
            return refuse(request, Errno::ERANGE);
        }
        self.commit_draft(request, Pace::Blocking, None, |crtcs| self.draft_of_crtc(crtcs, change))
    }

    /// Checks the arguments and makes a draft of them (`drm_mode_setcrtc`, `__drm_atomic_helper_set_config`).
    fn draft_of_crtc(&self, crtcs: &mut Crtcs, change: &mut CrtcChange<'_>) -> Result<Draft, Errno> {
        let place = crtcs.place(change.crtc).ok_or(Errno::ENOENT)?;
        let picture = match change.mode {
            Some(mode) => Some((mode, self.picture_of_crtc(crtcs, place, change, &mode)?)),
            None => None,
        };
        let connector_states = connector_states(change)?;
        let mut draft = Draft { may_set_mode: true, ..Draft::default() };
        let Some((mut mode, (framebuffer, area))) = picture else {
            let pipe = draft.pipe(crtcs, place)?;
            (pipe.mode, pipe.active) = (None, false);
            *draft.plane(crtcs, (place, 0))? = PlaneDraft::default();
            return disconnect_others(crtcs, draft, place, &[]);
        };
        // drm_mode_convert_umode.
        mode.r#type &= MODE_TYPES;
        mode.name[31] = 0;
        let old = crtcs.pipes.get(place).and_then(|pipe| pipe.mode.clone());
        let same = old.filter(|blob| blob.data == bytes_of(&mode));
        let blob = same.map_or_else(|| crtcs.blobs.create(bytes_of(&mode).to_vec()), Ok::<Arc<_>, Errno>)?;
        let pipe = draft.pipe(crtcs, place)?;
        (pipe.mode, pipe.active) = (Some(blob), true);
        let plane = draft.plane(crtcs, (place, 0))?;
        *plane = PlaneDraft { pipe: Some(place), framebuffer: Some(framebuffer), area };
        for &connector_index in &connector_states {
            draft.connect(crtcs, connector_index, Some(place))?;
        }
        disconnect_others(crtcs, draft, place, &connector_states)
    }

    /// Checks the mode and the framebuffer; returns the framebuffer's id and its visible part.
    fn picture_of_crtc(
        &self,
        crtcs: &Crtcs,
        place: usize,
        change: &CrtcChange<'_>,
        mode: &drm_mode_modeinfo,
    ) -> Result<(u32, Area), Errno> {
        let present = || crtcs.pipes.get(place).and_then(|pipe| pipe.primary()).map(|plane| plane.id);
        let id = match change.framebuffer {
            u32::MAX => present().ok_or(Errno::EINVAL)?,
            id => id,
        };
        let framebuffer = self.display.framebuffers().get(id).ok_or(Errno::ENOENT)?;
        if mode.flags & DRM_MODE_FLAG_PIC_AR_MASK != 0 && !self.client().aspect_ratios {
            return Err(Errno::EINVAL);
        }
        // drm_mode_convert_umode.
        if mode.clock.max(mode.vrefresh) > i32::MAX as u32 {
            return Err(Errno::ERANGE);
        }
        if !is_good(&Mode::from_raw(mode), self.system.machine) {
            return Err(Errno::EINVAL);
        }
        let size = (u32::from(mode.hdisplay), u32::from(mode.vdisplay));
        let fixed = |pixels: (u32, u32)| (pixels.0 << 16, pixels.1 << 16);
        let area = Area { at: (0, 0), size, from: fixed(change.from), source: fixed(size) };
        check_source(&area, &framebuffer)?;
        Ok((id, area))
    }
}

/// Returns the places of the connectors in the arguments.
fn connector_states(change: &mut CrtcChange<'_>) -> Result<Vec<usize>, Errno> {
    let needs = change.mode.is_some();
    let count = change.connectors;
    if needs != (count > 0) || count as usize > Crtcs::CONNECTORS.len() {
        return Err(Errno::EINVAL);
    }
    let mut connector_index =
        |index| (change.connector)(index).and_then(|id| Crtcs::connector_index(id).ok_or(Errno::ENOENT));
    (0..count).map(&mut connector_index).collect()
}

/// Takes the other connectors from the CRTC, and turns off each other CRTC that is left without connectors
/// (`update_output_state`).
fn disconnect_others(crtcs: &Crtcs, mut draft: Draft, place: usize, keep: &[usize]) -> Result<Draft, Errno> {
    let connector_states = crtcs.connector_states.iter().enumerate();
    for (connector_index, _) in connector_states
        .filter(|(connector_index, now)| now.pipe == Some(place) && !keep.contains(connector_index))
    {
        draft.connect(crtcs, connector_index, None)?;
    }
    let left = |other: usize| other != place && draft.connectors(crtcs, other) == 0;
    let others: Vec<_> = draft.pipes.keys().copied().filter(|&other| left(other)).collect();
    for other in others {
        let pipe = draft.pipe(crtcs, other)?;
        (pipe.mode, pipe.active) = (None, false);
    }
    Ok(draft)
}

impl SimDevice {
    /// Returns the place of a CRTC.
    ///
    /// # Errors
    /// ENOENT.
    pub(super) fn crtc_place(&self, request: &'static str, id: u32) -> Result<usize> {
        self.display.crtcs().place(id).ok_or(Error::Ioctl { request, errno: Errno::ENOENT })
    }
}

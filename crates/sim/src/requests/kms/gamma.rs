//! Gamma tables: GETGAMMA and SETGAMMA. The simulated display does not apply them.

use bytemuck::{bytes_of, bytes_of_mut};
use gem_coherency::Errno;

use super::super::{Caller, refuse};
use crate::display::commit::Pace;
use crate::display::draft::Draft;
use crate::display::properties::GAMMA_SIZE;
use crate::display::vblanks::sleep_until;
use gem_coherency::error::Result;
use gem_coherency_uapi::drm_display::{DRM_IOCTL_MODE_GETGAMMA, DRM_IOCTL_MODE_SETGAMMA};
use gem_coherency_uapi::drm_modeset::{drm_color_lut, drm_mode_crtc_lut};

/// `drm_mode_gamma_get_ioctl`.
pub(super) fn get(caller: &mut Caller<'_>, args: &mut drm_mode_crtc_lut) -> Result<()> {
    let request = DRM_IOCTL_MODE_GETGAMMA.name;
    let place = caller.device.crtc_place(request, args.crtc_id)?;
    if args.gamma_size as usize != GAMMA_SIZE {
        return refuse(request, Errno::EINVAL);
    }
    let ramp = caller.device.display.crtcs().pipes.get(place).map(|pipe| pipe.ramp);
    for (address, colour) in [args.red, args.green, args.blue].into_iter().zip(ramp.iter().flatten()) {
        caller.put(request, address, bytes_of(colour))?;
    }
    Ok(())
}

/// `drm_mode_gamma_set_ioctl` and `drm_crtc_legacy_gamma_set`.
pub(super) fn set(caller: &mut Caller<'_>, args: &mut drm_mode_crtc_lut) -> Result<()> {
    let request = DRM_IOCTL_MODE_SETGAMMA.name;
    let device = caller.device;
    let place = device.crtc_place(request, args.crtc_id)?;
    if args.gamma_size as usize != GAMMA_SIZE {
        return refuse(request, Errno::EINVAL);
    }
    let mut ramp = [[0_u16; GAMMA_SIZE]; 3];
    for (address, colour) in [args.red, args.green, args.blue].into_iter().zip(&mut ramp) {
        let bytes = bytes_of_mut(colour);
        if caller.memory.read(address, bytes) < bytes.len() {
            return refuse(request, Errno::EFAULT);
        }
    }
    let [reds, greens, blues] = &ramp;
    let colours = reds.iter().zip(greens).zip(blues);
    let entries = colours.map(|((&red, &green), &blue)| drm_color_lut { red, green, blue, reserved: 0 });
    let table: Vec<u8> = entries.flat_map(|entry| bytes_of(&entry).to_vec()).collect();
    let done = device.commit_draft(request, Pace::Blocking, None, |crtcs| {
        let blob = crtcs.blobs.create(table.clone())?;
        let mut draft = Draft { may_set_mode: true, ..Draft::default() };
        draft.pipe(crtcs, place)?.gamma = Some(blob);
        Ok(draft)
    })?;
    if let Some(pipe) = device.display.crtcs().pipes.get_mut(place) {
        pipe.ramp = ramp;
    }
    sleep_until(done);
    Ok(())
}

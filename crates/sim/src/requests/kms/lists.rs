//! The objects of a display: GETRESOURCES, GETENCODER, GETCONNECTOR, GETPLANERESOURCES and GETPLANE.
//!
//! A list is copied as the kernel does: either as many items as there is room for, or all of them or none.

use bytemuck::bytes_of;
use gem_coherency::Errno;

use super::super::{Caller, refuse};
use super::objects::Found;
use super::properties;
use crate::display::crtcs::Crtcs;
use crate::display::planes::{self, Kind};
use gem_coherency::backend::display::Mode;
use gem_coherency::error::Result;
use gem_coherency_uapi::drm_display::*;
use gem_coherency_uapi::drm_modeset::*;

/// `enum drm_connector_status`.
const CONNECTED: u32 = 1;
const DISCONNECTED: u32 = 2;
/// `SubPixelUnknown`.
const SUBPIXEL_UNKNOWN: u32 = 0;
/// The size of the simulated screen, in millimetres.
const SCREEN_MM: (u32, u32) = (304, 228);
/// Pictures per second of the screen's modes.
const REFRESH_HZ: u32 = 60;

/// Returns the modes of the connector at a place, the preferred one first.
pub(crate) fn modes(connector_index: usize) -> &'static [Mode] {
    if connector_index == 0 { &[Mode::XGA, Mode::VGA] } else { &[] }
}

/// Returns a mode of a screen as the kernel lists it (`drm_mode_convert_to_umode`).
fn listed(mode: Mode, place: usize) -> drm_mode_modeinfo {
    let mut name = [0; 32];
    let text = mode.to_string();
    name.iter_mut().zip(text.as_bytes()).for_each(|(to, from)| *to = *from);
    let preferred = if place == 0 { DRM_MODE_TYPE_PREFERRED } else { 0 };
    drm_mode_modeinfo {
        r#type: DRM_MODE_TYPE_DRIVER | preferred,
        vrefresh: REFRESH_HZ,
        name,
        ..mode.into_raw()
    }
}

/// `drm_mode_getresources`.
pub(super) fn resources(caller: &mut Caller<'_>, args: &mut drm_mode_card_res) -> Result<()> {
    let request = DRM_IOCTL_MODE_GETRESOURCES.name;
    let device = caller.device;
    let framebuffers = device.own_framebuffers().clone();
    caller.put_some(request, args.fb_id_ptr, args.count_fbs, framebuffers.iter().copied())?;
    args.count_fbs = framebuffers.len() as u32;
    let most = device.system.machine.largest_framebuffer();
    (args.min_width, args.max_width) = (0, most);
    (args.min_height, args.max_height) = (0, most);
    let encoders = (0..Crtcs::CONNECTORS.len()).map(Crtcs::encoder_id);
    let count = encoders.len() as u32;
    caller.put_some(request, args.encoder_id_ptr, args.count_encoders, encoders)?;
    args.count_encoders = count;
    let crtcs = device.display.crtcs().all();
    caller.put_some(request, args.crtc_id_ptr, args.count_crtcs, crtcs.iter().map(|crtc| crtc.0))?;
    args.count_crtcs = crtcs.len() as u32;
    let connectors = Crtcs::CONNECTORS.map(|connector| connector.id);
    caller.put_some(request, args.connector_id_ptr, args.count_connectors, connectors)?;
    args.count_connectors = connectors.len() as u32;
    Ok(())
}

/// Returns a mask of all CRTCs.
fn all_pipes(crtcs: &Crtcs) -> u32 {
    (1 << crtcs.pipes.len()) - 1
}

/// `drm_mode_getencoder`.
pub(super) fn encoder(caller: &mut Caller<'_>, args: &mut drm_mode_get_encoder) -> Result<()> {
    let Some(connector_index) = Crtcs::encoder(args.encoder_id) else {
        return refuse(DRM_IOCTL_MODE_GETENCODER.name, Errno::ENOENT);
    };
    let crtcs = caller.device.display.crtcs();
    let pipe = crtcs.connector_states.get(connector_index).and_then(|state| state.pipe);
    args.crtc_id = pipe.map_or(0, Crtcs::id);
    args.encoder_type = DRM_MODE_ENCODER_TMDS;
    args.possible_crtcs = all_pipes(&crtcs);
    args.possible_clones = 1 << connector_index;
    Ok(())
}

/// `drm_mode_getconnector`. Probing finds what is known.
pub(super) fn connector(caller: &mut Caller<'_>, args: &mut drm_mode_get_connector) -> Result<()> {
    let request = DRM_IOCTL_MODE_GETCONNECTOR.name;
    let device = caller.device;
    let Some(connector_index) = Crtcs::connector_index(args.connector_id) else {
        return refuse(request, Errno::ENOENT);
    };
    let Some(connector) = Crtcs::CONNECTORS.get(connector_index) else {
        return refuse(request, Errno::ENOENT);
    };
    caller.put_some(request, args.encoders_ptr, args.count_encoders, [Crtcs::encoder_id(connector_index)])?;
    args.count_encoders = 1;
    (args.connector_type, args.connector_type_id) = (connector.kind, connector.number);
    let modes = modes(connector_index);
    let connected = !modes.is_empty();
    args.connection = if connected { CONNECTED } else { DISCONNECTED };
    (args.mm_width, args.mm_height) = if connected { SCREEN_MM } else { (0, 0) };
    args.subpixel = SUBPIXEL_UNKNOWN;
    if args.count_modes as usize >= modes.len() {
        for (place, &mode) in modes.iter().enumerate() {
            let address = args.modes_ptr.wrapping_add((place * size_of::<drm_mode_modeinfo>()) as u64);
            caller.put(request, address, bytes_of(&listed(mode, place)))?;
        }
    }
    args.count_modes = modes.len() as u32;
    let listed = {
        let crtcs = device.display.crtcs();
        let driven = crtcs.connector_states.get(connector_index).is_some_and(|state| state.pipe.is_some());
        args.encoder_id = if driven { Crtcs::encoder_id(connector_index) } else { 0 };
        properties::of(device, &crtcs, Found::Connector(connector_index))
    };
    let to = (args.props_ptr, args.prop_values_ptr);
    args.count_props = properties::put(caller, request, to, args.count_props, &listed)?;
    Ok(())
}

/// `drm_mode_getplane_res`: files that do not know the other kinds see sprites only.
pub(super) fn planes(caller: &mut Caller<'_>, args: &mut drm_mode_get_plane_res) -> Result<()> {
    let device = caller.device;
    let all = device.client().all_planes;
    let ids: Vec<_> = {
        let crtcs = device.display.crtcs();
        let planes = crtcs.planes().filter(|(_, _, kind)| all || *kind == Kind::Overlay);
        planes.map(|(pipe, slot, _)| crtcs.plane_id(pipe, slot)).collect()
    };
    let request = DRM_IOCTL_MODE_GETPLANERESOURCES.name;
    caller.put_some(request, args.plane_id_ptr, args.count_planes, ids.iter().copied())?;
    args.count_planes = ids.len() as u32;
    Ok(())
}

/// `drm_mode_getplane`.
pub(super) fn plane(caller: &mut Caller<'_>, args: &mut drm_mode_get_plane) -> Result<()> {
    let request = DRM_IOCTL_MODE_GETPLANE.name;
    let device = caller.device;
    let crtcs = device.display.crtcs();
    let Some((pipe, slot, kind)) = crtcs.plane(args.plane_id) else { return refuse(request, Errno::ENOENT) };
    let state = crtcs.pipes.get(pipe).and_then(|pipe| pipe.planes.get(slot));
    let shown = state.and_then(|state| state.shown.as_ref()).map(|plane| plane.id);
    drop(crtcs);
    args.fb_id = shown.unwrap_or(0);
    args.crtc_id = shown.map_or(0, |_| Crtcs::id(pipe));
    args.possible_crtcs = 1 << pipe;
    args.gamma_size = 0;
    let formats = planes::formats(device.system.machine, kind);
    if args.count_format_types as usize >= formats.len() {
        let room = formats.len() as u32;
        caller.put_some(request, args.format_type_ptr, room, formats.iter().copied())?;
    }
    args.count_format_types = formats.len() as u32;
    Ok(())
}

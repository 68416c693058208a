//! Properties and blobs: GETPROPERTY, SETPROPERTY, OBJ_GETPROPERTIES, OBJ_SETPROPERTY, GETPROPBLOB, CREATEPROPBLOB
//! and DESTROYPROPBLOB.

use bytemuck::bytes_of;
use gem_coherency::Errno;

use super::super::{Caller, refuse};
use super::objects::{Found, OutFences, check, set as set_in_draft};
use crate::SimDevice;
use crate::display::blobs::Blobs;
use crate::display::commit::Pace;
use crate::display::crtcs::Crtcs;
use crate::display::draft::Draft;
use crate::display::properties::{DPMS_OFF, DPMS_ON, Property, Values};
use crate::display::vblanks::sleep_until;
use gem_coherency::error::Result;
use gem_coherency_uapi::drm_display::*;
use gem_coherency_uapi::drm_modeset::*;

/// Returns `text` as a name in a struct.
fn name(text: &str) -> [u8; 32] {
    let mut name = [0; 32];
    name.iter_mut().zip(text.as_bytes()).for_each(|(to, from)| *to = *from);
    name
}

/// `drm_mode_getproperty_ioctl`.
pub(super) fn get(caller: &mut Caller<'_>, args: &mut drm_mode_get_property) -> Result<()> {
    let request = DRM_IOCTL_MODE_GETPROPERTY.name;
    let Some(property) = Property::find(args.prop_id) else { return refuse(request, Errno::ENOENT) };
    args.name = name(property.name());
    args.flags = property.flags();
    let (values, items) = match property.values() {
        Values::Range(least, most) => (vec![least, most], &[][..]),
        Values::Signed(least, most) => (vec![least as u64, most as u64], &[][..]),
        Values::Enum(items) => (items.iter().map(|(number, _)| *number).collect(), items),
        Values::Blob => (Vec::new(), &[][..]),
        Values::Object(kind) => (vec![kind.into()], &[][..]),
    };
    for (index, value) in (0..args.count_values).zip(&values) {
        caller.put(request, args.values_ptr.wrapping_add(8 * u64::from(index)), &value.to_le_bytes())?;
    }
    args.count_values = values.len() as u32;
    for (index, (value, text)) in (0..args.count_enum_blobs).zip(items) {
        let item = drm_mode_property_enum { value: *value, name: name(text) };
        let offset = u64::from(index) * size_of::<drm_mode_property_enum>() as u64;
        caller.put(request, args.enum_blob_ptr.wrapping_add(offset), bytes_of(&item))?;
    }
    args.count_enum_blobs = items.len() as u32;
    Ok(())
}

/// Lists the properties of an object that the file sees, with their values.
pub(super) fn of(device: &SimDevice, crtcs: &Crtcs, found: Found) -> Vec<(Property, u64)> {
    let atomic = device.client().atomic;
    let seen = found.properties(device).filter(|property| atomic || !property.is_atomic());
    seen.map(|property| (property, found.value(crtcs, property))).collect()
}

/// Copies as many ids and values as there is room for; returns how many there are
/// (`drm_mode_object_get_properties`).
pub(super) fn put(
    caller: &mut Caller<'_>,
    request: &'static str,
    (ids, values): (u64, u64),
    room: u32,
    listed: &[(Property, u64)],
) -> Result<u32> {
    for (index, (property, value)) in (0..u64::from(room)).zip(listed) {
        caller.put(request, ids.wrapping_add(4 * index), &property.id().to_le_bytes())?;
        caller.put(request, values.wrapping_add(8 * index), &value.to_le_bytes())?;
    }
    Ok(listed.len() as u32)
}

/// `drm_mode_obj_get_properties_ioctl`.
pub(super) fn get_all(caller: &mut Caller<'_>, args: &mut drm_mode_obj_get_properties) -> Result<()> {
    let request = DRM_IOCTL_MODE_OBJ_GETPROPERTIES.name;
    let device = caller.device;
    let listed = {
        let crtcs = device.display.crtcs();
        match Found::find(device, &crtcs, args.obj_id, args.obj_type) {
            None => return refuse(request, Errno::ENOENT),
            Some(Found::Plain) => return refuse(request, Errno::EINVAL),
            Some(found) => of(device, &crtcs, found),
        }
    };
    args.count_props =
        put(caller, request, (args.props_ptr, args.prop_values_ptr), args.count_props, &listed)?;
    Ok(())
}

/// `drm_mode_obj_set_property_ioctl`.
pub(super) fn set(caller: &mut Caller<'_>, args: &mut drm_mode_obj_set_property) -> Result<()> {
    set_property(caller, DRM_IOCTL_MODE_OBJ_SETPROPERTY.name, args)
}

/// `drm_connector_property_set_ioctl`.
pub(super) fn set_of_connector(
    caller: &mut Caller<'_>,
    args: &mut drm_mode_connector_set_property,
) -> Result<()> {
    let args = drm_mode_obj_set_property {
        value: args.value,
        prop_id: args.prop_id,
        obj_id: args.connector_id,
        obj_type: DRM_MODE_OBJECT_CONNECTOR,
        __pad0: 0,
    };
    set_property(caller, DRM_IOCTL_MODE_SETPROPERTY.name, &args)
}

/// Sets a property by a commit of its own (`set_property_atomic`).
fn set_property(
    caller: &mut Caller<'_>,
    request: &'static str,
    args: &drm_mode_obj_set_property,
) -> Result<()> {
    let device = caller.device;
    let mut dpms = None;
    let done = device.commit_draft(request, Pace::Blocking, None, |crtcs| {
        let found = Found::find(device, crtcs, args.obj_id, args.obj_type).ok_or(Errno::ENOENT)?;
        let mut of = found.properties(device);
        let property = of.find(|property| property.id() == args.prop_id).ok_or(Errno::EINVAL)?;
        let mut draft = Draft { may_set_mode: true, ..Draft::default() };
        match (found, property) {
            (Found::Connector(connector_index), Property::Dpms) => {
                check(device, crtcs, property, args.value)?;
                dpms = Some((connector_index, if args.value == DPMS_ON { DPMS_ON } else { DPMS_OFF }));
                set_dpms(crtcs, &mut draft, connector_index, args.value == DPMS_ON)?;
            }
            (found, property) => {
                let what = (found, property, args.value);
                // The fence of a commit of one property has no use: its address gets -1 only.
                set_in_draft(caller, crtcs, &mut draft, &mut OutFences::new(), what)?;
            }
        }
        Ok(draft)
    })?;
    if let Some((connector_index, value)) = dpms
        && let Some(state) = device.display.crtcs().connector_states.get_mut(connector_index)
    {
        state.dpms = value;
    }
    sleep_until(done);
    Ok(())
}

/// Turns a connector's CRTC on or off; it is on while one of its connectors is
/// (`drm_atomic_connector_commit_dpms`).
fn set_dpms(crtcs: &Crtcs, draft: &mut Draft, connector_index: usize, on: bool) -> Result<(), Errno> {
    let Some(pipe) = crtcs.connector_states.get(connector_index).and_then(|state| state.pipe) else {
        return Ok(());
    };
    let others = crtcs.connector_states.iter().enumerate().filter(|(place, other)| {
        *place != connector_index && other.pipe == Some(pipe) && other.dpms == DPMS_ON
    });
    draft.pipe(crtcs, pipe)?.active = on || others.count() > 0;
    Ok(())
}

/// `drm_mode_getblob_ioctl`.
pub(super) fn get_blob(caller: &mut Caller<'_>, args: &mut drm_mode_get_blob) -> Result<()> {
    let request = DRM_IOCTL_MODE_GETPROPBLOB.name;
    let found = caller.device.display.crtcs().blobs.find(args.blob_id);
    let Some(blob) = found else { return refuse(request, Errno::ENOENT) };
    if args.length as usize == blob.data.len() {
        caller.put(request, args.data, &blob.data)?;
    }
    args.length = blob.data.len() as u32;
    Ok(())
}

/// `drm_mode_createblob_ioctl`.
pub(super) fn create_blob(caller: &mut Caller<'_>, args: &mut drm_mode_create_blob) -> Result<()> {
    let request = DRM_IOCTL_MODE_CREATEPROPBLOB.name;
    let bad = |errno| refuse(request, errno);
    let length = args.length as usize;
    if let Err(errno) = Blobs::check_length(length) {
        return bad(errno);
    }
    // The last byte first: a length that the caller does not have needs no memory here.
    let end = args.data.checked_add(length as u64 - 1);
    if end.is_none_or(|end| caller.memory.read(end, &mut [0]) < 1) {
        return bad(Errno::EFAULT);
    }
    let mut data = Vec::new();
    if data.try_reserve_exact(length).is_err() {
        return bad(Errno::ENOMEM);
    }
    data.resize(length, 0);
    if caller.memory.read(args.data, &mut data) < length {
        return bad(Errno::EFAULT);
    }
    let mut crtcs = caller.device.display.crtcs();
    let blob = match crtcs.blobs.create(data) {
        Ok(blob) => blob,
        Err(errno) => return bad(errno),
    };
    args.blob_id = blob.id;
    crtcs.blobs.own(caller.device.own.number, blob);
    Ok(())
}

/// `drm_mode_destroyblob_ioctl`.
pub(super) fn destroy_blob(caller: &mut Caller<'_>, args: &mut drm_mode_destroy_blob) -> Result<()> {
    let device = caller.device;
    let done = device.display.crtcs().blobs.destroy(device.own.number, args.blob_id);
    done.or_else(|errno| refuse(DRM_IOCTL_MODE_DESTROYPROPBLOB.name, errno))
}

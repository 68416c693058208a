//! Display objects by id, the values of their properties, and new values in a draft.

use bytemuck::try_pod_read_unaligned;
use gem_coherency::Errno;

use super::super::Caller;
use super::show::is_good;
use crate::SimDevice;
use crate::display::blobs::Blob;
use crate::display::crtcs::{Area, Crtcs};
use crate::display::draft::Draft;
use crate::display::properties::{GAMMA_SIZE, OF_CONNECTORS, OF_CRTCS, OF_PLANES, Property, Values};
use crate::process::files::File;
use gem_coherency::backend::display::Mode;
use gem_coherency_uapi::drm_display::drm_mode_modeinfo;
use gem_coherency_uapi::drm_modeset::*;

/// `DRM_MODE_OBJECT_*` of objects without properties.
const ENCODER: u32 = 0xe0e0_e0e0;
const PROPERTY: u32 = 0xb0b0_b0b0;
const BLOB: u32 = 0xbbbb_bbbb;

/// A display object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Found {
    Crtc(usize),
    Plane(usize, usize),
    Connector(usize),
    /// One without properties: an encoder, a framebuffer, a property or a blob.
    Plain,
}

impl Found {
    /// Finds an object of a type, or of any (`drm_mode_object_find`).
    pub(super) fn find(device: &SimDevice, crtcs: &Crtcs, id: u32, kind: u32) -> Option<Self> {
        let is = |of: u32| kind == of || kind == DRM_MODE_OBJECT_ANY;
        if let Some(place) = crtcs.place(id) {
            return is(DRM_MODE_OBJECT_CRTC).then_some(Self::Crtc(place));
        }
        if let Some((pipe, slot, _)) = crtcs.plane(id) {
            return is(DRM_MODE_OBJECT_PLANE).then_some(Self::Plane(pipe, slot));
        }
        if let Some(connector_index) = Crtcs::connector_index(id) {
            return is(DRM_MODE_OBJECT_CONNECTOR).then_some(Self::Connector(connector_index));
        }
        let framebuffer = || device.display.framebuffers().get(id).is_some();
        let plain = (is(ENCODER) && Crtcs::encoder(id).is_some())
            || (is(PROPERTY) && Property::find(id).is_some())
            || (is(DRM_MODE_OBJECT_FB) && framebuffer())
            || (is(BLOB) && crtcs.blobs.find(id).is_some());
        plain.then_some(Self::Plain)
    }

    /// Lists its properties: without atomic commits, the driver has none of those that need them.
    pub(super) fn properties(self, device: &SimDevice) -> impl Iterator<Item = Property> {
        let all = match self {
            Self::Crtc(_) => OF_CRTCS,
            Self::Plane(..) => OF_PLANES,
            Self::Connector(_) => OF_CONNECTORS,
            Self::Plain => &[],
        };
        let atomic = device.system.machine.has_atomic();
        all.iter().copied().filter(move |property| atomic || !property.is_atomic())
    }

    /// Returns the value of a property (`drm_atomic_get_property`).
    pub(super) fn value(self, crtcs: &Crtcs, property: Property) -> u64 {
        match self {
            Self::Crtc(place) => crtc_value(crtcs, place, property),
            Self::Plane(pipe, slot) => plane_value(crtcs, (pipe, slot), property),
            Self::Connector(connector_index) => connector_value(crtcs, connector_index, property),
            Self::Plain => 0,
        }
    }
}

fn id_of(blob: Option<&std::sync::Arc<Blob>>) -> u64 {
    blob.map_or(0, |blob| blob.id.into())
}

fn crtc_value(crtcs: &Crtcs, place: usize, property: Property) -> u64 {
    let Some(pipe) = crtcs.pipes.get(place) else { return 0 };
    if property == Property::Active {
        u64::from(pipe.active)
    } else if property == Property::ModeId {
        id_of(pipe.mode.as_ref())
    } else if property == Property::GammaLut {
        id_of(pipe.gamma.as_ref())
    } else if property == Property::GammaLutSize {
        GAMMA_SIZE as u64
    } else {
        0
    }
}

fn plane_value(crtcs: &Crtcs, (place, slot): (usize, usize), property: Property) -> u64 {
    let kind = crtcs.kind(place, slot);
    let Some(state) = crtcs.pipes.get(place).and_then(|pipe| pipe.planes.get(slot)) else { return 0 };
    let Area { at, size, from, source } = state.area;
    let signed = |number: i32| i64::from(number) as u64;
    let area = [
        (Property::CrtcX, signed(at.0)),
        (Property::CrtcY, signed(at.1)),
        (Property::CrtcW, size.0.into()),
        (Property::CrtcH, size.1.into()),
        (Property::SrcX, from.0.into()),
        (Property::SrcY, from.1.into()),
        (Property::SrcW, source.0.into()),
        (Property::SrcH, source.1.into()),
        (Property::Type, kind as u64),
        (Property::InFenceFd, u64::MAX),
        (Property::FbId, state.shown.as_ref().map_or(0, |plane| plane.id.into())),
        (Property::CrtcId, state.shown.as_ref().map_or(0, |_| Crtcs::id(place).into())),
        (Property::InFormats, id_of(crtcs.formats(kind))),
    ];
    area.iter().find(|(of, _)| *of == property).map_or(0, |(_, value)| *value)
}

fn connector_value(crtcs: &Crtcs, connector_index: usize, property: Property) -> u64 {
    let Some(state) = crtcs.connector_states.get(connector_index) else { return 0 };
    if property == Property::CrtcId {
        state.pipe.map_or(0, |pipe| Crtcs::id(pipe).into())
    } else if property == Property::Dpms {
        state.dpms
    } else {
        0
    }
}

/// Checks that a property may have the value (`drm_property_change_valid_get`).
///
/// # Errors
/// EINVAL.
pub(super) fn check(device: &SimDevice, crtcs: &Crtcs, property: Property, value: u64) -> Result<(), Errno> {
    // The kernel ignores the high bits of ids.
    let id = value as u32;
    let fine = !property.is_fixed()
        && match property.values() {
            Values::Range(least, most) => (least..=most).contains(&value),
            Values::Signed(least, most) => (least..=most).contains(&(value as i64)),
            Values::Enum(items) => items.iter().any(|(number, _)| *number == value),
            Values::Blob => value == 0 || crtcs.blobs.find(id).is_some(),
            Values::Object(kind) => value == 0 || Found::find(device, crtcs, id, kind).is_some(),
        };
    if fine { Ok(()) } else { Err(Errno::EINVAL) }
}

/// The addresses that want the fence of each CRTC (OUT_FENCE_PTR).
pub(super) type OutFences = std::collections::BTreeMap<usize, u64>;

/// Sets a property in a draft (`drm_atomic_set_property`).
///
/// # Errors
/// EINVAL for a value that the property cannot have, and for DPMS; EFAULT for a bad address.
pub(super) fn set(
    caller: &mut Caller<'_>,
    crtcs: &Crtcs,
    draft: &mut Draft,
    fences: &mut OutFences,
    (found, property, value): (Found, Property, u64),
) -> Result<(), Errno> {
    check(caller.device, crtcs, property, value)?;
    // The values of these properties are checked; of ids, the kernel ignores the high bits.
    let number = value as u32;
    match found {
        Found::Crtc(place) => set_crtc(caller, crtcs, draft, fences, (place, property, value)),
        Found::Plane(pipe, slot) => {
            let place = (pipe, slot);
            if property == Property::CrtcId {
                return draft.put_plane(crtcs, place, crtcs.place(number));
            }
            if property == Property::InFenceFd {
                draft.plane(crtcs, place)?;
                return take_fence(caller, draft, place, value);
            }
            let plane = draft.plane(crtcs, place)?;
            let area = &mut plane.area;
            if property == Property::FbId {
                plane.framebuffer = (number != 0).then_some(number);
            } else if property == Property::CrtcX {
                area.at.0 = number as i32;
            } else if property == Property::CrtcY {
                area.at.1 = number as i32;
            } else if property == Property::CrtcW {
                area.size.0 = number;
            } else if property == Property::CrtcH {
                area.size.1 = number;
            } else if property == Property::SrcX {
                area.from.0 = number;
            } else if property == Property::SrcY {
                area.from.1 = number;
            } else if property == Property::SrcW {
                area.source.0 = number;
            } else if property == Property::SrcH {
                area.source.1 = number;
            }
            Ok(())
        }
        Found::Connector(connector_index) if property == Property::CrtcId => {
            draft.connect(crtcs, connector_index, crtcs.place(number))
        }
        Found::Connector(_) if property == Property::Dpms => Err(Errno::EINVAL),
        // The link is good, and only the driver makes it bad.
        Found::Connector(connector_index) => {
            let driver = crtcs.connector_states.get(connector_index).and_then(|state| state.pipe);
            driver.map_or(Ok(()), |pipe| draft.pipe(crtcs, pipe).map(drop))
        }
        Found::Plain => Err(Errno::EINVAL),
    }
}

/// `drm_atomic_crtc_set_property`.
fn set_crtc(
    caller: &mut Caller<'_>,
    crtcs: &Crtcs,
    draft: &mut Draft,
    fences: &mut OutFences,
    (place, property, value): (usize, Property, u64),
) -> Result<(), Errno> {
    let machine = caller.device.system.machine;
    let pipe = draft.pipe(crtcs, place)?;
    let blob = crtcs.blobs.find(value as u32);
    if property == Property::Active {
        pipe.active = value != 0;
    } else if property == Property::ModeId {
        let good = |blob: &std::sync::Arc<Blob>| {
            let mode = try_pod_read_unaligned::<drm_mode_modeinfo>(&blob.data);
            mode.is_ok_and(|mode| is_good(&Mode::from_raw(&mode), machine))
        };
        if !blob.as_ref().is_none_or(good) {
            return Err(Errno::EINVAL);
        }
        pipe.mode = blob;
    } else if property == Property::GammaLut {
        let whole = |blob: &std::sync::Arc<Blob>| blob.data.len().is_multiple_of(size_of::<drm_color_lut>());
        if !blob.as_ref().is_none_or(whole) {
            return Err(Errno::EINVAL);
        }
        pipe.gamma = blob;
    } else if property == Property::OutFencePtr && value != 0 {
        let none = (-1_i32).to_le_bytes();
        if caller.memory.write(value, &none) < none.len() {
            return Err(Errno::EFAULT);
        }
        fences.insert(place, value);
    }
    Ok(())
}

/// Makes the commit wait for a fence (IN_FENCE_FD).
fn take_fence(
    caller: &Caller<'_>,
    draft: &mut Draft,
    place: (usize, usize),
    value: u64,
) -> Result<(), Errno> {
    let fd = value as i64 as i32;
    if draft.fenced.contains(&place) {
        return Err(Errno::EINVAL);
    }
    if fd == -1 {
        return Ok(());
    }
    let Ok(File::Fence(fence)) = caller.files.get(fd) else { return Err(Errno::EINVAL) };
    draft.fenced.push(place);
    draft.fences.push(fence.clone());
    Ok(())
}

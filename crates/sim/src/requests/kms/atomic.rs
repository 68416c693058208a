//! ATOMIC: many properties at once.

use bytemuck::Pod;
use gem_coherency::Errno;

use super::super::{Caller, refuse};
use super::objects::{Found, OutFences, set};
use super::plane::check_flip_at_once;
use crate::display::commit::Pace;
use crate::display::crtcs::Crtcs;
use crate::display::draft::{Draft, PlaneDraft};
use crate::display::planes::Kind;
use crate::display::properties::Property;
use crate::display::vblanks::sleep_until;
use crate::process::files::File;
use crate::sync::fence::Fence;
use gem_coherency::error::{Error, Result};
use gem_coherency::vocabulary::KernelVersion;
use gem_coherency_uapi::drm_display::{DRM_IOCTL_MODE_ATOMIC, DRM_MODE_PAGE_FLIP_EVENT};
use gem_coherency_uapi::drm_modeset::*;

/// The first kernel with commits that do not wait for the vertical blank.
const ASYNC: KernelVersion = KernelVersion::new(6, 8);

/// `drm_mode_atomic_ioctl`.
///
/// A commit with an OUT_FENCE_PTR waits for the vertical blank, also if it is nonblocking: its fence is signalled.
pub(super) fn commit(caller: &mut Caller<'_>, args: &mut drm_mode_atomic) -> Result<()> {
    let request = DRM_IOCTL_MODE_ATOMIC.name;
    let device = caller.device;
    let machine = device.system.machine;
    if !machine.has_atomic() {
        return refuse(request, Errno::EOPNOTSUPP);
    }
    let says = |flag| args.flags & flag != 0;
    let asynchronous = says(DRM_MODE_PAGE_FLIP_ASYNC);
    let late = asynchronous && (machine.kernel < ASYNC || !machine.flips_at_once());
    let event = says(DRM_MODE_PAGE_FLIP_EVENT);
    let test = says(DRM_MODE_ATOMIC_TEST_ONLY);
    let bad = args.flags & !DRM_MODE_ATOMIC_FLAGS != 0 || args.reserved != 0 || late || (test && event);
    if !device.client().atomic || bad {
        return refuse(request, Errno::EINVAL);
    }
    let pace = if test {
        Pace::Test
    } else if asynchronous {
        Pace::AtOnce
    } else if says(DRM_MODE_ATOMIC_NONBLOCK) {
        Pace::Nonblocking
    } else {
        Pace::Blocking
    };
    let mut fences = OutFences::new();
    let user_data = event.then_some(args.user_data);
    let done = device.commit_draft(request, pace, user_data, |crtcs| {
        fences.clear();
        draft_of(caller, crtcs, args, &mut fences)
    })?;
    if test {
        return Ok(());
    }
    if pace == Pace::Blocking || !fences.is_empty() {
        sleep_until(done);
    }
    for address in fences.into_values() {
        let installed = caller.files.install(File::Fence(Fence::default()), true);
        let fd = installed.or_else(|errno| refuse(request, errno))?;
        caller.put(request, address, &fd.to_le_bytes())?;
    }
    Ok(())
}

/// Reads the objects and properties, and makes a draft of them.
fn draft_of(
    caller: &mut Caller<'_>,
    crtcs: &Crtcs,
    args: &drm_mode_atomic,
    fences: &mut OutFences,
) -> Result<Draft, Errno> {
    let may_set_mode = args.flags & DRM_MODE_ATOMIC_ALLOW_MODESET != 0;
    let asynchronous = args.flags & DRM_MODE_PAGE_FLIP_ASYNC != 0;
    let mut draft = Draft { may_set_mode, ..Draft::default() };
    let mut next = 0_u64;
    for index in 0..u64::from(args.count_objs) {
        let id: u32 = read(caller, args.objs_ptr, index)?;
        let found = Found::find(caller.device, crtcs, id, DRM_MODE_OBJECT_ANY).ok_or(Errno::ENOENT)?;
        if found == Found::Plain {
            return Err(Errno::ENOENT);
        }
        let count: u32 = read(caller, args.count_props_ptr, index)?;
        for _ in 0..count {
            let id: u32 = read(caller, args.props_ptr, next)?;
            let mut of = found.properties(caller.device);
            let property = of.find(|property| property.id() == id).ok_or(Errno::ENOENT)?;
            let value: u64 = read(caller, args.prop_values_ptr, next)?;
            next += 1;
            if asynchronous {
                join(&mut draft, crtcs, found)?;
            }
            if !asynchronous || may_change_at_once(caller, crtcs, (found, property, value))? {
                set(caller, crtcs, &mut draft, fences, (found, property, value))?;
            }
        }
    }
    if asynchronous {
        check_at_once(&draft, crtcs)?;
    }
    Ok(draft)
}

/// Makes an object part of a draft, without a change (`drm_atomic_set_property`).
fn join(draft: &mut Draft, crtcs: &Crtcs, found: Found) -> Result<(), Errno> {
    match found {
        Found::Crtc(place) => draft.pipe(crtcs, place).map(drop),
        Found::Plane(pipe, slot) => draft.plane(crtcs, (pipe, slot)).map(drop),
        Found::Connector(index) => {
            let driver = crtcs.connector_states.get(index).and_then(|state| state.pipe);
            draft.connect(crtcs, index, driver)
        }
        Found::Plain => Ok(()),
    }
}

/// Checks what a commit that does not wait concerns (`intel_async_flip_check_uapi`).
///
/// # Errors
/// EINVAL for a CRTC that is off, and for another plane than a primary one that shows a framebuffer, before and after.
fn check_at_once(draft: &Draft, crtcs: &Crtcs) -> Result<(), Errno> {
    let flips = |(&(pipe, slot), new): (&(usize, usize), &PlaneDraft)| {
        let state = crtcs.pipes.get(pipe).and_then(|pipe| pipe.planes.get(slot));
        let was_shown = state.is_some_and(|state| state.shown.is_some());
        crtcs.kind(pipe, slot) == Kind::Primary && was_shown && new.framebuffer.is_some()
    };
    let is_fine = draft.pipes.values().all(|pipe| pipe.active) && draft.planes.iter().all(flips);
    if is_fine { Ok(()) } else { Err(Errno::EINVAL) }
}

/// Returns whether a commit that does not wait changes the property; it can only change the primary plane's
/// framebuffer, and the fence that it waits for (`drm_atomic_check_prop_changes`).
///
/// # Errors
/// EINVAL for another property with another value, and for a framebuffer that differs in more than its address.
fn may_change_at_once(
    caller: &Caller<'_>,
    crtcs: &Crtcs,
    (found, property, value): (Found, Property, u64),
) -> Result<bool, Errno> {
    if let (Found::Plane(pipe, slot), Property::FbId) = (found, property) {
        let now = crtcs.pipes.get(pipe).and_then(|pipe| pipe.planes.get(slot));
        let before = now.and_then(|state| state.shown.as_ref()).ok_or(Errno::EINVAL)?;
        if crtcs.kind(pipe, slot) != Kind::Primary {
            return Err(Errno::EINVAL);
        }
        let after = u32::try_from(value).ok().and_then(|id| caller.device.display.framebuffers().get(id));
        return check_flip_at_once(crtcs, &before.framebuffer, &after.ok_or(Errno::EINVAL)?).map(|()| true);
    }
    if let (Found::Plane(pipe, slot), Property::InFenceFd) = (found, property)
        && crtcs.kind(pipe, slot) == Kind::Primary
    {
        return Ok(true);
    }
    if found.value(crtcs, property) == value { Ok(false) } else { Err(Errno::EINVAL) }
}

/// Reads the number at a place of a list in the caller's memory (`get_user`).
fn read<T: Pod>(caller: &Caller<'_>, list: u64, index: u64) -> Result<T, Errno> {
    let address = list.wrapping_add(index.wrapping_mul(size_of::<T>() as u64));
    let value = caller.get(DRM_IOCTL_MODE_ATOMIC.name, address);
    value.map_err(|error: Error| error.errno())
}

//! The mode-setting requests other than those for framebuffers and dumb buffers.
//!
//! Without a display the driver drops `DRIVER_MODESET` and `DRIVER_ATOMIC`, and every such request fails
//! before it reads its struct. With a display, the raw requests find no CRTC, connector, encoder, plane or
//! property: lists are empty and every id is unknown. The typed requests of [`gem_coherency::drm::display`]
//! provide these objects. Property blobs and leases are not simulated.

use gem_coherency::Errno;

use super::table::Entry;
use super::{Caller, refuse};
use crate::machine::faults::Needs;
use crate::machine::masters::Allowed;
use gem_coherency::error::Result;
use gem_coherency::uapi::drm_display::{
    DRM_IOCTL_CRTC_GET_SEQUENCE, DRM_IOCTL_CRTC_QUEUE_SEQUENCE, DRM_IOCTL_MODE_ATOMIC,
    DRM_IOCTL_MODE_CREATE_LEASE, DRM_IOCTL_MODE_CREATEPROPBLOB, DRM_IOCTL_MODE_CURSOR,
    DRM_IOCTL_MODE_CURSOR2, DRM_IOCTL_MODE_DESTROYPROPBLOB, DRM_IOCTL_MODE_GET_LEASE,
    DRM_IOCTL_MODE_GETCONNECTOR, DRM_IOCTL_MODE_GETCRTC, DRM_IOCTL_MODE_GETENCODER, DRM_IOCTL_MODE_GETGAMMA,
    DRM_IOCTL_MODE_GETPLANE, DRM_IOCTL_MODE_GETPLANERESOURCES, DRM_IOCTL_MODE_GETPROPBLOB,
    DRM_IOCTL_MODE_GETPROPERTY, DRM_IOCTL_MODE_LIST_LESSEES, DRM_IOCTL_MODE_OBJ_GETPROPERTIES,
    DRM_IOCTL_MODE_OBJ_SETPROPERTY, DRM_IOCTL_MODE_PAGE_FLIP, DRM_IOCTL_MODE_REVOKE_LEASE,
    DRM_IOCTL_MODE_SETCRTC, DRM_IOCTL_MODE_SETGAMMA, DRM_IOCTL_MODE_SETPLANE, DRM_IOCTL_MODE_SETPROPERTY,
    DRM_IOCTL_WAIT_VBLANK,
};

/// The checks of a request on a device with a display; takes the struct.
type Check = fn(&Caller<'_>, &mut [u8]) -> Result<(), Errno>;

/// Builds entries from `REQUEST, allowed => check`.
macro_rules! modes {
    ($($request:ident, $allowed:ident => $check:expr;)+) => {
        &[$(Entry {
            code: $request.code,
            allowed: Allowed::$allowed,
            run: |caller, bytes| with_display(caller, bytes, $request.name, $check),
        },)+]
    };
}

pub(super) static ENTRIES: &[Entry] = modes! {
    DRM_IOCTL_WAIT_VBLANK, Primary => |_, _| Err(Errno::EINVAL);
    DRM_IOCTL_CRTC_GET_SEQUENCE, Primary => unknown;
    DRM_IOCTL_CRTC_QUEUE_SEQUENCE, Primary => unknown;
    DRM_IOCTL_MODE_GETCRTC, Primary => unknown;
    DRM_IOCTL_MODE_SETCRTC, Master => set_crtc;
    DRM_IOCTL_MODE_CURSOR, Master => cursor;
    DRM_IOCTL_MODE_GETGAMMA, Primary => unknown;
    DRM_IOCTL_MODE_SETGAMMA, Master => unknown;
    DRM_IOCTL_MODE_GETENCODER, Primary => unknown;
    DRM_IOCTL_MODE_GETCONNECTOR, Primary => unknown;
    DRM_IOCTL_MODE_GETPROPERTY, Primary => unknown;
    DRM_IOCTL_MODE_SETPROPERTY, Master => unknown;
    DRM_IOCTL_MODE_GETPROPBLOB, Primary => unknown;
    DRM_IOCTL_MODE_PAGE_FLIP, Master => page_flip;
    DRM_IOCTL_MODE_GETPLANERESOURCES, Primary => |_, bytes| empty_list(bytes);
    DRM_IOCTL_MODE_GETPLANE, Primary => unknown;
    DRM_IOCTL_MODE_SETPLANE, Master => unknown;
    DRM_IOCTL_MODE_OBJ_GETPROPERTIES, Primary => |caller, bytes| properties(caller, bytes, [20, 24]);
    DRM_IOCTL_MODE_OBJ_SETPROPERTY, Master => |caller, bytes| properties(caller, bytes, [12, 16]);
    DRM_IOCTL_MODE_CURSOR2, Master => cursor;
    DRM_IOCTL_MODE_ATOMIC, Master => atomic;
    DRM_IOCTL_MODE_CREATEPROPBLOB, Primary => |_, _| Err(Errno::EOPNOTSUPP);
    DRM_IOCTL_MODE_DESTROYPROPBLOB, Primary => unknown;
    DRM_IOCTL_MODE_CREATE_LEASE, Master => |_, _| Err(Errno::EOPNOTSUPP);
    DRM_IOCTL_MODE_LIST_LESSEES, Master => |_, _| Err(Errno::EOPNOTSUPP);
    DRM_IOCTL_MODE_GET_LEASE, Master => |_, _| Err(Errno::EOPNOTSUPP);
    DRM_IOCTL_MODE_REVOKE_LEASE, Master => unknown;
};

/// `DRM_MODE_CURSOR_FLAGS`.
const CURSOR_FLAGS: u32 = 0x03;
/// `DRM_MODE_PAGE_FLIP_FLAGS`, the flags that name a vertical blank, and the asynchronous one.
const FLIP_FLAGS: u32 = 0x0f;
const FLIP_TARGET: u32 = 0x0c;
const FLIP_ASYNC: u32 = 0x02;
/// `DRM_MODE_ATOMIC_FLAGS`, and two mutually exclusive ones of them.
const ATOMIC_FLAGS: u32 = 0x0703;
const ATOMIC_TEST_OF_EVENT: u32 = 0x0101;
/// `DRM_MODE_PAGE_FLIP_EVENT`.
const ATOMIC_EVENT: u32 = 0x0001;
/// `DRM_MODE_OBJECT_FB` and `DRM_MODE_OBJECT_ANY`.
const FRAMEBUFFERS: [u32; 2] = [0xfbfb_fbfb, 0];

/// Makes a display request, which fails without a display.
fn with_display(caller: &Caller<'_>, bytes: &mut [u8], request: &'static str, check: Check) -> Result<()> {
    caller.device.enter_display(request, Needs::Nothing)?;
    check(caller, bytes).or_else(|errno| refuse(request, errno))
}

/// Returns the number at an offset of a struct, which must contain it.
fn number(bytes: &[u8], at: usize) -> u32 {
    bytes.get(at..).and_then(|rest| rest.first_chunk()).map_or(0, |four| u32::from_le_bytes(*four))
}

/// Fails because the id is unknown.
fn unknown(_: &Caller<'_>, _: &mut [u8]) -> Result<(), Errno> {
    Err(Errno::ENOENT)
}

/// `drm_mode_getplane_res`: no planes.
fn empty_list(bytes: &mut [u8]) -> Result<(), Errno> {
    if let Some(count) = bytes.get_mut(8..12) {
        count.fill(0);
    }
    Ok(())
}

/// `drm_mode_setcrtc`, up to the lookup of the CRTC.
fn set_crtc(_: &Caller<'_>, bytes: &mut [u8]) -> Result<(), Errno> {
    let far = (number(bytes, 20) | number(bytes, 24)) & 0xffff_0000 != 0;
    Err(if far { Errno::ERANGE } else { Errno::ENOENT })
}

/// `drm_mode_cursor_common`, up to the lookup of the CRTC.
fn cursor(_: &Caller<'_>, bytes: &mut [u8]) -> Result<(), Errno> {
    let flags = number(bytes, 0);
    Err(if flags == 0 || flags & !CURSOR_FLAGS != 0 { Errno::EINVAL } else { Errno::ENOENT })
}

/// `drm_mode_page_flip_ioctl`, up to the lookup of the CRTC.
fn page_flip(caller: &Caller<'_>, bytes: &mut [u8]) -> Result<(), Errno> {
    let (flags, sequence) = (number(bytes, 8), number(bytes, 12));
    let target = flags & FLIP_TARGET;
    let late = flags & FLIP_ASYNC != 0 && !caller.device.system.machine.flips_at_once();
    let bad = flags & !FLIP_FLAGS != 0 || target == FLIP_TARGET || (sequence != 0 && target == 0) || late;
    Err(if bad { Errno::EINVAL } else { Errno::ENOENT })
}

/// `drm_mode_obj_get_properties_ioctl` and `drm_mode_obj_set_property_ioctl`, with the positions of id and
/// type. Framebuffers have no properties.
fn properties(caller: &Caller<'_>, bytes: &mut [u8], [id, kind]: [usize; 2]) -> Result<(), Errno> {
    let known = caller.device.system.framebuffers().get(number(bytes, id)).is_some();
    let framebuffer = known && FRAMEBUFFERS.contains(&number(bytes, kind));
    Err(if framebuffer { Errno::EINVAL } else { Errno::ENOENT })
}

/// `drm_mode_atomic_ioctl`, up to the lookup of the first object; without objects it commits nothing.
fn atomic(caller: &Caller<'_>, bytes: &mut [u8]) -> Result<(), Errno> {
    let machine = caller.device.system.machine;
    if !machine.has_atomic() {
        return Err(Errno::EOPNOTSUPP);
    }
    let flags = number(bytes, 0);
    let reserved = (number(bytes, 40), number(bytes, 44)) != (0, 0);
    let late = flags & FLIP_ASYNC != 0 && !machine.flips_at_once();
    let tested = flags & ATOMIC_TEST_OF_EVENT == ATOMIC_TEST_OF_EVENT;
    if !caller.device.client().atomic || flags & !ATOMIC_FLAGS != 0 || reserved || late || tested {
        return Err(Errno::EINVAL);
    }
    match (number(bytes, 4), flags & ATOMIC_EVENT) {
        (0, 0) => Ok(()),
        // There is no CRTC in the commit that could send an event (prepare_signaling).
        (0, _) => Err(Errno::EINVAL),
        (_, _) => Err(Errno::ENOENT),
    }
}

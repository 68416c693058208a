//! The requests about what is shown, of a device whose display is fused off.
//!
//! The driver then drops `DRIVER_MODESET` and `DRIVER_ATOMIC`, and every such request fails before it
//! looks at its struct. Dumb buffers are not among them.

use nix::errno::Errno;

use super::table::{Allowed, Entry};
use super::{Caller, refuse};
use crate::drm::soft::faults::Needs;
use crate::error::Result;
use crate::uapi::drm_display::{
    DRM_IOCTL_CRTC_GET_SEQUENCE, DRM_IOCTL_CRTC_QUEUE_SEQUENCE, DRM_IOCTL_MODE_ADDFB, DRM_IOCTL_MODE_ADDFB2,
    DRM_IOCTL_MODE_ATOMIC, DRM_IOCTL_MODE_CLOSEFB, DRM_IOCTL_MODE_CREATE_LEASE,
    DRM_IOCTL_MODE_CREATEPROPBLOB, DRM_IOCTL_MODE_CURSOR, DRM_IOCTL_MODE_CURSOR2,
    DRM_IOCTL_MODE_DESTROYPROPBLOB, DRM_IOCTL_MODE_DIRTYFB, DRM_IOCTL_MODE_GET_LEASE,
    DRM_IOCTL_MODE_GETCONNECTOR, DRM_IOCTL_MODE_GETCRTC, DRM_IOCTL_MODE_GETENCODER, DRM_IOCTL_MODE_GETFB,
    DRM_IOCTL_MODE_GETFB2, DRM_IOCTL_MODE_GETGAMMA, DRM_IOCTL_MODE_GETPLANE,
    DRM_IOCTL_MODE_GETPLANERESOURCES, DRM_IOCTL_MODE_GETPROPBLOB, DRM_IOCTL_MODE_GETPROPERTY,
    DRM_IOCTL_MODE_GETRESOURCES, DRM_IOCTL_MODE_LIST_LESSEES, DRM_IOCTL_MODE_OBJ_GETPROPERTIES,
    DRM_IOCTL_MODE_OBJ_SETPROPERTY, DRM_IOCTL_MODE_PAGE_FLIP, DRM_IOCTL_MODE_REVOKE_LEASE,
    DRM_IOCTL_MODE_RMFB, DRM_IOCTL_MODE_SETCRTC, DRM_IOCTL_MODE_SETGAMMA, DRM_IOCTL_MODE_SETPLANE,
    DRM_IOCTL_MODE_SETPROPERTY, DRM_IOCTL_WAIT_VBLANK,
};

/// Entries that refuse: `REQUEST, who`.
macro_rules! refused {
    ($($request:ident, $allowed:ident;)+) => {
        &[
            $(Entry {
                code: $request.code,
                allowed: Allowed::$allowed,
                run: |caller, _| without_display(caller, $request.name),
            },)+
        ]
    };
}

pub(super) static ENTRIES: &[Entry] = refused! {
    DRM_IOCTL_WAIT_VBLANK, Primary;
    DRM_IOCTL_CRTC_GET_SEQUENCE, Primary;
    DRM_IOCTL_CRTC_QUEUE_SEQUENCE, Primary;
    DRM_IOCTL_MODE_GETRESOURCES, Primary;
    DRM_IOCTL_MODE_GETCRTC, Primary;
    DRM_IOCTL_MODE_SETCRTC, Master;
    DRM_IOCTL_MODE_CURSOR, Master;
    DRM_IOCTL_MODE_GETGAMMA, Primary;
    DRM_IOCTL_MODE_SETGAMMA, Master;
    DRM_IOCTL_MODE_GETENCODER, Primary;
    DRM_IOCTL_MODE_GETCONNECTOR, Primary;
    DRM_IOCTL_MODE_GETPROPERTY, Primary;
    DRM_IOCTL_MODE_SETPROPERTY, Master;
    DRM_IOCTL_MODE_GETPROPBLOB, Primary;
    DRM_IOCTL_MODE_GETFB, Primary;
    DRM_IOCTL_MODE_ADDFB, Primary;
    DRM_IOCTL_MODE_RMFB, Primary;
    DRM_IOCTL_MODE_PAGE_FLIP, Master;
    DRM_IOCTL_MODE_DIRTYFB, Master;
    DRM_IOCTL_MODE_GETPLANERESOURCES, Primary;
    DRM_IOCTL_MODE_GETPLANE, Primary;
    DRM_IOCTL_MODE_SETPLANE, Master;
    DRM_IOCTL_MODE_ADDFB2, Primary;
    DRM_IOCTL_MODE_OBJ_GETPROPERTIES, Primary;
    DRM_IOCTL_MODE_OBJ_SETPROPERTY, Master;
    DRM_IOCTL_MODE_CURSOR2, Master;
    DRM_IOCTL_MODE_ATOMIC, Master;
    DRM_IOCTL_MODE_CREATEPROPBLOB, Primary;
    DRM_IOCTL_MODE_DESTROYPROPBLOB, Primary;
    DRM_IOCTL_MODE_CREATE_LEASE, Master;
    DRM_IOCTL_MODE_LIST_LESSEES, Master;
    DRM_IOCTL_MODE_GET_LEASE, Master;
    DRM_IOCTL_MODE_REVOKE_LEASE, Master;
    DRM_IOCTL_MODE_GETFB2, Primary;
};

/// Requests that older kernels do not have.
pub(super) static SINCE_6_8: &[Entry] = refused! {
    DRM_IOCTL_MODE_CLOSEFB, Primary;
};

fn without_display(caller: &Caller<'_>, request: &'static str) -> Result<()> {
    caller.device.system.enter(request, Needs::Nothing)?;
    refuse(request, Errno::EOPNOTSUPP)
}

//! Masters, and clients that they believe.

use gem_coherency::Errno;
use gem_coherency_uapi::Ioctl;
use gem_coherency_uapi::drm::{
    DRM_IOCTL_AUTH_MAGIC, DRM_IOCTL_DROP_MASTER, DRM_IOCTL_GET_MAGIC, DRM_IOCTL_SET_MASTER, drm_auth,
};

use crate::requests::caller::Caller;

#[test]
fn a_master_goes_and_another_comes() {
    let mut caller = Caller::new("tgl");
    let request = |caller: &mut Caller, file, request: Ioctl<()>| caller.on(file, request, ()).0;
    assert_eq!(request(&mut caller, 1, DRM_IOCTL_SET_MASTER), Some(Errno::EBUSY));
    assert_eq!(request(&mut caller, 1, DRM_IOCTL_DROP_MASTER), Some(Errno::EINVAL));
    assert_eq!(request(&mut caller, 0, DRM_IOCTL_SET_MASTER), None, "it is already");
    assert_eq!(request(&mut caller, 0, DRM_IOCTL_DROP_MASTER), None);
    assert_eq!(request(&mut caller, 1, DRM_IOCTL_SET_MASTER), None);
    assert_eq!(request(&mut caller, 0, DRM_IOCTL_SET_MASTER), Some(Errno::EBUSY));
    assert_eq!(request(&mut caller, 2, DRM_IOCTL_SET_MASTER), Some(Errno::EACCES));
    let auth = |magic| drm_auth { magic };
    assert_eq!(caller.on(0, DRM_IOCTL_AUTH_MAGIC, auth(1)).0, Some(Errno::EACCES), "no longer the master");
}

#[test]
fn a_magic_number_is_good_once() {
    let mut caller = Caller::new("tgl");
    let auth = |magic| drm_auth { magic };
    assert_eq!(caller.on(1, DRM_IOCTL_GET_MAGIC, auth(0)).1.magic, 1);
    assert_eq!(caller.on(1, DRM_IOCTL_GET_MAGIC, auth(0)).1.magic, 1);
    assert_eq!(caller.on(0, DRM_IOCTL_AUTH_MAGIC, auth(1)).0, None);
    assert_eq!(caller.on(0, DRM_IOCTL_AUTH_MAGIC, auth(1)).0, Some(Errno::EINVAL));
    assert_eq!(caller.on(0, DRM_IOCTL_AUTH_MAGIC, auth(2)).0, Some(Errno::EINVAL));
}

//! GEM_CLOSE, GEM_FLINK and GEM_OPEN: objects' handles in one file, and their global names.

use gem_coherency::Errno;

use crate::SimDevice;
use crate::kernel::injected_faults::Needs;
use crate::requests::entry::{Entry, entries};
use crate::requests::{Caller, refuse};
use gem_coherency::error::Result;
use gem_coherency::vocabulary::Handle;
use gem_coherency_uapi::drm::{
    DRM_IOCTL_GEM_CLOSE, DRM_IOCTL_GEM_FLINK, DRM_IOCTL_GEM_OPEN, drm_gem_close, drm_gem_flink, drm_gem_open,
};

pub(in crate::requests) static ENTRIES: &[Entry] = entries! {
    DRM_IOCTL_GEM_CLOSE, Everyone => close;
    DRM_IOCTL_GEM_FLINK, Primary => flink;
    DRM_IOCTL_GEM_OPEN, Primary => open;
};

/// `drm_gem_close_ioctl`.
fn close(caller: &mut Caller<'_>, args: &mut drm_gem_close) -> Result<()> {
    caller.device.close_ioctl(args.handle)
}

/// `drm_gem_flink_ioctl`.
fn flink(caller: &mut Caller<'_>, args: &mut drm_gem_flink) -> Result<()> {
    let request = DRM_IOCTL_GEM_FLINK.name;
    let device = caller.device;
    device.system.enter(request, Needs::Memory)?;
    let object = device.find(request, args.handle)?;
    let Some(name) = device.system.names().name(object.id()) else { return refuse(request, Errno::ENOSPC) };
    args.name = name;
    Ok(())
}

/// `drm_gem_open_ioctl`: returns a new handle each time.
fn open(caller: &mut Caller<'_>, args: &mut drm_gem_open) -> Result<()> {
    let request = DRM_IOCTL_GEM_OPEN.name;
    let device = caller.device;
    device.system.enter(request, Needs::Memory)?;
    let number = device.system.names().object(args.name);
    let object = number.and_then(|number| device.system.object(number));
    let Some(object) = object else { return refuse(request, Errno::ENOENT) };
    let created = device.named(request, object)?;
    (args.handle, args.size) = (created.handle.get(), created.size_bytes);
    Ok(())
}

impl SimDevice {
    /// Closes a handle.
    pub(crate) fn close_ioctl(&self, handle: u32) -> Result<()> {
        let request = DRM_IOCTL_GEM_CLOSE.name;
        self.system.enter(request, Needs::Nothing)?;
        let closed = Handle::new(handle).and_then(|handle| self.handles().remove(handle));
        tracing::debug!(request, handle, known = closed.is_some());
        match closed {
            Some(_) => Ok(()),
            None => refuse(request, Errno::EINVAL),
        }
    }
}

//! PRIME_HANDLE_TO_FD and PRIME_FD_TO_HANDLE.

use std::sync::Arc;

use gem_coherency::Errno;

use crate::SimDevice;
use crate::kernel::injected_faults::Needs;
use crate::kernel::objects::dma_buf::{Attachment, DmaBuf, Exporter, Opened};
use crate::kernel::objects::object::Object;
use crate::process::files::File;
use crate::requests::entry::{Entry, entries};
use crate::requests::{Caller, refuse};
use gem_coherency::backend::{Advice, Created};
use gem_coherency::error::Result;
use gem_coherency::policy::kernel::{Backing, Creation, Snapshot};
use gem_coherency::vocabulary::Handle;
use gem_coherency_uapi::drm::{
    DRM_CLOEXEC, DRM_IOCTL_PRIME_FD_TO_HANDLE, DRM_IOCTL_PRIME_HANDLE_TO_FD, DRM_RDWR, drm_prime_handle,
};

pub(in crate::requests) static ENTRIES: &[Entry] = entries! {
    DRM_IOCTL_PRIME_HANDLE_TO_FD, Everyone => handle_to_fd;
    DRM_IOCTL_PRIME_FD_TO_HANDLE, Everyone => fd_to_handle;
};

/// `drm_prime_handle_to_fd_ioctl`.
pub(in crate::requests) fn handle_to_fd(caller: &mut Caller<'_>, args: &mut drm_prime_handle) -> Result<()> {
    let dma_buf = caller.device.handle_to_dma_buf_ioctl(args.handle, args.flags)?;
    let installed = caller.files.install(File::DmaBuf(dma_buf), args.flags & DRM_CLOEXEC != 0);
    args.fd = installed.or_else(|errno| refuse(DRM_IOCTL_PRIME_HANDLE_TO_FD.name, errno))?;
    Ok(())
}

/// `drm_prime_fd_to_handle_ioctl`.
pub(in crate::requests) fn fd_to_handle(caller: &mut Caller<'_>, args: &mut drm_prime_handle) -> Result<()> {
    let request = DRM_IOCTL_PRIME_FD_TO_HANDLE.name;
    caller.device.system.enter(request, Needs::Memory)?;
    let dma_buf = caller.files.dma_buf(args.fd).or_else(|errno| refuse(request, errno))?;
    args.handle = caller.device.dma_buf_to_handle(dma_buf.dma_buf())?.handle.get();
    Ok(())
}

impl SimDevice {
    /// Exports an object as a dma-buf (`drm_gem_prime_handle_to_fd`).
    ///
    /// # Errors
    /// EINVAL for unknown flags and for userptr objects; ENOENT; under xe EPERM for an object of one VM, EINVAL and EBUSY for one that is not wanted.
    pub(crate) fn handle_to_dma_buf_ioctl(&self, handle: u32, flags: u32) -> Result<Arc<Opened>> {
        let request = DRM_IOCTL_PRIME_HANDLE_TO_FD.name;
        self.system.enter(request, Needs::Memory)?;
        if flags & !(DRM_CLOEXEC | DRM_RDWR) != 0 {
            return refuse(request, Errno::EINVAL);
        }
        let object = self.find(request, handle)?;
        let Some(handle) = Handle::new(handle) else { return refuse(request, Errno::ENOENT) };
        if let Some(known) = self.handles().dma_buf_of(handle) {
            return Ok(Opened::of(known));
        }
        if object.is_proxy() {
            return refuse(request, Errno::EINVAL);
        }
        if object.xe.as_ref().is_some_and(|of_xe| of_xe.private_to.is_some()) {
            // xe_gem_prime_export: the object shares its reservation with its VM.
            return refuse(request, Errno::EPERM);
        }
        let (purged, advice) = {
            let state = object.state();
            (state.purged, state.advice)
        };
        // What can be purged at any time is not shared; i915 has no such check.
        match (purged, advice) {
            _ if object.xe.is_none() => {}
            (true, _) => return refuse(request, Errno::EINVAL),
            (false, Advice::DontNeed) => return refuse(request, Errno::EBUSY),
            (false, Advice::WillNeed) => {}
        }
        let dma_buf = object.dma_buf(flags & DRM_RDWR != 0);
        self.handles().know(handle, Arc::clone(&dma_buf));
        Ok(Opened::of(dma_buf))
    }

    /// Imports a dma-buf: returns the file's handle to its object, or a new one
    /// (`drm_gem_prime_fd_to_handle`, `i915_gem_prime_import`).
    ///
    /// # Errors
    /// Those of attaching to another device's dma-buf.
    pub(crate) fn dma_buf_to_handle(&self, dma_buf: &Arc<DmaBuf>) -> Result<Created> {
        let request = DRM_IOCTL_PRIME_FD_TO_HANDLE.name;
        let size_bytes = dma_buf.size();
        let named = self.handles().name_of(dma_buf);
        if let Some(handle) = named {
            return Ok(Created { handle, size_bytes });
        }
        let object = match &dma_buf.exporter {
            Exporter::Object(object) if Arc::ptr_eq(object.system(), &self.system) => Arc::clone(object),
            Exporter::Object(_) | Exporter::Memory(_) => {
                let attachment = Attachment::new(Arc::clone(dma_buf), request)?;
                let (caps, rules) = (self.system.machine.caps, &self.system.rules);
                let snapshot = match self.foreign_state(Backing::Import) {
                    Some(snapshot) => snapshot,
                    None => Snapshot::created(caps, rules, Creation::Import)
                        .or_else(|refusal| refuse(request, refusal.errno.unwrap_or(Errno::EINVAL)))?,
                };
                Object::imported(&self.system, attachment, snapshot)
            }
        };
        let created = self.named(request, Arc::clone(&object))?;
        // An object of this device keeps the dma-buf that it was imported from.
        object.dma_buf(dma_buf.writable);
        self.handles().know(created.handle, Arc::clone(dma_buf));
        Ok(created)
    }
}
